// Conformance suite of batch normalisation and the ops fused with it: a library's part and the kernels' own.
// A device's test includes this header after kernel_conformance_testing.h and instantiates GpuNorms.
#pragma once

#include <cmath>

#include "kernels/device/gpu/kernel_conformance_testing.h"

namespace weir {

class GpuNorms : public GpuKernels {
 protected:
  static constexpr float kEpsilon = 0.01f;
  struct Case {
    DataType type = DT_FLOAT;
    bool channels_first = false, has_side = false, has_relu = false;
    float factor = 1;  // of the running averages
    TensorShape Shape() const { return channels_first ? TensorShape({2, 3, 4, 5}) : TensorShape({2, 4, 5, 3}); }
    int64_t ChannelOf(int64_t i) const { return channels_first ? i / 20 % 3 : i % 3; }
    std::string ToString() const {
      return absl::StrCat(DataTypeName(type), channels_first ? " NCHW" : " NHWC", has_side ? " side" : "",
                          has_relu ? " relu" : "", " ", factor);
    }
  };

  // 16 bits hold them.
  static Tensor Numbers(const TensorShape& shape, uint32_t seed) {
    Tensor tensor(DT_FLOAT, shape);
    for (float& x : tensor.flat<float>()) {
      seed = seed * 1664525 + 1013904223;
      x = -2 + static_cast<float>(seed >> 26) / 16;
    }
    return tensor;
  }
  static Tensor Vector(uint32_t seed) {
    Tensor vector = Numbers(TensorShape({3}), seed);
    for (float& x : vector.flat<float>()) x = std::abs(x) + 0.5f;
    return vector;
  }
  static Tensor Wide(const Tensor& from) {
    if (from.dtype() == DT_FLOAT) return from;
    Tensor to(DT_FLOAT, from.shape());
    for (int64_t i = 0; i < from.NumElements(); ++i) {
      to.data<float>()[i] = from.dtype() == DT_HALF ? static_cast<float>(from.data<half>()[i])
                                                    : static_cast<float>(from.data<bfloat16>()[i]);
    }
    return to;
  }
  static double Tolerance(DataType type) { return type == DT_FLOAT ? 2e-5 : type == DT_HALF ? 4e-3 : 3e-2; }
  static tensorflow::NodeDef AttrsOf(const Case& c) {
    return Attr("epsilon", kEpsilon,
                Attr("data_format", std::string(c.channels_first ? "NCHW" : "NHWC"),
                     Attr("num_side_inputs", int64_t{c.has_side},
                          Attr("activation_mode", std::string(c.has_relu ? "Relu" : "Identity"), Attr("T", c.type)))));
  }
  static Op Attrs(Op op) {
    return op.Attr("epsilon: float = 0.0001")
        .Attr("num_side_inputs: int >= 0 = 0")
        .Attr("activation_mode: string = 'Identity'")
        .Attr("data_format: string = 'NHWC'")
        .Attr("is_training: bool = true")
        .Attr("T: type")
        .Attr("U: type = DT_FLOAT");
  }
  static Op Forward() {
    Op op("_FusedBatchNormEx");
    for (const char* input : {"x: T", "scale: U", "offset: U", "mean: U", "variance: U"}) op.Input(input);
    op.Input("side_input: num_side_inputs * T").Output("y: T");
    for (const char* output : {"mean_out: U", "variance_out: U", "r1: U", "r2: U", "r3: U"}) op.Output(output);
    return Attrs(op.Attr("exponential_avg_factor: float = 1.0"));
  }
  static Op Backward() {
    Op op("_FusedBatchNormGradEx");
    for (const char* input : {"dy: T", "x: T", "scale: float", "r1: U", "r2: U", "r3: U", "offset: float", "y: T"}) {
      op.Input(input);
    }
    op.Output("dx: T").Output("dscale: U").Output("doffset: U").Output("r4: U").Output("r5: U");
    return Attrs(op.Output("dside: num_side_inputs * T"));
  }

  struct Moments {
    double mean[3] = {}, variance[3] = {};
  };
  static Moments MomentsOf(const Case& c, const Tensor& x) {
    Moments m;
    const double n = static_cast<double>(x.NumElements()) / 3;
    for (int64_t i = 0; i < x.NumElements(); ++i) m.mean[c.ChannelOf(i)] += x.data<float>()[i] / n;
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      const double d = x.data<float>()[i] - m.mean[c.ChannelOf(i)];
      m.variance[c.ChannelOf(i)] += d * d / n;
    }
    return m;
  }

  void CheckForward(const Case& c) {
    const Tensor x = Numbers(c.Shape(), 1), side = Numbers(c.Shape(), 2), scale = Vector(3), offset = Vector(4);
    const Tensor old_mean = Vector(5), old_variance = Vector(6);
    std::vector<Tensor> inputs = {CastForTest(x, c.type), scale, offset, old_mean, old_variance};
    if (c.has_side) inputs.push_back(CastForTest(side, c.type));
    const auto out = Run(Forward(), inputs, Attr("exponential_avg_factor", c.factor, AttrsOf(c)));
    ASSERT_THAT(out, IsOk()) << c.ToString();
    const Moments m = MomentsOf(c, x);
    Tensor y(DT_FLOAT, c.Shape()), means(DT_FLOAT, TensorShape({3})), variances(DT_FLOAT, TensorShape({3}));
    Tensor saved_mean(DT_FLOAT, TensorShape({3})), saved_variance(DT_FLOAT, TensorShape({3}));
    for (int64_t i = 0; i < y.NumElements(); ++i) {
      const int64_t k = c.ChannelOf(i);
      double value = (x.data<float>()[i] - m.mean[k]) / std::sqrt(m.variance[k] + kEpsilon) * scale.data<float>()[k] +
                     offset.data<float>()[k];
      if (c.has_side) value += side.data<float>()[i];
      y.data<float>()[i] = static_cast<float>(c.has_relu && value < 0 ? 0 : value);
    }
    for (int k = 0; k < 3; ++k) {
      const auto mix = [&](const Tensor& old, double now) {
        return static_cast<float>((1 - c.factor) * old.data<float>()[k] + c.factor * now);
      };
      saved_mean.data<float>()[k] = static_cast<float>(m.mean[k]);
      saved_variance.data<float>()[k] = static_cast<float>(m.variance[k]);
      means.data<float>()[k] = mix(old_mean, m.mean[k]);
      variances.data<float>()[k] = mix(old_variance, m.variance[k] * 40 / 39);
    }
    const Tensor expected[] = {y, means, variances, saved_mean, saved_variance};
    for (int i = 0; i < 5; ++i) {
      const double tolerance = i == 0 ? Tolerance(c.type) : 2e-5;
      ExpectTensorNear(Wide((*out)[i]), expected[i], tolerance, tolerance, absl::StrCat(c.ToString(), " output ", i));
    }
  }

  void CheckBackward(const Case& c) {
    const Tensor x = Numbers(c.Shape(), 1), dy = Numbers(c.Shape(), 2), y = Numbers(c.Shape(), 7), scale = Vector(3);
    const Moments m = MomentsOf(c, x);
    Tensor mean(DT_FLOAT, TensorShape({3})), variance(DT_FLOAT, TensorShape({3}));
    for (int k = 0; k < 3; ++k) {
      mean.data<float>()[k] = static_cast<float>(m.mean[k]);
      variance.data<float>()[k] = static_cast<float>(m.variance[k]);
    }
    const auto out = Run(Backward(),
                         {CastForTest(dy, c.type), CastForTest(x, c.type), scale, mean, variance,
                          Tensor(DT_FLOAT, TensorShape({0})), scale, CastForTest(y, c.type)},
                         AttrsOf(c));
    ASSERT_THAT(out, IsOk()) << c.ToString();
    Tensor passed(DT_FLOAT, c.Shape()), dx(DT_FLOAT, c.Shape());
    double sum[3] = {}, product[3] = {};
    const auto normal = [&](int64_t i) {
      const int64_t k = c.ChannelOf(i);
      return (x.data<float>()[i] - m.mean[k]) / std::sqrt(m.variance[k] + kEpsilon);
    };
    for (int64_t i = 0; i < dx.NumElements(); ++i) {
      passed.data<float>()[i] = !c.has_relu || y.data<float>()[i] > 0 ? dy.data<float>()[i] : 0;
      sum[c.ChannelOf(i)] += passed.data<float>()[i];
      product[c.ChannelOf(i)] += passed.data<float>()[i] * normal(i);
    }
    for (int64_t i = 0; i < dx.NumElements(); ++i) {
      const int64_t k = c.ChannelOf(i);
      dx.data<float>()[i] = static_cast<float>((passed.data<float>()[i] - (sum[k] + normal(i) * product[k]) / 40) *
                                               scale.data<float>()[k] / std::sqrt(m.variance[k] + kEpsilon));
    }
    ExpectTensorNear(Wide((*out)[0]), dx, Tolerance(c.type), Tolerance(c.type), c.ToString());
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR((*out)[1].data<float>()[k], product[k], 1e-3) << c.ToString();
      EXPECT_NEAR((*out)[2].data<float>()[k], sum[k], 1e-3) << c.ToString();
    }
    if (c.has_side) ExpectTensorNear(Wide((*out)[5]), passed, 0, 0, c.ToString());
  }
};

// Of bfloat16 in NCHW the simulated device's library computes nothing.
TEST_P(GpuNorms, WithWhatFollowsThem) {
  for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
    for (const bool channels_first : {false, true}) {
      for (const bool has_side : {false, true}) {
        for (const bool has_relu : {false, true}) {
          for (const float factor : {1.0f, 0.25f}) CheckForward({type, channels_first, has_side, has_relu, factor});
        }
      }
    }
  }
  GetParam().check(device_->runtime());
}

TEST_P(GpuNorms, TheirGradients) {
  for (const DataType type : {DT_FLOAT, DT_HALF}) {
    for (const bool channels_first : {false, true}) {
      for (const bool has_side : {false, true}) {
        for (const bool has_relu : {false, true}) CheckBackward({type, channels_first, has_side, has_relu});
      }
    }
  }
  GetParam().check(device_->runtime());
}

// Several calls try the plans of the library in turn.
TEST_P(GpuNorms, GiveTheSameByEveryPlan) {
  for (int i = 0; i < 12; ++i) {
    CheckForward({DT_FLOAT, false, true, true, 0.25f});
    CheckBackward({DT_FLOAT, false, true, true});
  }
}

TEST_P(GpuNorms, OfOneElementOrNone) {
  const auto of = [this](const TensorShape& shape) {
    return Run(Forward(), {Numbers(shape, 1), Vector(3), Vector(4), Vector(5), Vector(6)}, AttrsOf({}));
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> one, of(TensorShape({1, 1, 1, 3})));
  for (int k = 0; k < 3; ++k) EXPECT_EQ(one[0].data<float>()[k], Vector(4).data<float>()[k]);
  ExpectTensorNear(one[4], AsTensor<float>({0, 0, 0}));
  EXPECT_THAT(of(TensorShape({0, 2, 2, 3})), IsOk());
}

TEST_P(GpuNorms, RefuseWhatDoesNotFit) {
  const auto run = [this](const TensorShape& side, tensorflow::NodeDef attrs) {
    return Run(Forward(),
               {Numbers(TensorShape({2, 4, 5, 3}), 1), Vector(3), Vector(4), Vector(5), Vector(6), Numbers(side, 2)},
               attrs);
  };
  const auto attrs = Attr("num_side_inputs", int64_t{1}, Float());
  EXPECT_THAT(run(TensorShape({1, 4, 5, 3}), attrs), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(run(TensorShape({2, 4, 5, 3}), Attr("activation_mode", std::string("Elu"), attrs)),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace weir
