// Attention in one op gives what its parts give one after another.
#include <limits>

#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  TensorShape q, k, v;
  std::optional<TensorShape> mask;
  bool transpose_k = true;
};

std::vector<Case> Cases() {
  return {
      {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, std::nullopt},
      {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, TensorShape({5, 7})},
      {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, TensorShape({2, 1, 1, 7})},
      {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, TensorShape({3, 5, 1})},
      {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, TensorShape()},
      {{2, 3, 5, 4}, {2, 3, 4, 7}, {2, 3, 7, 6}, TensorShape({7}), false},
      {{5, 4}, {7, 4}, {7, 6}, std::nullopt},
      {{3, 5, 4}, {3, 7, 4}, {3, 7, 6}, TensorShape({1, 5, 7})},
      // What is broadcast: heads that share keys, one query, one key, masks that add dimensions.
      {{2, 3, 5, 4}, {2, 1, 7, 4}, {1, 3, 7, 6}, TensorShape({2, 1, 5, 7})},
      {{5, 4}, {3, 7, 4}, {2, 1, 7, 6}, std::nullopt},
      {{2, 1, 4}, {2, 7, 4}, {2, 7, 6}, TensorShape({9, 1, 5, 7})},
      {{2, 5, 4}, {2, 1, 4}, {2, 7, 6}, TensorShape({5, 7})},
      {{1, 4}, {1, 4}, {7, 6}, TensorShape({2, 5, 7})},
      {{2, 5, 4}, {2, 4, 1}, {2, 7, 6}, TensorShape({5, 7}), false},
      {{2, 5, 4}, {2, 1, 4}, {2, 1, 6}, TensorShape({5, 1})},
      // Several blocks.
      {{2, 300, 16}, {2, 1000, 16}, {2, 1000, 24}, TensorShape({300, 1000})},
      {{1, 4}, {7, 4}, {7, 6}, TensorShape({129, 7})},  // of a single row, as the last is
      {{1, 3, 8}, {1, 70000, 8}, {1, 70000, 2}, TensorShape({70000})},
      // What is empty.
      {{2, 0, 4}, {2, 7, 4}, {2, 7, 6}, std::nullopt},
      {{2, 5, 4}, {2, 0, 4}, {2, 0, 6}, std::nullopt},
      {{2, 5, 0}, {2, 7, 0}, {2, 7, 6}, TensorShape({5, 7})},
      {{2, 5, 4}, {2, 7, 4}, {2, 7, 0}, std::nullopt},
      {{0, 5, 4}, {0, 7, 4}, {0, 7, 6}, TensorShape({5, 7})},
  };
}

class FusedAttentionTest : public OpTest {
 protected:
  Tensor Run(absl::string_view op, std::vector<TestInput> inputs, const Attrs& attrs = {}) {
    absl::StatusOr<std::vector<Tensor>> out = RunOp(op, std::move(inputs), attrs);
    EXPECT_THAT(out, IsOk()) << op;
    return out.ok() ? (*out)[0] : Tensor();
  }
  Tensor Cast(const Tensor& tensor, DataType type) { return Run("Cast", {tensor}, Attrs().Set("DstT", type)); }
  // Numbers in [-2, 2) without a pattern.
  static Tensor Scrambled(const TensorShape& shape, uint32_t seed) {
    Tensor tensor(DT_FLOAT, shape);
    for (float& x : tensor.flat<float>()) {
      seed = seed * 1664525 + 1013904223;
      x = -2 + static_cast<float>(seed >> 8) * (4 / 16777216.0f);
    }
    return tensor;
  }

  // In float, whatever the type.
  Tensor Parts(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, bool transpose_k,
               float scale) {
    Tensor scores = Run("BatchMatMulV2", {q, k}, Attrs().Set("adj_y", transpose_k));
    scores = Run("Mul", {scores, AsScalar<float>(scale)});
    if (mask.has_value()) scores = Run("AddV2", {scores, *mask});
    return Run("BatchMatMulV2", {Run("Softmax", {scores}), v});
  }
  absl::StatusOr<Tensor> Fused(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask,
                               bool transpose_k, float scale) {
    std::vector<TestInput> inputs = {q, k, v};
    if (mask.has_value()) inputs.push_back(*mask);
    ASSIGN_OR_RETURN(
        std::vector<Tensor> out,
        RunOp("_FusedAttention", std::move(inputs),
              Attrs().Set("num_masks", int64_t{mask.has_value()}).Set("transpose_k", transpose_k).Set("scale", scale)));
    return out[0];
  }
  void Compare(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, bool transpose_k,
               const std::string& context) {
    constexpr float kScale = 0.37f;
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      const auto cast = [&](const Tensor& x) { return type == DT_FLOAT ? x : Cast(x, type); };
      const auto back = [&](const Tensor& x) { return Cast(cast(x), DT_FLOAT); };
      std::optional<Tensor> typed_mask, exact_mask;
      if (mask.has_value()) {
        typed_mask = cast(*mask);
        exact_mask = back(*mask);
      }
      const auto fused = Fused(cast(q), cast(k), cast(v), typed_mask, transpose_k, kScale);
      ASSERT_THAT(fused, IsOk()) << context;
      const Tensor parts = Parts(back(q), back(k), back(v), exact_mask, transpose_k, kScale);
      const double tolerance = type == DT_FLOAT ? 1e-5 : type == DT_HALF ? 5e-3 : 4e-2;
      ExpectTensorNear(Cast(*fused, DT_FLOAT), parts, tolerance, tolerance,
                       absl::StrCat(context, " ", DataTypeName(type)));
    }
  }
};

TEST_F(FusedAttentionTest, OfAllShapes) {
  int number = 0;
  for (const Case& c : Cases()) {
    std::optional<Tensor> mask;
    if (c.mask.has_value()) mask = Scrambled(*c.mask, 4);
    Compare(Scrambled(c.q, 1), Scrambled(c.k, 2), Scrambled(c.v, 3), mask, c.transpose_k,
            absl::StrCat("case ", number++));
  }
}

class FusedAttentionGradTest : public FusedAttentionTest {
 protected:
  struct Results {
    Tensor dq, dk, dv;
  };

  // Reduces to `shape`, of which `batches` has the dimensions that count, against those of `other`.
  Tensor SumTo(const Tensor& gradient, const TensorShape& shape, const TensorShape& other, int inner) {
    const auto batch = [&](const TensorShape& of) {
      std::vector<int32_t> dims;
      for (int d = 0; d < of.dims() - inner; ++d) dims.push_back(static_cast<int32_t>(of.dim_size(d)));
      return AsTensor<int32_t>(dims);
    };
    std::vector<int32_t> dims;
    for (int d = 0; d < shape.dims(); ++d) dims.push_back(static_cast<int32_t>(shape.dim_size(d)));
    const Tensor axes = Run("BroadcastGradientArgs", {batch(shape), batch(other)});
    return Run("Reshape", {Run("Sum", {gradient, axes}), AsTensor<int32_t>(dims)});
  }
  // As the graph of gradients has it, in float.
  Results GradientParts(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask,
                        const Tensor& dy, bool transpose_k, float scale, bool sums) {
    const Tensor product = Run("BatchMatMulV2", {q, k}, Attrs().Set("adj_y", transpose_k));
    Tensor masked = Run("Mul", {product, AsScalar<float>(scale)});
    if (mask.has_value()) masked = Run("AddV2", {masked, *mask});
    const Tensor weights = Run("Softmax", {masked});
    Tensor of_weights = Run("BatchMatMulV2", {dy, v}, Attrs().Set("adj_y", true));
    if (sums) of_weights = SumTo(of_weights, weights.shape(), v.shape(), 2);
    const Tensor total =
        Run("Sum", {Run("Mul", {of_weights, weights}), AsTensor<int32_t>({-1})}, Attrs().Set("keep_dims", true));
    Tensor of_scores = Run("Mul", {Run("Sub", {of_weights, total}), weights});
    if (sums && mask.has_value()) of_scores = SumTo(of_scores, product.shape(), mask->shape(), 0);
    of_scores = Run("Mul", {of_scores, AsScalar<float>(scale)});
    const Tensor dk = transpose_k ? Run("BatchMatMulV2", {of_scores, q}, Attrs().Set("adj_x", true))
                                  : Run("BatchMatMulV2", {q, of_scores}, Attrs().Set("adj_x", true));
    return {Run("BatchMatMulV2", {of_scores, k}, Attrs().Set("adj_y", !transpose_k)), dk,
            Run("BatchMatMulV2", {weights, dy}, Attrs().Set("adj_x", true))};
  }
  absl::StatusOr<std::vector<Tensor>> FusedGradient(const Tensor& q, const Tensor& k, const Tensor& v,
                                                    const std::optional<Tensor>& mask, const Tensor& dy,
                                                    bool transpose_k, float scale, bool sums) {
    std::vector<TestInput> inputs = {q, k, v};
    if (mask.has_value()) inputs.push_back(*mask);
    const Attrs attrs =
        Attrs().Set("num_masks", int64_t{mask.has_value()}).Set("transpose_k", transpose_k).Set("scale", scale);
    ASSIGN_OR_RETURN(const std::vector<Tensor> out,
                     RunOp("_FusedAttention", inputs, Attrs(attrs).Set("num_statistics", int64_t{2})));
    inputs.insert(inputs.end(), {out[0], out[1], out[2], dy});
    return RunOp("_FusedAttentionGrad", std::move(inputs),
                 Attrs(attrs).Set("sums_weights", sums).Set("sums_scores", sums && mask.has_value()));
  }
  void CompareGradients(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask,
                        bool transpose_k, bool sums, const std::string& context) {
    constexpr float kScale = 0.37f;
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      const auto cast = [&](const Tensor& x) { return type == DT_FLOAT ? x : Cast(x, type); };
      const auto back = [&](const Tensor& x) { return Cast(cast(x), DT_FLOAT); };
      std::optional<Tensor> typed_mask, exact_mask;
      if (mask.has_value()) {
        typed_mask = cast(*mask);
        exact_mask = back(*mask);
      }
      const auto forward = Fused(q, k, v, mask, transpose_k, kScale);
      ASSERT_THAT(forward, IsOk()) << context;
      const Tensor dy = Scrambled(forward->shape(), 5);
      const auto out = FusedGradient(cast(q), cast(k), cast(v), typed_mask, cast(dy), transpose_k, kScale, sums);
      ASSERT_THAT(out, IsOk()) << context;
      const Results parts = GradientParts(back(q), back(k), back(v), exact_mask, back(dy), transpose_k, kScale, sums);
      const double tolerance = type == DT_FLOAT ? 2e-5 : type == DT_HALF ? 2e-2 : 1.5e-1;
      const Tensor* const expected[] = {&parts.dq, &parts.dk, &parts.dv};
      for (int i = 0; i < 3; ++i) {
        ExpectTensorNear(Cast((*out)[i], DT_FLOAT), *expected[i], tolerance, tolerance,
                         absl::StrCat(context, " ", DataTypeName(type), " gradient ", i));
      }
    }
  }
};

TEST_F(FusedAttentionTest, OfMasksThatHide) {
  const Tensor q = Scrambled({2, 6, 4}, 1), k = Scrambled({2, 6, 4}, 2), v = Scrambled({2, 6, 3}, 3);
  for (const float hidden : {-kInfinity, -1e9f, -1e4f}) {
    Tensor causal(DT_FLOAT, TensorShape({6, 6})), all(DT_FLOAT, TensorShape({6, 6}));
    for (int64_t i = 0; i < 36; ++i) {
      causal.data<float>()[i] = i % 6 > i / 6 ? hidden : 0;
      all.data<float>()[i] = i / 6 == 2 ? hidden : 0;  // a query sees nothing: NaN, if hidden by infinity
    }
    Compare(q, k, v, causal, true, absl::StrCat("causal ", hidden));
    if (hidden != -1e9f) Compare(q, k, v, all, true, absl::StrCat("a row of ", hidden));  // half has no -1e9
  }
}

TEST_F(FusedAttentionTest, OfNumbersThatAreNone) {
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (int which = 0; which < 4; ++which) {
      Tensor tensors[] = {Scrambled({2, 6, 4}, 1), Scrambled({2, 6, 4}, 2), Scrambled({2, 6, 3}, 3),
                          Scrambled({6, 6}, 4)};
      tensors[which].data<float>()[5] = odd;
      Compare(tensors[0], tensors[1], tensors[2], tensors[3], true, absl::StrCat(odd, " in input ", which));
    }
  }
}

TEST_F(FusedAttentionTest, RefusesWhatDoesNotFit) {
  const Tensor q = Scrambled({2, 5, 4}, 1), k = Scrambled({2, 7, 4}, 2), v = Scrambled({2, 7, 6}, 3);
  EXPECT_THAT(Fused(q, k, v, Scrambled({6, 7}, 4), true, 1), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Fused(q, k, v, std::nullopt, false, 1),
              StatusIs(Code::kInvalidArgument, HasSubstr("Matrix size-incompatible")));
  EXPECT_THAT(Fused(q, k, Scrambled({2, 8, 6}, 3), std::nullopt, true, 1), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Fused(AsTensor<float>({1}), k, v, std::nullopt, true, 1), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("_FusedAttention", {q, k, v, q, q}, Attrs().Set("num_masks", int64_t{2})).status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("at most one mask")));
}

TEST_F(FusedAttentionGradTest, OfAllShapes) {
  int number = 0;
  for (const Case& c : Cases()) {
    std::optional<Tensor> mask;
    if (c.mask.has_value()) mask = Scrambled(*c.mask, 4);
    CompareGradients(Scrambled(c.q, 1), Scrambled(c.k, 2), Scrambled(c.v, 3), mask, c.transpose_k, /*sums=*/true,
                     absl::StrCat("case ", number++));
  }
}

TEST_F(FusedAttentionGradTest, WhatIsNotSummedUpIsNotSummedUp) {
  const Tensor q = Scrambled({2, 3, 5, 4}, 1), k = Scrambled({2, 1, 7, 4}, 2), v = Scrambled({2, 3, 7, 6}, 3);
  CompareGradients(q, k, v, Scrambled({5, 7}, 4), true, /*sums=*/false, "shared keys");
  CompareGradients(Scrambled({5, 4}, 1), Scrambled({7, 4}, 2), v, std::nullopt, true, /*sums=*/false, "batched values");
  CompareGradients(q, k, v, Scrambled({4, 2, 1, 5, 7}, 4), true, /*sums=*/false, "a batched mask");
}

TEST_F(FusedAttentionGradTest, OfMasksThatHide) {
  const Tensor q = Scrambled({2, 6, 4}, 1), k = Scrambled({2, 6, 4}, 2), v = Scrambled({2, 6, 3}, 3);
  for (const float hidden : {-kInfinity, -1e9f, -1e4f}) {
    Tensor causal(DT_FLOAT, TensorShape({6, 6})), all(DT_FLOAT, TensorShape({6, 6}));
    for (int64_t i = 0; i < 36; ++i) {
      causal.data<float>()[i] = i % 6 > i / 6 ? hidden : 0;
      all.data<float>()[i] = i / 6 == 2 ? hidden : 0;  // a query sees nothing, or, if not by infinity, all alike
    }
    CompareGradients(q, k, v, causal, true, true, absl::StrCat("causal ", hidden));
    if (hidden != -1e9f) CompareGradients(q, k, v, all, true, true, absl::StrCat("a row of ", hidden));
  }
}

TEST_F(FusedAttentionGradTest, GivesTheSameBitsWhateverTheThreads) {
  const Tensor q = Scrambled({1, 700, 16}, 1), k = Scrambled({1, 900, 16}, 2), v = Scrambled({1, 900, 8}, 3);
  const Tensor dy = Scrambled({1, 700, 8}, 5);
  const auto first = FusedGradient(q, k, v, std::nullopt, dy, true, 0.5f, false);
  ASSERT_THAT(first, IsOk());
  for (int round = 0; round < 3; ++round) {
    const auto again = FusedGradient(q, k, v, std::nullopt, dy, true, 0.5f, false);
    ASSERT_THAT(again, IsOk());
    for (int i = 0; i < 3; ++i) ExpectTensorEqual((*again)[i], (*first)[i]);
  }
}

TEST_F(FusedAttentionGradTest, RefusesWhatDoesNotFit) {
  const Tensor q = Scrambled({2, 5, 4}, 1), k = Scrambled({2, 7, 4}, 2), v = Scrambled({2, 7, 6}, 3);
  const auto refused = StatusIs(Code::kInvalidArgument);
  EXPECT_THAT(FusedGradient(q, k, v, std::nullopt, Scrambled({2, 5, 7}, 5), true, 1, false), refused);
  // A single query, that a mask makes several of, needs its gradients summed up.
  EXPECT_THAT(
      FusedGradient(Scrambled({2, 1, 4}, 1), k, v, Scrambled({5, 7}, 4), Scrambled({2, 5, 6}, 5), true, 1, false),
      refused);
  EXPECT_THAT(RunOp("_FusedAttention", {q, k, v}, Attrs().Set("num_statistics", int64_t{1})).status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("statistics")));
}

TEST_F(FusedAttentionTest, TellsTheShapeOfScores) {
  const Tensor q = Scrambled({2, 1, 5, 4}, 1), k = Scrambled({3, 7, 4}, 2), mask = Scrambled({9, 1, 1, 1, 7}, 4);
  ExpectTensorEqual(Run("_AttentionScoresShape", {q, k}), AsTensor<int32_t>({2, 3, 5, 7}));
  ExpectTensorEqual(
      Run("_AttentionScoresShape", {q, k, mask}, Attrs().Set("num_masks", int64_t{1}).Set("out_type", DT_INT64)),
      AsTensor<int64_t>({9, 2, 3, 5, 7}));
}

}  // namespace
}  // namespace weir
