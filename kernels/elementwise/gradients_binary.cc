// d(loss)/dx and d(loss)/dy for z = f(x, y) with broadcasting: each is summed over the dimensions along which its
// operand was broadcast.
#include "graph/gradients/broadcast_gradient.h"
#include "graph/gradients/terms.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Conj;

using Broadcast = BroadcastGradient;

absl::Status Set(G& g, const Output& dx, const Output& dy) {
  Broadcast broadcast(g);
  g.set_grad(0, broadcast.Reduce(0, dx));
  g.set_grad(1, broadcast.Reduce(1, dy));
  return absl::OkStatus();
}

// The neighbour of x moves with x.
absl::Status NextAfter(G& g) { return Set(g, g.dy(), g.Call("ZerosLike", {g.dy()})); }
absl::Status Add(G& g) { return Set(g, g.dy(), g.dy()); }
absl::Status Sub(G& g) {
  const Output dz = g.dy();
  return Set(g, dz, g.Call("Neg", {dz}));
}
absl::Status Mul(G& g) {
  const Output dz = g.dy();
  return Set(g, g.Call("Mul", {dz, Conj(g, g.input(1))}), g.Call("Mul", {dz, Conj(g, g.input(0))}));
}
absl::Status MulNoNan(G& g) {
  const Output dz = g.dy();
  return Set(g, g.Call("MulNoNan", {dz, g.input(1)}), g.Call("MulNoNan", {g.input(0), dz}));
}
// d(x/y) = dz / y, -dz * x / y^2, by the given division.
template <const char* kDivide>
absl::Status Div(G& g) {
  const Output dz = g.dy(), x = Conj(g, g.input(0)), y = Conj(g, g.input(1));
  const Output quotient = g.Call(kDivide, {g.Call(kDivide, {g.Call("Neg", {x}), y}), y});
  return Set(g, g.Call(kDivide, {dz, y}), g.Call("Mul", {dz, quotient}));
}
constexpr char kDiv[] = "Div", kRealDiv[] = "RealDiv", kDivNoNan[] = "DivNoNan";

// x^y: dz * y * x^(y-1); dz * x^y * log(x), taken as zero where x is not positive.
absl::Status Pow(G& g) {
  const Output dz = g.dy(), x = Conj(g, g.input(0)), y = Conj(g, g.input(1)), z = Conj(g, g.output(0));
  const Output dx = g.Call("Mul", {g.Call("Mul", {dz, y}), g.Call("Pow", {x, g.Call("Sub", {y, 1})})});
  const Output zero = g.Call("ZerosLike", {x});
  const Output usable = IsComplex(x.type()) ? g.Call("NotEqual", {x, zero}) : g.Call("Greater", {x, zero});
  const Output safe = g.Call("SelectV2", {usable, x, g.Call("OnesLike", {x})});
  const Output log_x = g.Call("SelectV2", {usable, g.Call("Log", {safe}), zero});
  return Set(g, dx, g.Call("Mul", {g.Call("Mul", {dz, z}), log_x}));
}

// The gradient goes to the operand that was chosen; to the first where both are equal.
template <const char* kCompare>
absl::Status Choose(G& g) {
  const Output dz = g.dy();
  const Output first = g.Call(kCompare, {g.input(0), g.input(1)});
  const Output zero = g.Call("ZerosLike", {dz});
  return Set(g, g.Call("SelectV2", {first, dz, zero}), g.Call("SelectV2", {first, zero, dz}));
}
constexpr char kGreaterEqual[] = "GreaterEqual", kLessEqual[] = "LessEqual";

absl::Status SquaredDifference(G& g) {
  const Output dz = g.dy();
  const Output dx = g.Call("Mul", {g.Call("Mul", {dz, 2}), g.Call("Sub", {g.input(0), g.input(1)})});
  return Set(g, dx, g.Call("Neg", {dx}));
}

// The rounded quotient is flat: x mod y = x - y * quotient.
absl::Status FloorMod(G& g) {
  const Output dz = g.dy();
  const Output floor = g.Call("FloorDiv", {g.input(0), g.input(1)});
  return Set(g, dz, g.Call("Neg", {g.Call("Mul", {dz, floor})}));
}

absl::Status Atan2(G& g) {
  const Output dz = g.dy(), y = g.input(0), x = g.input(1);
  const Output scaled = g.Call("RealDiv", {dz, g.Call("AddV2", {g.Call("Square", {x}), g.Call("Square", {y})})});
  return Set(g, g.Call("Mul", {x, scaled}), g.Call("Mul", {g.Call("Neg", {y}), scaled}));
}

// x * log(y), zero where x is: dz * log(y), dz * x / y.
absl::Status Xlogy(G& g) {
  const Output dz = g.dy(), x = g.input(0), y = g.input(1);
  const Output one = g.Call("Cast", {g.Call("NotEqual", {x, g.Call("ZerosLike", {x})})}, {G::Set("DstT", x.type())});
  return Set(g, g.Call("Mul", {dz, g.Call("Xlogy", {one, y})}), g.Call("Mul", {dz, g.Call("Xdivy", {x, y})}));
}
absl::Status Xdivy(G& g) {
  const Output dz = g.dy(), x = g.input(0), y = g.input(1);
  const Output one = g.Call("Cast", {g.Call("NotEqual", {x, g.Call("ZerosLike", {x})})}, {G::Set("DstT", x.type())});
  const Output dy = g.Call("Xdivy", {g.Call("Neg", {x}), g.Call("Square", {y})});
  return Set(g, g.Call("Mul", {dz, g.Call("Xdivy", {one, y})}), g.Call("Mul", {dz, dy}));
}

// x * log(1 + y)
absl::Status Xlog1py(G& g) {
  const Output dz = g.dy(), x = g.input(0), y = g.input(1);
  const Output one = g.Call("Cast", {g.Call("NotEqual", {x, g.Call("ZerosLike", {x})})}, {G::Set("DstT", x.type())});
  const Output dy = g.Call("Xdivy", {x, g.Call("AddV2", {y, 1})});
  return Set(g, g.Call("Mul", {dz, g.Call("Xlog1py", {one, y})}), g.Call("Mul", {dz, dy}));
}

absl::Status AddN(G& g) {
  for (int i = 0; i < g.num_inputs(); ++i) g.set_grad(i, g.grad(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterBinaryGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Add", Add},
      {"AddV2", Add},
      {"NextAfter", NextAfter},
      {"Sub", Sub},
      {"Mul", Mul},
      {"MulNoNan", MulNoNan},
      {"Div", Div<kDiv>},
      {"RealDiv", Div<kRealDiv>},
      {"DivNoNan", Div<kDivNoNan>},
      {"Pow", Pow},
      {"Maximum", Choose<kGreaterEqual>},
      {"Minimum", Choose<kLessEqual>},
      {"SquaredDifference", SquaredDifference},
      {"FloorMod", FloorMod},
      {"Atan2", Atan2},
      {"Xlogy", Xlogy},
      {"Xdivy", Xdivy},
      {"Xlog1py", Xlog1py},
      {"AddN", AddN},
      {"AccumulateNV2", AddN},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
