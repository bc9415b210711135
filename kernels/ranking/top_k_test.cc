#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using TopKTest = KernelInputsTest;

TEST_F(TopKTest, LargestOfRowsWithTies) {
  const int64_t n = 517;
  Tensor x = Floats({3, n});
  for (float& v : x.flat<float>()) v = std::round(v * 20);  // ties, and zeros of both signs
  x.data<float>()[40] = kNaN;
  x.data<float>()[41] = -kInfinity;
  x.data<float>()[400] = kNaN;
  for (int32_t k : {2, 32, 33, 517}) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("TopKV2", {x, AsScalar<int32_t>(k)}));
    for (int64_t row = 0; row < 3; ++row) {
      const float* const v = x.data<float>() + row * n;
      std::vector<int32_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [v](int32_t a, int32_t b) { return v[a] > v[b] || (std::isnan(v[a]) && !std::isnan(v[b])); });
      order.resize(k);
      const int32_t* const indices = out[1].data<int32_t>() + row * k;
      ASSERT_EQ(std::vector<int32_t>(indices, indices + k), order) << k;
    }
  }
}

TEST_F(TopKTest, ApproxTopKReturnsWhatRemainsToBeAggregated) {
  const auto attrs = [](int64_t k, float recall, int64_t whole, bool max = true) {
    return Attrs()
        .Set("k", k)
        .Set("recall_target", recall)
        .Set("reduction_input_size_override", whole)
        .Set("aggregate_to_topk", false)
        .Set("is_max_k", max);
  };
  // Sizes are those of TensorFlow's XLA.
  const struct {
    int64_t n, k;
    float recall;
    int64_t whole, size;
  } cases[] = {{8, 3, 0.95f, -1, 8},       {8, 3, 0.95f, 2, 8},           {2000, 3, 0.95f, -1, 2000},
               {20000, 3, 0.5f, -1, 2048}, {3000, 5, 0.5f, 100000, 2048}, {100000, 100, 0.8f, -1, 2048},
               {5000, 1, 0.1f, -1, 1024},  {20000, 3, 1, -1, 20000}};
  for (const auto& c : cases) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("ApproxTopK", {Floats({c.n})}, attrs(c.k, c.recall, c.whole)));
    EXPECT_EQ(out[0].shape(), TensorShape({c.size}));
    EXPECT_EQ(out[1].shape(), TensorShape({c.size}));
  }
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                       RunOp("ApproxTopK", {AsTensor<float>({3, 1, 2}, {1, 3})}, attrs(1, 0.9f, -1, false)));
  ExpectTensorEqual(out[0], AsTensor<float>({1, 2, 3}, {1, 3}));
  ExpectTensorEqual(out[1], AsTensor<int32_t>({1, 2, 0}, {1, 3}));
  EXPECT_THAT(
      RunOp("ApproxTopK", {Floats({2000})}, attrs(3, 0.9f, 1999)),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("reduction_input_size_override: 1999")));
}

}  // namespace
}  // namespace weir
