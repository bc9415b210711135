#include "kernels/attention/args.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AttentionSizes, OfHeads) {
  const TensorShape mask({2, 1, 1, 7});
  ASSERT_OK_AND_ASSIGN(const AttentionSizes s,
                       AttentionSizes::Of(TensorShape({2, 3, 5, 4}), TensorShape({2, 3, 7, 4}),
                                          TensorShape({2, 3, 7, 6}), &mask, /*transpose_k=*/true));
  EXPECT_EQ(s.output, TensorShape({2, 3, 5, 6}));
  EXPECT_THAT((std::vector<int64_t>{s.queries, s.keys, s.depth, s.columns}), ElementsAre(5, 7, 4, 6));
  EXPECT_THAT(s.batch, ElementsAre(2, 3));
  EXPECT_THAT(s.q_batch, ElementsAre(60, 20));
  EXPECT_THAT(s.k_batch, ElementsAre(84, 28));
  EXPECT_THAT(s.v_batch, ElementsAre(126, 42));
  EXPECT_THAT(s.mask_batch, ElementsAre(7, 0));
  EXPECT_THAT((std::vector<int64_t>{s.q_row, s.k_key, s.k_depth, s.mask_row, s.mask_key}), ElementsAre(4, 4, 1, 0, 1));
}

TEST(AttentionSizes, OfKeysInColumns) {
  ASSERT_OK_AND_ASSIGN(const AttentionSizes s, AttentionSizes::Of(TensorShape({5, 4}), TensorShape({4, 7}),
                                                                  TensorShape({7, 6}), nullptr, false));
  EXPECT_EQ(s.output, TensorShape({5, 6}));
  EXPECT_THAT((std::vector<int64_t>{s.k_key, s.k_depth, s.mask_row, s.mask_key}), ElementsAre(1, 7, 0, 0));
}

TEST(AttentionSizes, AMaskMayAddToTheScores) {
  const TensorShape mask({9, 1, 5, 7});
  ASSERT_OK_AND_ASSIGN(const AttentionSizes s, AttentionSizes::Of(TensorShape({3, 1, 4}), TensorShape({1, 4}),
                                                                  TensorShape({7, 6}), &mask, true));
  EXPECT_EQ(s.output, TensorShape({9, 3, 5, 6}));
  EXPECT_THAT(s.q_batch, ElementsAre(0, 4));
  EXPECT_THAT(s.k_batch, ElementsAre(0, 0));
  EXPECT_THAT(s.mask_batch, ElementsAre(35, 0));
  EXPECT_THAT((std::vector<int64_t>{s.queries, s.keys, s.q_row, s.k_key, s.mask_row, s.mask_key}),
              ElementsAre(5, 7, 0, 0, 7, 1));
}

TEST(AttentionSizes, RefusesWhatTheOpsRefuse) {
  const auto of = [](TensorShape q, TensorShape k, TensorShape v, TensorShape mask) {
    return AttentionSizes::Of(q, k, v, &mask, true).status();
  };
  const TensorShape q({2, 5, 4}), k({2, 7, 4}), v({2, 7, 6}), none({});
  EXPECT_THAT(of(q, k, v, none), IsOk());
  EXPECT_THAT(of(TensorShape({4}), k, v, none), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ndims")));
  EXPECT_THAT(of(q, TensorShape({2, 7, 3}), v, none),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("size-incompatible")));
  EXPECT_THAT(of(q, k, TensorShape({2, 8, 6}), none), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(of(q, k, TensorShape({3, 7, 6}), none),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("batch dimensions")));
  EXPECT_THAT(of(q, k, v, TensorShape({6, 7})), StatusIs(absl::StatusCode::kInvalidArgument));
}

AttentionGradientSizes::Inputs GradientInputs(const TensorShape& q, const TensorShape& k, const TensorShape& v,
                                              const TensorShape& mask) {
  const AttentionSizes s = *AttentionSizes::Of(q, k, v, &mask, true);
  return {q, k, v, mask, s.output, s.statistics, s.statistics, s.output};
}

TEST(AttentionGradientSizes, WhatTheMaskAddsIsSummedUp) {
  const auto in = GradientInputs({3, 1, 4}, {7, 4}, {2, 1, 7, 6}, {5, 7});
  ASSERT_OK_AND_ASSIGN(const AttentionGradientSizes s, AttentionGradientSizes::Of(in, true, true, true));
  EXPECT_EQ(s.dq, TensorShape({3, 1, 4}));
  EXPECT_EQ(s.dk, TensorShape({3, 7, 4}));
  EXPECT_EQ(s.dv, TensorShape({2, 3, 7, 6}));
  EXPECT_THAT(s.batch, ElementsAre(1, 3));
  EXPECT_EQ(s.queries, 1);
  EXPECT_EQ(s.num_items(), 3);
  EXPECT_THAT(s.ItemsOf(1), ElementsAre(1, 4));
}

TEST(AttentionGradientSizes, OrNot) {
  const auto in = GradientInputs({3, 5, 4}, {7, 4}, {2, 1, 7, 6}, {5, 7});
  ASSERT_OK_AND_ASSIGN(const AttentionGradientSizes s, AttentionGradientSizes::Of(in, true, false, false));
  EXPECT_EQ(s.dq, TensorShape({2, 3, 5, 4}));
  EXPECT_THAT(s.batch, ElementsAre(2, 3));
  EXPECT_THAT(s.ItemsOf(4), ElementsAre(4));
}

TEST(AttentionGradientSizes, RefusesWhatDoesNotFit) {
  auto in = GradientInputs({3, 1, 4}, {7, 4}, {7, 6}, {5, 7});
  EXPECT_THAT(AttentionGradientSizes::Of(in, true, false, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not summed up")));
  in.sum = TensorShape({3, 1});
  EXPECT_THAT(AttentionGradientSizes::Of(in, true, true, true),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("statistics of shape")));
}

}  // namespace
}  // namespace weir
