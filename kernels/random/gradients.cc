// Gradients of samples by the parameters of their distribution.
#include <cmath>

#include "graph/gradients/gradient_context.h"
#include "kernels/random/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output Difference(G& g, const Output& a, const Output& b) { return g.Call("Sub", {a, b}); }
Output Product(G& g, const Output& a, const Output& b) { return g.Call("Mul", {a, b}); }
Output Negated(G& g, const Output& a) { return g.Call("Neg", {a}); }

// How a sample moves with its parameter; the dimensions of the samples come first.
absl::Status RandomGamma(G& g, int alpha) {
  const Output shape = g.Call("Shape", {g.input(alpha)});
  const Output moved = Product(g, g.dy(), g.Call("RandomGammaGrad", {g.input(alpha), g.output(0)}));
  const Output args = g.Call("BroadcastGradientArgs", {shape, g.Call("Shape", {moved})});
  g.set_grad(alpha, g.Call("Reshape", {g.Call("Sum", {moved, Output(args.op(), 0)}), shape}));
  return absl::OkStatus();
}
absl::Status StatefulGamma(G& g) { return RandomGamma(g, 1); }
absl::Status StatelessGamma(G& g) { return RandomGamma(g, g.num_inputs() - 1); }

// a b, where zero times a bound at infinity is zero.
Output Weighted(G& g, const Output& a, const Output& b) { return g.Call("MulNoNan", {a, b}); }

// How a sample of a normal distribution between two bounds moves with mean, deviation and bounds: as far as keeps the
// probability below it, p = (F(x) - F(low)) / (F(high) - F(low)). TensorFlow leaves out that fixed bounds stand
// elsewhere in a distribution that moves.
absl::Status ParameterizedTruncatedNormal(G& g) {
  const Output mean = g.input(2), deviation = g.input(3), sample = g.output(0);
  const auto standard = [&](const Output& x) { return g.Call("RealDiv", {Difference(g, x, mean), deviation}); };
  const auto below = [&](const Output& x) {
    return g.Call("Mul", {g.Call("Erfc", {g.Call("Mul", {x, -std::sqrt(0.5)})}), 0.5});
  };
  const Output x = standard(sample), low = standard(g.input(4)), high = standard(g.input(5));
  const Output start = below(low);
  const Output p = g.Call("RealDiv", {Difference(g, below(x), start), Difference(g, below(high), start)});
  const Output one = g.Call("OnesLike", {p});
  const Output within = g.Call("Minimum", {g.Call("Maximum", {p, g.Call("ZerosLike", {p})}), one});
  const auto by_bound = [&](const Output& bound, const Output& log_share) {
    const Output squares = Difference(g, g.Call("Square", {x}), g.Call("Square", {bound}));
    return g.Call("Exp", {g.Call("AddV2", {g.Call("Mul", {squares, 0.5}), log_share})});
  };
  const Output by_low = by_bound(low, g.Call("Log1p", {Negated(g, within)})),
               by_high = by_bound(high, g.Call("Log", {within}));
  const auto less_bounds = [&](const Output& moved, const Output& with_low, const Output& with_high) {
    return Difference(g, Difference(g, moved, with_low), with_high);
  };
  const Output derivatives[] = {less_bounds(one, by_low, by_high),
                                less_bounds(x, Weighted(g, low, by_low), Weighted(g, high, by_high)), by_low, by_high};
  for (int i = 0; i < 4; ++i) {
    const Output shape = g.Call("Shape", {g.input(i + 2)}), moved = Product(g, g.dy(), derivatives[i]);
    const Output args = g.Call("BroadcastGradientArgs", {shape, g.Call("Shape", {moved})});
    g.set_grad(i + 2, g.Call("Reshape", {g.Call("Sum", {moved, Output(args.op(), 0)}), shape}));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRandomGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"RandomGamma", StatefulGamma},
      {"StatelessRandomGammaV2", StatelessGamma},
      {"StatelessRandomGammaV3", StatelessGamma},
      {"StatelessParameterizedTruncatedNormal", ParameterizedTruncatedNormal},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
