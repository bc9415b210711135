#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> IndexingGradientCases() {
  const OpArgument points = IntRows({0, 1, 2, 0, 0, 1}, 3);  // (0, 1) twice
  const OpArgument distinct = IntRows({0, 1, 2, 0}, 2);
  return {
      {"Gather", {X({4, 2}), Ints({1, 3, 1})}},
      {"GatherV2", {X({4, 2}), Ints({1, 3, 1}), Int(0)}},
      Twice({"GatherV2", {X({4, 2}), IntRows({1, 3, 1, 0}, 2), Int(0)}}),
      {"GatherV2", {X({2, 4, 3}), Ints({1, 3, 1}), Int(1)}},
      {"GatherV2", {X({2, 4}), IntRows({1, 3, 1, 0}, 2), Int(-1)}},
      Twice(
          {"GatherV2", {X({2, 4, 2}), IntRows({1, 3, 1, 0, 2, 2}, 2), Int(1)}, Attrs().Set("batch_dims", int64_t{1})}),
      {"GatherV2", {X({2, 2, 4}), IntRows({1, 3, 1, 0}, 2), Int(2)}, Attrs().Set("batch_dims", int64_t{1})},
      Twice({"GatherNd", {X({3, 2}), points}}),
      {"GatherNd", {X({3, 2}), IntRows({2, 0, 2}, 3)}},
      Twice({"ScatterNd", {points, X({3}), Ints({3, 2})}}),
      {"ScatterNdNonAliasingAdd", {X({3, 2}), points, X({3})}},
      Twice({"TensorScatterAdd", {X({3, 2}), points, X({3})}}),
      {"TensorScatterSub", {X({3, 2}), points, X({3})}},
      {"TensorScatterUpdate", {X({3, 2}), distinct, X({2})}},
      {"TensorScatterMax", {X({3, 2}), points, X({3}, -1.7, 1.6)}},
      {"TensorScatterMin", {X({3, 2}), points, X({3}, -1.7, 1.6)}},
      {"DynamicStitch", {List({Ints({0, 2}), Ints({1})}), List({X({2, 2}), X({1, 2})})}},
      {"ParallelDynamicStitch", {List({Ints({0, 2}), Ints({1})}), List({X({2, 2}), X({1, 2})})}},
      {"DynamicPartition", {X({4, 2}), Ints({1, 0, 2, 1})}, Attrs().Set("num_partitions", int64_t{3})},
  };
}

namespace {

TEST(IndexingGradients, AgreeWithNumericOnes) { CheckCases(IndexingGradientCases()); }

}  // namespace
}  // namespace weir
