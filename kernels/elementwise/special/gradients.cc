// Gradients of special functions.
#include "graph/gradients/broadcast_gradient.h"
#include "graph/gradients/terms.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Mul;
using gradients::Neg;
using gradients::Sub;

absl::Status TimesGradient(G& g, const Output& derivative) {
  g.set_grad(0, g.Call("Mul", {g.dy(), derivative}));
  return absl::OkStatus();
}
Output Of(G& g, const char* function) { return g.Call(function, {g.input(0)}); }
// y / x
Output Slope(G& g) { return g.Call("RealDiv", {g.output(0), g.input(0)}); }
// `derivative`, but `at_zero` where x is zero.
Output ExceptAtZero(G& g, const Output& derivative, double at_zero) {
  const Output x = g.input(0);
  const Output value = g.Call("Mul", {g.Call("OnesLike", {x}), at_zero});
  return g.Call("SelectV2", {g.Call("Equal", {x, g.Call("ZerosLike", {x})}), value, derivative});
}

absl::Status BesselI0(G& g) { return TimesGradient(g, Of(g, "BesselI1")); }
absl::Status BesselI0e(G& g) {
  return TimesGradient(g, Sub(g, Of(g, "BesselI1e"), Mul(g, Of(g, "Sign"), g.output(0))));
}
absl::Status BesselI1(G& g) { return TimesGradient(g, ExceptAtZero(g, Sub(g, Of(g, "BesselI0"), Slope(g)), 0.5)); }
// I0e(x) - y (sign(x) + 1/x)
absl::Status BesselI1e(G& g) {
  const Output rest = g.Call("AddV2", {Mul(g, Of(g, "Sign"), g.output(0)), Slope(g)});
  return TimesGradient(g, ExceptAtZero(g, Sub(g, Of(g, "BesselI0e"), rest), 0.5));
}
absl::Status BesselK0(G& g) { return TimesGradient(g, Neg(g, Of(g, "BesselK1"))); }
absl::Status BesselK0e(G& g) { return TimesGradient(g, Sub(g, g.output(0), Of(g, "BesselK1e"))); }
absl::Status BesselK1(G& g) { return TimesGradient(g, Neg(g, g.Call("AddV2", {Of(g, "BesselK0"), Slope(g)}))); }
absl::Status BesselK1e(G& g) { return TimesGradient(g, Sub(g, Sub(g, g.output(0), Slope(g)), Of(g, "BesselK0e"))); }
absl::Status BesselJ0(G& g) { return TimesGradient(g, Neg(g, Of(g, "BesselJ1"))); }
absl::Status BesselJ1(G& g) { return TimesGradient(g, ExceptAtZero(g, Sub(g, Of(g, "BesselJ0"), Slope(g)), 0.5)); }
absl::Status BesselY0(G& g) { return TimesGradient(g, Neg(g, Of(g, "BesselY1"))); }
absl::Status BesselY1(G& g) { return TimesGradient(g, Sub(g, Of(g, "BesselY0"), Slope(g))); }

// 1 - 2xy
absl::Status Dawsn(G& g) {
  const Output product = g.Call("Mul", {Mul(g, g.input(0), g.output(0)), 2});
  return TimesGradient(g, Sub(g, Of(g, "OnesLike"), product));
}
absl::Status Expint(G& g) { return TimesGradient(g, g.Call("RealDiv", {Of(g, "Exp"), g.input(0)})); }
Output HalfTurns(G& g) { return g.Call("Mul", {Of(g, "Square"), 1.5707963267948966}); }
absl::Status FresnelCos(G& g) { return TimesGradient(g, g.Call("Cos", {HalfTurns(g)})); }
absl::Status FresnelSin(G& g) { return TimesGradient(g, g.Call("Sin", {HalfTurns(g)})); }
// log(x) / (1 - x), which is -1 at 1
absl::Status Spence(G& g) {
  const Output x = g.input(0), one = Of(g, "OnesLike");
  const Output derivative = g.Call("RealDiv", {Of(g, "Log"), Sub(g, one, x)});
  return TimesGradient(g, g.Call("SelectV2", {g.Call("Equal", {x, one}), Neg(g, one), derivative}));
}

absl::Status Set(G& g, int i, const Output& derivative) {
  BroadcastGradient broadcast(g);
  g.set_grad(i, broadcast.Reduce(i, g.Call("Mul", {g.dy(), derivative})));
  return absl::OkStatus();
}

absl::Status IncompleteGamma(G& g, bool lower) {
  const Output a = g.input(0), x = g.input(1);
  Output da = g.Call("IgammaGradA", {a, x});
  // x^(a-1) exp(-x) / gamma(a)
  const Output power = Mul(g, g.Call("Sub", {a, 1}), g.Call("Log", {x}));
  Output dx = g.Call("Exp", {Sub(g, Sub(g, power, x), g.Call("Lgamma", {a}))});
  if (!lower) {
    da = Neg(g, da);
    dx = Neg(g, dx);
  }
  RETURN_IF_ERROR(Set(g, 0, da));
  return Set(g, 1, dx);
}
absl::Status Igamma(G& g) { return IncompleteGamma(g, true); }
absl::Status Igammac(G& g) { return IncompleteGamma(g, false); }

// The derivatives by the order, and by the parameters of the beta function, are not known in closed form.
absl::Status Zeta(G& g) {
  const Output x = g.input(0), next = g.Call("Zeta", {g.Call("AddV2", {x, 1}), g.input(1)});
  return Set(g, 1, Neg(g, Mul(g, x, next)));
}
absl::Status Polygamma(G& g) { return Set(g, 1, g.Call("Polygamma", {g.Call("AddV2", {g.input(0), 1}), g.input(1)})); }
absl::Status Digamma(G& g) { return TimesGradient(g, g.Call("Polygamma", {Of(g, "OnesLike"), g.input(0)})); }

// x^(a-1) (1-x)^(b-1) / beta(a, b), for x alone; scalars spread over the others.
absl::Status Betainc(G& g) {
  const Output a = g.input(0), b = g.input(1), x = g.input(2), one = g.Call("OnesLike", {x});
  const Output log_beta = Sub(g, g.Call("AddV2", {g.Call("Lgamma", {a}), g.Call("Lgamma", {b})}),
                              g.Call("Lgamma", {g.Call("AddV2", {a, b})}));
  const Output left = Mul(g, g.Call("Sub", {a, 1}), g.Call("Log", {x}));
  const Output right = Mul(g, g.Call("Sub", {b, 1}), g.Call("Log1p", {Neg(g, x)}));
  const Output density = g.Call("Exp", {Sub(g, g.Call("AddV2", {left, right}), log_beta)});
  const Output gradient = Mul(g, g.dy(), Mul(g, density, one));
  const Output shape = g.Call("Shape", {x});
  const Output args = g.Call("BroadcastGradientArgs", {shape, g.Call("Shape", {gradient})});
  g.set_grad(2, g.Call("Reshape", {g.Call("Sum", {gradient, Output(args.op(), 0)}), shape}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSpecialGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"BesselI0", BesselI0},   {"BesselI0e", BesselI0e}, {"BesselI1", BesselI1},     {"BesselI1e", BesselI1e},
      {"BesselK0", BesselK0},   {"BesselK0e", BesselK0e}, {"BesselK1", BesselK1},     {"BesselK1e", BesselK1e},
      {"BesselJ0", BesselJ0},   {"BesselJ1", BesselJ1},   {"BesselY0", BesselY0},     {"BesselY1", BesselY1},
      {"Dawsn", Dawsn},         {"Expint", Expint},       {"FresnelCos", FresnelCos}, {"FresnelSin", FresnelSin},
      {"Spence", Spence},       {"Igamma", Igamma},       {"Igammac", Igammac},       {"Zeta", Zeta},
      {"Polygamma", Polygamma}, {"Digamma", Digamma},     {"Betainc", Betainc},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
