// The gradient of the gradient of batch normalisation.

#include "graph/gradients/gradient_context.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The values of FusedBatchNormGrad in single precision, and means and sums over all dimensions but the channels'.
class BatchNormGrad {
 public:
  explicit BatchNormGrad(G& g) : g_(g) {
    const std::string format = g.Attr<std::string>("data_format");
    const bool channels_first = format.substr(0, 2) == "NC";
    const int rank = static_cast<int>(format.size());
    std::vector<int32_t> spread(rank, 1);
    for (int i = 0; i < rank; ++i) {
      if (i == (channels_first ? 1 : rank - 1)) {
        spread[i] = -1;
      } else {
        axes_.push_back(i);
      }
    }
    spread_ = Tensor::Vector<int32_t>(spread);
  }

  Output Single(const Output& x) { return g_.Call("Cast", {x}, {G::Set("DstT", DT_FLOAT)}); }
  Output Mul(const Output& a, const Output& b) { return g_.Call("Mul", {a, b}); }
  Output Sub(const Output& a, const Output& b) { return g_.Call("Sub", {a, b}); }
  Output Add(const Output& a, const Output& b) { return g_.Call("AddV2", {a, b}); }
  Output Mean(const Output& x) { return Reduce("Mean", x, true); }
  Output Sum(const Output& x) { return Reduce("Sum", x, false); }
  // A number a channel, for every element.
  Output Spread(const Output& channels) { return g_.Call("Reshape", {channels, spread_}); }
  Output InverseDeviation(const Output& variance) {
    return g_.Call("Rsqrt", {g_.Call("AddV2", {variance, Tensor::Scalar<float>(g_.Attr<float>("epsilon"))})});
  }

 private:
  Output Reduce(const char* op, const Output& x, bool keep) {
    return g_.Call(op, {x, Tensor::Vector<int32_t>(axes_)}, {G::Set("keep_dims", keep)});
  }
  G& g_;
  std::vector<int32_t> axes_;
  Tensor spread_;
};

// With x' = (x - mean) r normalised, P(v) = v - mean(v) - x' mean(v x'): dx = scale r P(dy), dscale = sum(dy x'),
// doffset = sum(dy). A gradient G at dx, s at dscale and o at doffset comes from
//   dy: scale r P(G) + s x' + o,   scale: sum(G r P(dy)),
//   x:  s r P(dy) - scale r^2 (x' (mean(G dy) - mean(G) mean(dy) - mean(dy x') mean(G x'))
//                              + mean(G x') P(dy) + mean(dy x') P(G)).
absl::Status TrainingGradGrad(G& g) {
  BatchNormGrad n(g);
  const Output dy = n.Single(g.input(0)), x = n.Single(g.input(1)), scale = n.Spread(g.input(2));
  const Output at_dx = n.Single(g.dy(0)), at_scale = n.Spread(g.dy(1)), at_offset = n.Spread(g.dy(2));
  const Output centred = n.Sub(x, n.Mean(x));
  const Output r = n.InverseDeviation(n.Mean(g.Call("Square", {centred})));
  const Output normal = n.Mul(centred, r);
  const auto project = [&](const Output& v, const Output& along) {
    return n.Sub(n.Sub(v, n.Mean(v)), n.Mul(normal, along));
  };
  const Output a = n.Mean(n.Mul(dy, normal)), b = n.Mean(n.Mul(at_dx, normal));
  const Output p_dy = project(dy, a), p_dx = project(at_dx, b), scale_r = n.Mul(scale, r);
  g.set_grad(0, g.Call("Cast", {n.Add(n.Mul(scale_r, p_dx), n.Add(n.Mul(at_scale, normal), at_offset))},
                       {G::Set("DstT", g.input(0).type())}));
  const Output covariance = n.Sub(n.Mean(n.Mul(at_dx, dy)), n.Mul(n.Mean(at_dx), n.Mean(dy)));
  const Output bent = n.Add(n.Mul(normal, n.Sub(covariance, n.Mul(a, b))), n.Add(n.Mul(b, p_dy), n.Mul(a, p_dx)));
  const Output at_x = n.Sub(n.Mul(n.Mul(at_scale, r), p_dy), n.Mul(n.Mul(scale_r, r), bent));
  g.set_grad(1, g.Call("Cast", {at_x}, {G::Set("DstT", g.input(1).type())}));
  g.set_grad(2, n.Sum(n.Mul(at_dx, n.Mul(r, p_dy))));
  return absl::OkStatus();
}

// Mean and variance are given and constant: dx = dy scale r, dscale = sum(dy x'), doffset = sum(dy).
absl::Status InferenceGradGrad(G& g) {
  BatchNormGrad n(g);
  const Output dy = n.Single(g.input(0)), x = n.Single(g.input(1)), scale = n.Spread(g.input(2));
  const Output at_dx = n.Single(g.dy(0)), at_scale = n.Spread(g.dy(1)), at_offset = n.Spread(g.dy(2));
  const Output r = n.Spread(n.InverseDeviation(g.input(4)));
  const Output normal = n.Mul(n.Sub(x, n.Spread(g.input(3))), r);
  const Output from_dx = n.Mul(at_dx, n.Mul(scale, r));
  g.set_grad(0, g.Call("Cast", {n.Add(from_dx, n.Add(n.Mul(at_scale, normal), at_offset))},
                       {G::Set("DstT", g.input(0).type())}));
  g.set_grad(1, g.Call("Cast", {n.Mul(dy, n.Mul(at_scale, r))}, {G::Set("DstT", g.input(1).type())}));
  g.set_grad(2, n.Sum(n.Mul(at_dx, n.Mul(dy, r))));
  return absl::OkStatus();
}

absl::Status FusedBatchNormGrad(G& g) {
  return g.Attr<bool>("is_training") ? TrainingGradGrad(g) : InferenceGradGrad(g);
}

}  // namespace

absl::Status RegisterBatchNormGradGradients(OpRegistry& ops) {
  for (const char* op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    RETURN_IF_ERROR(ops.RegisterGradient(op, FusedBatchNormGrad));
  }
  return absl::OkStatus();
}

}  // namespace weir
