// Conformance suite of attention for each kind of device. A device's test includes this header after
// kernel_conformance_testing.h and instantiates GpuKernels.
#pragma once

#include <limits>

#include "kernels/attention/args.h"
#include "kernels/device/gpu/kernel_conformance_testing.h"

namespace weir {

class GpuAttention : public GpuKernels {
 protected:
  struct Inputs {
    Tensor q, k, v;
    std::optional<Tensor> mask;
    bool transpose_k = true;
  };
  static constexpr float kScale = 0.37f;

  static Tensor Scrambled(const TensorShape& shape, uint32_t seed) {
    Tensor tensor(DT_FLOAT, shape);
    for (float& x : tensor.flat<float>()) {
      seed = seed * 1664525 + 1013904223;
      x = -2 + static_cast<float>(seed >> 24) / 64;  // 16 bits hold it
    }
    return tensor;
  }
  static Inputs Of(TensorShape q, TensorShape k, TensorShape v, std::optional<TensorShape> mask = std::nullopt,
                   bool transpose_k = true) {
    Inputs in{Scrambled(q, 1), Scrambled(k, 2), Scrambled(v, 3), std::nullopt, transpose_k};
    if (mask.has_value()) in.mask = Scrambled(*mask, 4);
    return in;
  }
  static Op AttentionOp() {
    return GpuKernels::Of("_FusedAttention")
        .Input("q: T")
        .Input("k: T")
        .Input("v: T")
        .Input("mask: num_masks * T")
        .Output("output: T")
        .Output("statistics: num_statistics * float")
        .Attr("num_statistics: int >= 0 = 0")
        .Attr("num_masks: int >= 0")
        .Attr("scale: float")
        .Attr("transpose_k: bool");
  }
  static int64_t At(int64_t item, const DimVector& batch, const DimVector& steps) {
    int64_t at = 0;
    for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
      at += item % batch[d] * steps[d];
      item /= batch[d];
    }
    return at;
  }
  // In double, score by score.
  static Tensor Reference(const Inputs& in) {
    const TensorShape* const mask_shape = in.mask.has_value() ? &in.mask->shape() : nullptr;
    const AttentionSizes s = *AttentionSizes::Of(in.q.shape(), in.k.shape(), in.v.shape(), mask_shape, in.transpose_k);
    Tensor out(DT_FLOAT, s.output);
    const float* const q = in.q.data<float>();
    const float* const k = in.k.data<float>();
    const float* const v = in.v.data<float>();
    for (int64_t row = 0; row * s.columns < out.NumElements(); ++row) {
      const int64_t item = row / s.queries, query = row % s.queries;
      std::vector<double> weights;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t key = 0; key < s.keys; ++key) {
        double score = 0;
        for (int64_t d = 0; d < s.depth; ++d) {
          score += double{q[At(item, s.batch, s.q_batch) + query * s.q_row + d]} *
                   k[At(item, s.batch, s.k_batch) + key * s.k_key + d * s.k_depth];
        }
        score *= kScale;
        if (in.mask.has_value()) {
          score += in.mask->data<float>()[At(item, s.batch, s.mask_batch) + query * s.mask_row + key * s.mask_key];
        }
        weights.push_back(score);
        if (score > largest) largest = score;
      }
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      for (int64_t column = 0; column < s.columns; ++column) {
        double mixed = 0;
        for (int64_t key = 0; key < s.keys; ++key) {
          mixed += weights[static_cast<size_t>(key)] / sum * v[At(item, s.batch, s.v_batch) + key * s.columns + column];
        }
        out.data<float>()[row * s.columns + column] = static_cast<float>(mixed);
      }
    }
    return out;
  }
  absl::StatusOr<Tensor> RunAttention(const Inputs& in, DataType type) {
    std::vector<Tensor> inputs = {CastForTest(in.q, type), CastForTest(in.k, type), CastForTest(in.v, type)};
    if (in.mask.has_value()) inputs.push_back(CastForTest(*in.mask, type));
    const auto attrs = Attr(
        "T", type,
        Attr("num_masks", int64_t{in.mask.has_value()}, Attr("scale", kScale, Attr("transpose_k", in.transpose_k))));
    ASSIGN_OR_RETURN(std::vector<Tensor> out, Run(AttentionOp(), std::move(inputs), attrs));
    return out[0];
  }
  void Check(const Inputs& in, const std::string& context) {
    const Tensor expected = Reference(in);
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      const auto out = RunAttention(in, type);
      ASSERT_THAT(out, IsOk()) << context << " " << DataTypeName(type);
      const double tolerance = type == DT_FLOAT ? 2e-5 : type == DT_HALF ? 4e-3 : 3e-2;
      ExpectTensorNear(*out, CastForTest(expected, type), tolerance, tolerance,
                       absl::StrCat(context, " ", DataTypeName(type)));
    }
    GetParam().check(device_->runtime());
  }
};

TEST_P(GpuAttention, OfAllShapes) {
  const TensorShape q({2, 3, 5, 8}), k({2, 3, 7, 8}), v({2, 3, 7, 16});  // such as libraries take
  Check(Of(q, k, v), "no mask");
  Check(Of(q, k, v, TensorShape({5, 7})), "a mask for all");
  Check(Of(q, k, v, TensorShape({2, 1, 1, 7})), "a mask of keys");
  Check(Of(q, k, v, TensorShape({2, 3, 5, 7})), "a mask for each");
  Check(Of({3, 5, 8}, {3, 7, 8}, {3, 7, 16}, TensorShape({3, 1, 7})), "rank 3");
  Check(Of({1, 8}, {7, 8}, {7, 16}), "one query");
  Check(Of({2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, TensorShape({7})), "narrow heads");
  Check(Of({2, 5, 8}, {2, 8, 7}, {2, 7, 16}, std::nullopt, false), "keys in columns");
  Check(Of({2, 3, 5, 8}, {2, 1, 7, 8}, {1, 3, 7, 8}, TensorShape({5, 1})), "shared keys");
  Check(Of({2, 1, 8}, {2, 7, 8}, {2, 7, 8}, TensorShape({4, 1, 5, 7})), "a mask that adds queries");
  Check(Of({5, 8}, {1, 8}, {7, 8}, TensorShape({5, 7})), "a mask that adds keys");
  Check(Of({2, 2, 2, 3, 8}, {2, 2, 2, 3, 8}, {2, 2, 2, 3, 8}), "rank 5");
}

TEST_P(GpuAttention, OfSeveralTiles) {
  Check(Of({2, 70, 40}, {2, 130, 40}, {2, 130, 200}, TensorShape({70, 130})), "ends in all dimensions");
  Check(Of({1, 33, 65}, {1, 65, 65}, {1, 65, 129}), "one more than a tile");
}

TEST_P(GpuAttention, OfWhatIsEmpty) {
  for (const Inputs& in : {Of({2, 0, 8}, {2, 7, 8}, {2, 7, 8}), Of({2, 5, 0}, {2, 7, 0}, {2, 7, 8}),
                           Of({2, 5, 8}, {2, 7, 8}, {2, 7, 0})}) {
    Check(in, in.q.shape().ToString());
  }
  const auto without_keys = RunAttention(Of({2, 5, 8}, {2, 0, 8}, {2, 0, 8}), DT_FLOAT);
  ASSERT_THAT(without_keys, IsOk());
  Tensor zeros(DT_FLOAT, TensorShape({2, 5, 8}));
  for (float& x : zeros.flat<float>()) x = 0;
  ExpectTensorEqual(*without_keys, zeros);
}

TEST_P(GpuAttention, OfMasksThatHide) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float hidden : {-kInfinity, -1e9f}) {
    Inputs in = Of({1, 100, 8}, {1, 100, 8}, {1, 100, 8}, TensorShape({100, 100}));
    for (int64_t i = 0; i < 10000; ++i) in.mask->data<float>()[i] = i % 100 > i / 100 ? hidden : 0;
    ExpectTensorNear(*RunAttention(in, DT_FLOAT), Reference(in), 2e-5, 2e-5, absl::StrCat("causal ", hidden));
    // The last keys alone are seen: whole tiles before them are hidden.
    for (int64_t i = 0; i < 10000; ++i) in.mask->data<float>()[i] = i % 100 < 90 ? hidden : 0;
    ExpectTensorNear(*RunAttention(in, DT_FLOAT), Reference(in), 2e-5, 2e-5, absl::StrCat("late ", hidden));
  }
  Inputs blind = Of({1, 5, 8}, {1, 7, 8}, {1, 7, 8}, TensorShape({5, 7}));
  for (int64_t i = 0; i < 7; ++i) blind.mask->data<float>()[14 + i] = -kInfinity;
  ExpectTensorNear(*RunAttention(blind, DT_FLOAT), Reference(blind), 2e-5, 2e-5, "a query that sees nothing");
}

TEST_P(GpuAttention, OfNumbersThatAreNone) {
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (int which = 0; which < 4; ++which) {
      Inputs in = Of({1, 40, 8}, {1, 100, 8}, {1, 100, 8}, TensorShape({40, 100}));
      Tensor* const tensors[] = {&in.q, &in.k, &in.v, &*in.mask};
      tensors[which]->data<float>()[85] = odd;
      ExpectTensorNear(*RunAttention(in, DT_FLOAT), Reference(in), 2e-5, 2e-5, absl::StrCat(odd, " in ", which));
    }
  }
}

TEST_P(GpuAttention, RefusesWhatDoesNotFit) {
  EXPECT_THAT(RunAttention(Of({2, 5, 8}, {2, 7, 4}, {2, 7, 8}), DT_FLOAT),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Matrix size-incompatible")));
  EXPECT_THAT(RunAttention(Of({2, 5, 8}, {2, 7, 8}, {2, 6, 8}), DT_HALF), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunAttention(Of({2, 5, 8}, {2, 7, 8}, {2, 7, 8}, TensorShape({4, 7})), DT_HALF),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

class GpuAttentionGrad : public GpuAttention {
 protected:
  static Op GradientOp() {
    return GpuKernels::Of("_FusedAttentionGrad")
        .Input("q: T")
        .Input("k: T")
        .Input("v: T")
        .Input("mask: num_masks * T")
        .Input("output: T")
        .Input("largest: float")
        .Input("sum: float")
        .Input("gradient: T")
        .Output("dq: T")
        .Output("dk: T")
        .Output("dv: T")
        .Attr("num_masks: int >= 0")
        .Attr("scale: float")
        .Attr("transpose_k: bool")
        .Attr("sums_weights: bool")
        .Attr("sums_scores: bool");
  }
  static AttentionGradientSizes SizesOf(const Inputs& in, bool sums) {
    const TensorShape* const mask = in.mask.has_value() ? &in.mask->shape() : nullptr;
    const AttentionSizes s = *AttentionSizes::Of(in.q.shape(), in.k.shape(), in.v.shape(), mask, in.transpose_k);
    AttentionGradientSizes::Inputs shapes{in.q.shape(), in.k.shape(), in.v.shape()};
    if (mask != nullptr) shapes.mask = *mask;
    shapes.output = shapes.gradient = s.output;
    shapes.largest = shapes.sum = s.statistics;
    return *AttentionGradientSizes::Of(shapes, in.transpose_k, sums, sums);
  }
  // In double, score by score: dq, dk and dv.
  static std::vector<Tensor> ReferenceGradients(const Inputs& in, const Tensor& dy, bool sums) {
    const AttentionGradientSizes sizes = SizesOf(in, sums);
    const AttentionSizes& s = sizes.forward;
    const float *const q = in.q.data<float>(), *const k = in.k.data<float>(), *const v = in.v.data<float>();
    std::vector<double> dq(static_cast<size_t>(sizes.dq.num_elements())),
        dv(static_cast<size_t>(sizes.dv.num_elements())), dk(static_cast<size_t>(sizes.dk.num_elements()));
    for (int64_t own = 0; own < sizes.num_items(); ++own) {
      for (const int64_t item : sizes.ItemsOf(own)) {
        const int64_t q0 = At(item, s.batch, s.q_batch), k0 = At(item, s.batch, s.k_batch);
        const int64_t v0 = At(item, s.batch, s.v_batch), m0 = At(item, s.batch, s.mask_batch);
        for (int64_t query = 0; query < s.queries; ++query) {
          std::vector<double> weights, of_weights;
          double largest = -std::numeric_limits<double>::infinity(), sum = 0, dot = 0;
          const float* const gradient = dy.data<float>() + (item * s.queries + query) * s.columns;
          for (int64_t key = 0; key < s.keys; ++key) {
            double score = 0, of_weight = 0;
            for (int64_t d = 0; d < s.depth; ++d) {
              score += double{q[q0 + query * s.q_row + d]} * k[k0 + key * s.k_key + d * s.k_depth];
            }
            score *= kScale;
            if (in.mask.has_value()) score += in.mask->data<float>()[m0 + query * s.mask_row + key * s.mask_key];
            for (int64_t c = 0; c < s.columns; ++c) of_weight += double{gradient[c]} * v[v0 + key * s.columns + c];
            weights.push_back(score);
            of_weights.push_back(of_weight);
            if (score > largest) largest = score;
          }
          for (double& weight : weights) sum += weight = std::exp(weight - largest);
          for (size_t key = 0; key < weights.size(); ++key) dot += (weights[key] /= sum) * of_weights[key];
          for (int64_t key = 0; key < s.keys; ++key) {
            const double weight = weights[static_cast<size_t>(key)];
            const double of_score = weight * (of_weights[static_cast<size_t>(key)] - dot) * kScale;
            for (int64_t c = 0; c < s.columns; ++c) {
              dv[static_cast<size_t>((item * s.keys + key) * s.columns + c)] += weight * gradient[c];
            }
            const int64_t q_at = sizes.queries == s.queries ? query : 0, k_at = sizes.keys == s.keys ? key : 0;
            for (int64_t d = 0; d < s.depth; ++d) {
              dq[static_cast<size_t>((own * sizes.queries + q_at) * s.depth + d)] +=
                  of_score * k[k0 + key * s.k_key + d * s.k_depth];
              dk[static_cast<size_t>(own * sizes.keys * s.depth +
                                     (in.transpose_k ? k_at * s.depth + d : d * sizes.keys + k_at))] +=
                  of_score * q[q0 + query * s.q_row + d];
            }
          }
        }
      }
    }
    return {Narrow(dq, sizes.dq), Narrow(dk, sizes.dk), Narrow(dv, sizes.dv)};
  }
  static Tensor Narrow(const std::vector<double>& values, const TensorShape& shape) {
    Tensor tensor(DT_FLOAT, shape);
    for (size_t i = 0; i < values.size(); ++i) tensor.data<float>()[i] = static_cast<float>(values[i]);
    return tensor;
  }
  // With what the attention itself gave on the device.
  absl::StatusOr<std::vector<Tensor>> RunGradient(const Inputs& in, const Tensor& dy, DataType type, bool sums) {
    std::vector<Tensor> inputs = {CastForTest(in.q, type), CastForTest(in.k, type), CastForTest(in.v, type)};
    if (in.mask.has_value()) inputs.push_back(CastForTest(*in.mask, type));
    const auto attrs = Attr(
        "T", type,
        Attr("num_masks", int64_t{in.mask.has_value()}, Attr("scale", kScale, Attr("transpose_k", in.transpose_k))));
    ASSIGN_OR_RETURN(const std::vector<Tensor> out,
                     Run(AttentionOp(), inputs, Attr("num_statistics", int64_t{2}, attrs)));
    inputs.insert(inputs.end(), {out[0], out[1], out[2], CastForTest(dy, type)});
    return Run(GradientOp(), std::move(inputs), Attr("sums_weights", sums, Attr("sums_scores", sums, attrs)));
  }
  void CheckGradients(const Inputs& in, const std::string& context, bool sums = true) {
    const Tensor dy = Scrambled(SizesOf(in, sums).forward.output, 5);
    const std::vector<Tensor> expected = ReferenceGradients(in, dy, sums);
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      const auto out = RunGradient(in, dy, type, sums);
      ASSERT_THAT(out, IsOk()) << context << " " << DataTypeName(type);
      const double tolerance = type == DT_FLOAT ? 1e-4 : type == DT_HALF ? 2e-2 : 1.5e-1;
      for (size_t i = 0; i < 3; ++i) {
        ExpectTensorNear((*out)[i], CastForTest(expected[i], type), tolerance, tolerance,
                         absl::StrCat(context, " ", DataTypeName(type), " gradient ", i));
      }
    }
    GetParam().check(device_->runtime());
  }
};

TEST_P(GpuAttentionGrad, OfAllShapes) {
  const TensorShape q({2, 3, 5, 8}), k({2, 3, 7, 8}), v({2, 3, 7, 16});
  CheckGradients(Of(q, k, v), "no mask");
  CheckGradients(Of(q, k, v, TensorShape({5, 7})), "a mask for all");
  CheckGradients(Of(q, k, v, TensorShape({2, 1, 1, 7})), "a mask of keys");
  CheckGradients(Of(q, k, v, TensorShape({2, 3, 5, 7})), "a mask for each", /*sums=*/false);
  CheckGradients(Of({1, 8}, {7, 8}, {7, 16}), "one query");
  CheckGradients(Of({2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, TensorShape({7})), "narrow heads");
  CheckGradients(Of({2, 5, 8}, {2, 8, 7}, {2, 7, 16}, std::nullopt, false), "keys in columns");
  CheckGradients(Of({2, 3, 5, 8}, {2, 1, 7, 8}, {1, 3, 7, 8}, TensorShape({5, 1})), "shared keys");
  CheckGradients(Of({5, 8}, {7, 8}, {2, 3, 7, 8}), "batched values");
  CheckGradients(Of({5, 8}, {7, 8}, {2, 3, 7, 8}), "batched values, not summed up", /*sums=*/false);
  CheckGradients(Of({2, 1, 8}, {2, 7, 8}, {2, 7, 8}, TensorShape({4, 1, 5, 7})), "a mask that adds queries");
  CheckGradients(Of({5, 8}, {1, 8}, {7, 8}, TensorShape({5, 7})), "a mask that adds keys");
  CheckGradients(Of({2, 5, 8}, {2, 8, 1}, {2, 7, 8}, TensorShape({5, 7}), false), "one key in a column");
}

TEST_P(GpuAttentionGrad, OfSeveralTiles) {
  CheckGradients(Of({2, 70, 40}, {2, 130, 40}, {2, 130, 200}, TensorShape({70, 130})), "ends in all dimensions");
  CheckGradients(Of({1, 33, 129}, {1, 65, 129}, {1, 65, 65}), "one more than a tile");
}

TEST_P(GpuAttentionGrad, OfWhatIsEmpty) {
  for (const Inputs& in : {Of({2, 0, 8}, {2, 7, 8}, {2, 7, 8}), Of({2, 5, 0}, {2, 7, 0}, {2, 7, 8}),
                           Of({2, 5, 8}, {2, 7, 8}, {2, 7, 0}), Of({2, 5, 8}, {2, 0, 8}, {2, 0, 8})}) {
    CheckGradients(in, absl::StrCat(in.q.shape().ToString(), in.k.shape().ToString()));
  }
}

TEST_P(GpuAttentionGrad, OfMasksThatHide) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float hidden : {-kInfinity, -1e9f}) {
    Inputs in = Of({1, 100, 8}, {1, 100, 8}, {1, 100, 8}, TensorShape({100, 100}));
    for (int64_t i = 0; i < 10000; ++i) in.mask->data<float>()[i] = i % 100 > i / 100 ? hidden : 0;
    const Tensor dy = Scrambled({1, 100, 8}, 5);
    const auto out = RunGradient(in, dy, DT_FLOAT, false);
    ASSERT_THAT(out, IsOk());
    const std::vector<Tensor> expected = ReferenceGradients(in, dy, false);
    for (size_t i = 0; i < 3; ++i)
      ExpectTensorNear((*out)[i], expected[i], 1e-4, 1e-4, absl::StrCat("causal ", hidden));
  }
}

TEST_P(GpuAttentionGrad, RefusesWhatDoesNotFit) {
  EXPECT_THAT(RunGradient(Of({2, 5, 8}, {2, 7, 8}, {2, 7, 8}), Scrambled({2, 5, 7}, 5), DT_FLOAT, false),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunGradient(Of({2, 1, 8}, {2, 7, 8}, {2, 7, 8}, TensorShape({5, 7})), Scrambled({2, 5, 8}, 5), DT_HALF,
                          /*sums=*/false),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace weir
