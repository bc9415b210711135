#include "kernels/device/target_clones.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

WEIR_TARGET_CLONES void AddScaled(const float* x, float scale, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

template <typename T>
WEIR_TARGET_CLONES T Sum(const T* x, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// Lengths that leave every remainder after vectors of 4, 8 and 16 elements; values that floats hold exactly.
TEST(TargetClonesTest, LoopsGiveTheSameAsElementByElement) {
  for (int64_t n = 0; n < 70; ++n) {
    std::vector<float> x(n), y(n, 1.0f), expected(n, 1.0f);
    std::iota(x.begin(), x.end(), -20.0f);
    for (int64_t i = 0; i < n; ++i) expected[i] += 2.0f * x[i];
    AddScaled(x.data(), 2.0f, y.data(), n);
    EXPECT_EQ(y, expected) << "n = " << n;
  }
}

TEST(TargetClonesTest, WorksOnTemplates) {
  std::vector<int64_t> x(1000);
  std::iota(x.begin(), x.end(), 1);
  EXPECT_EQ(Sum(x.data(), 1000), 500500);
  const std::vector<float> ones(37, 1.0f);
  EXPECT_EQ(Sum(ones.data(), 37), 37.0f);
}

}  // namespace
}  // namespace weir
