#include "kernels/device/kernel_cases_testing.h"

namespace weir {
namespace {

class RankingTest : public KernelCasesTest {};

TEST_F(RankingTest, LargestElements) {
  const Attrs reverse = Attrs().Set("reverse", true);
  ExpectOutputs({
      {"TopKV2", {V({1, 3, 3, 2}), AsScalar<int32_t>(3)}, {V({3, 3, 2}), Ints({1, 2, 3})}},
      {"TopKV2",
       {M({1, 3, 5, 2}, {2, 2}), AsScalar<int64_t>(1)},
       {M({3, 5}, {2, 1}), AsTensor<int64_t>({1, 0}, {2, 1})},
       Attrs().Set("index_type", DT_INT64)},
      {"TopKV2", {V({1, 3}), AsScalar<int16_t>(0)}, {Tensor(DT_FLOAT, {0}), Tensor(DT_INT32, {0})}},
      {"TopK", {V({1, 3, 2})}, {V({3, 2}), Ints({1, 2})}, Attrs().Set("k", 2)},
      {"TopKV2", {V({kNaN, 1, kNaN, 3}), AsScalar<int32_t>(4)}, {V({kNaN, kNaN, 3, 1}), Ints({0, 2, 3, 1})}},
      {"InTopKV2",
       {M({1, 3, 3, 2, 1, kNaN, 0, 0, 1, kInf, 0, 0, 0, 1, 2, 3}, {4, 4}), Ints({2, 1, 0, 9}), AsScalar<int32_t>(2)},
       {AsTensor<bool>({true, false, false, false})}},
      {"InTopK", {M({1, 2}, {1, 2}), Ints({0})}, {AsTensor<bool>({false})}, Attrs().Set("k", 1)},
      {"NthElement", {M({1, 3, 2, 5, 4, 6}, {2, 3}), AsScalar<int32_t>(1)}, {V({2, 5})}},
      {"NthElement", {M({1, 3, 2, 5, 4, 6}, {2, 3}), AsScalar<int32_t>(0)}, {V({3, 6})}, reverse},
  });
  ExpectErrors({
      {"TopKV2", {V({1, 3}), AsScalar<int32_t>(3)}, "input must have at least k columns. Had 2, needed 3"},
      {"TopKV2", {V({1, 3}), AsScalar<int32_t>(-3)}, "Need k >= 0, got -3"},
      {"TopKV2", {V({1, 3}), Ints({1})}, "k must be scalar, got shape [1]"},
      {"TopKV2", {AsScalar<float>(1), AsScalar<int32_t>(1)}, "input must be >= 1-D, got shape []"},
      {"InTopKV2",
       {M({1, 3}, {1, 2}), Ints({1, 1}), AsScalar<int32_t>(2)},
       "First dimension of predictions 1 must match length of targets 2"},
      {"NthElement", {M({1, 3}, {1, 2}), AsScalar<int32_t>(5)}, "Input must have last dimension > n = 5"},
      {"NthElement", {AsScalar<float>(1), AsScalar<int32_t>(0)}, "Input must be at least rank 1 but is rank 0"},
  });
}

}  // namespace
}  // namespace weir
