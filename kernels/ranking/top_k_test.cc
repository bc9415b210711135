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

}  // namespace
}  // namespace weir
