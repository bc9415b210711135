// d(loss)/dx for y = f(x): dy times f'(x), conjugated for complex x.
#include "graph/gradients/broadcast_gradient.h"
#include "graph/gradients/terms.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Conj;

Output X(G& g) { return Conj(g, g.input(0)); }
Output Y(G& g) { return Conj(g, g.output(0)); }
Output One(G& g) { return g.Call("OnesLike", {g.input(0)}); }

// dy * f', dy / f'.
absl::Status Times(G& g, const Output& derivative) {
  g.set_grad(0, g.Call("Mul", {g.dy(), derivative}));
  return absl::OkStatus();
}
absl::Status Over(G& g, const Output& divisor) {
  g.set_grad(0, g.Call("RealDiv", {g.dy(), divisor}));
  return absl::OkStatus();
}

absl::Status Neg(G& g) {
  g.set_grad(0, g.Call("Neg", {g.dy()}));
  return absl::OkStatus();
}
absl::Status Abs(G& g) { return Times(g, g.Call("Sign", {g.input(0)})); }
absl::Status ZeroGradient(G& g) {
  g.set_grad(0, g.Call("ZerosLike", {g.input(0)}));
  return absl::OkStatus();
}
absl::Status Square(G& g) { return Times(g, g.Call("Mul", {X(g), 2})); }
absl::Status Exp(G& g) { return Times(g, Y(g)); }
absl::Status Expm1(G& g) { return Times(g, g.Call("Exp", {X(g)})); }
absl::Status Log(G& g) { return Over(g, X(g)); }
absl::Status Log1p(G& g) { return Over(g, g.Call("AddV2", {X(g), 1})); }
absl::Status Sin(G& g) { return Times(g, g.Call("Cos", {X(g)})); }
absl::Status Cos(G& g) { return Times(g, g.Call("Neg", {g.Call("Sin", {X(g)})})); }
absl::Status Tan(G& g) { return Over(g, g.Call("Square", {g.Call("Cos", {X(g)})})); }
absl::Status Sinh(G& g) { return Times(g, g.Call("Cosh", {X(g)})); }
absl::Status Cosh(G& g) { return Times(g, g.Call("Sinh", {X(g)})); }
absl::Status Asin(G& g) { return Over(g, g.Call("Sqrt", {g.Call("Sub", {One(g), g.Call("Square", {X(g)})})})); }
absl::Status Acos(G& g) {
  return Over(g, g.Call("Neg", {g.Call("Sqrt", {g.Call("Sub", {One(g), g.Call("Square", {X(g)})})})}));
}
absl::Status Atan(G& g) { return Over(g, g.Call("AddV2", {g.Call("Square", {X(g)}), 1})); }
absl::Status Asinh(G& g) { return Over(g, g.Call("Cosh", {Y(g)})); }
absl::Status Acosh(G& g) { return Over(g, g.Call("Sinh", {Y(g)})); }
absl::Status Atanh(G& g) { return Over(g, g.Call("Sub", {One(g), g.Call("Square", {X(g)})})); }
// 2 / sqrt(pi) * exp(-x^2)
absl::Status ErfScaled(G& g, double scale) {
  const Output gaussian = g.Call("Exp", {g.Call("Neg", {g.Call("Square", {g.input(0)})})});
  return Times(g, g.Call("Mul", {gaussian, scale}));
}
constexpr double kTwoOverRootPi = 1.1283791670955126;
absl::Status Erf(G& g) { return ErfScaled(g, kTwoOverRootPi); }
absl::Status Erfc(G& g) { return ErfScaled(g, -kTwoOverRootPi); }
absl::Status Lgamma(G& g) { return Times(g, g.Call("Digamma", {g.input(0)})); }

// The inverse of erf: sqrt(pi) / 2 * exp(y^2).
absl::Status Erfinv(G& g) {
  const Output gaussian = g.Call("Exp", {g.Call("Square", {g.output(0)})});
  return Times(g, g.Call("Mul", {gaussian, 1 / kTwoOverRootPi}));
}
// The inverse of the normal distribution function: one over the density at y.
absl::Status Ndtri(G& g) {
  constexpr double kRootTwoPi = 2.5066282746310002;
  const Output gaussian = g.Call("Exp", {g.Call("Mul", {g.Call("Square", {g.output(0)}), 0.5})});
  return Times(g, g.Call("Mul", {gaussian, kRootTwoPi}));
}

// Ops with a gradient op of their own, which takes (y, dy). Some conjugate y themselves.
template <const char* kOp>
absl::Status FromOutput(G& g) {
  g.set_grad(0, g.Call(kOp, {g.output(0), g.dy()}));
  return absl::OkStatus();
}
template <const char* kOp>
absl::Status FromConjugate(G& g) {
  g.set_grad(0, g.Call(kOp, {Y(g), g.dy()}));
  return absl::OkStatus();
}
constexpr char kTanhGrad[] = "TanhGrad", kSigmoidGrad[] = "SigmoidGrad", kSqrtGrad[] = "SqrtGrad",
               kRsqrtGrad[] = "RsqrtGrad", kReciprocalGrad[] = "ReciprocalGrad", kInvGrad[] = "InvGrad";

// --- Second order: gradients of the gradient ops. Inputs are (y, dy); g.dy() is d(loss)/d(output). ---

// TanhGrad = dy * (1 - y^2)
absl::Status TanhGrad(G& g) {
  const Output y = X(g), dy = Conj(g, g.input(1)), upstream = g.dy();
  g.set_grad(0, g.Call("Mul", {g.Call("Mul", {g.Call("Mul", {upstream, dy}), y}), -2}));
  g.set_grad(1, g.Call("TanhGrad", {y, upstream}));
  return absl::OkStatus();
}
// SigmoidGrad = dy * y * (1 - y)
absl::Status SigmoidGrad(G& g) {
  const Output y = X(g), dy = Conj(g, g.input(1)), upstream = g.dy();
  const Output slope = g.Call("Sub", {g.Call("OnesLike", {y}), g.Call("Mul", {y, 2})});
  g.set_grad(0, g.Call("Mul", {g.Call("Mul", {upstream, dy}), slope}));
  g.set_grad(1, g.Call("SigmoidGrad", {y, upstream}));
  return absl::OkStatus();
}

// The next ones conjugate y, so the gradient of y is conjugated again.

// SqrtGrad = dy / (2 conj(y))
absl::Status SqrtGrad(G& g) {
  const Output ratio = g.Call("RealDiv", {g.dy(), g.input(0)});
  g.set_grad(0, g.Call("Neg", {g.Call("Mul", {Conj(g, ratio), g.output(0)})}));
  g.set_grad(1, g.Call("Mul", {ratio, 0.5}));
  return absl::OkStatus();
}
// RsqrtGrad = dy * -0.5 * conj(y)^3
absl::Status RsqrtGrad(G& g) {
  const Output y = X(g), dy = g.input(1), upstream = g.dy();
  const Output product = g.Call("Mul", {g.Call("Mul", {Conj(g, upstream), dy}), g.Call("Square", {y})});
  g.set_grad(0, g.Call("Mul", {product, -1.5}));
  g.set_grad(1, g.Call("RsqrtGrad", {y, upstream}));
  return absl::OkStatus();
}
// ReciprocalGrad = -dy * conj(y)^2
absl::Status ReciprocalGrad(G& g) {
  const Output y = X(g), dy = g.input(1), upstream = g.dy();
  g.set_grad(0, g.Call("Mul", {g.Call("Mul", {g.Call("Mul", {Conj(g, upstream), dy}), y}), -2}));
  g.set_grad(1, g.Call("ReciprocalGrad", {y, upstream}));
  return absl::OkStatus();
}

// Of the input's type.
Output ToComplex(G& g, const Output& real, const Output& imag) {
  return g.Call("Complex", {real, imag}, {G::Set("Tout", g.input(0).type())});
}

// arg(x): dy * i * x / |x|^2, the direction in which the angle grows.
absl::Status Angle(G& g) {
  const Output dy = g.dy();
  const Output turned = ToComplex(g, g.Call("ZerosLike", {dy}), dy);
  g.set_grad(0, g.Call("RealDiv", {turned, g.Call("Conj", {g.input(0)})}));
  return absl::OkStatus();
}

absl::Status ConjGrad(G& g) {
  g.set_grad(0, g.Call("Conj", {g.dy()}));
  return absl::OkStatus();
}
absl::Status Real(G& g) {
  const Output dy = g.dy();
  g.set_grad(0, ToComplex(g, dy, g.Call("ZerosLike", {dy})));
  return absl::OkStatus();
}
absl::Status Imag(G& g) {
  const Output dy = g.dy();
  g.set_grad(0, ToComplex(g, g.Call("ZerosLike", {dy}), dy));
  return absl::OkStatus();
}
absl::Status Complex(G& g) {
  const Output dy = g.dy();
  const DataType part = g.Attr<DataType>("T");
  BroadcastGradient broadcast(g);
  g.set_grad(0, broadcast.Reduce(0, g.Call("Real", {dy}, {G::Set("Tout", part)})));
  g.set_grad(1, broadcast.Reduce(1, g.Call("Imag", {dy}, {G::Set("Tout", part)})));
  return absl::OkStatus();
}
// d|x| = dy * x / |x|
absl::Status ComplexAbs(G& g) {
  const Output dy = g.dy();
  const Output zero = g.Call("ZerosLike", {dy});
  const Output direction = g.Call("DivNoNan", {g.input(0), ToComplex(g, g.output(0), zero)});
  g.set_grad(0, g.Call("Mul", {ToComplex(g, dy, zero), direction}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterUnaryGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Neg", Neg},
      {"Abs", Abs},
      {"Sign", ZeroGradient},
      {"Square", Square},
      {"Exp", Exp},
      {"Expm1", Expm1},
      {"Log", Log},
      {"Log1p", Log1p},
      {"Sin", Sin},
      {"Cos", Cos},
      {"Tan", Tan},
      {"Sinh", Sinh},
      {"Cosh", Cosh},
      {"Asin", Asin},
      {"Acos", Acos},
      {"Atan", Atan},
      {"Asinh", Asinh},
      {"Acosh", Acosh},
      {"Atanh", Atanh},
      {"Erf", Erf},
      {"Erfc", Erfc},
      {"Lgamma", Lgamma},
      {"Tanh", FromConjugate<kTanhGrad>},
      {"Sigmoid", FromConjugate<kSigmoidGrad>},
      {"Sqrt", FromOutput<kSqrtGrad>},
      {"Rsqrt", FromOutput<kRsqrtGrad>},
      {"Reciprocal", FromOutput<kReciprocalGrad>},
      {"Inv", FromOutput<kInvGrad>},
      {"TanhGrad", TanhGrad},
      {"SigmoidGrad", SigmoidGrad},
      {"SqrtGrad", SqrtGrad},
      {"RsqrtGrad", RsqrtGrad},
      {"ReciprocalGrad", ReciprocalGrad},
      {"InvGrad", ReciprocalGrad},
      {"Conj", ConjGrad},
      {"Real", Real},
      {"Imag", Imag},
      {"Complex", Complex},
      {"ComplexAbs", ComplexAbs},
      {"Angle", Angle},
      {"Erfinv", Erfinv},
      {"Ndtri", Ndtri},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
