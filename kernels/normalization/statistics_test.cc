#include <cmath>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using NormalizationStatisticsTest = KernelInputsTest;

TEST_F(NormalizationStatisticsTest, LocalResponsesOfWideRows) {
  const int64_t n = 41;
  const Tensor x = Floats({1, 2, 3, n}, -2, 2);
  for (const float beta : {0.5f, 1.0f, 0.3f}) {
    for (const int64_t radius : {int64_t{0}, int64_t{3}, int64_t{1} << 40}) {
      const Attrs attrs = Attrs().Set("depth_radius", radius).Set("bias", 0.5f).Set("alpha", 0.7f).Set("beta", beta);
      ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("LRN", {x}, attrs));
      for (int64_t i = 0; i < x.NumElements(); ++i) {
        double sum = 0;
        for (int64_t j = i / n * n; j < i / n * n + n; ++j) {
          if (std::abs(i - j) <= radius) sum += std::pow(static_cast<double>(x.data<float>()[j]), 2);
        }
        const double expected = x.data<float>()[i] * std::pow(0.5 + 0.7 * sum, -beta);
        ASSERT_NEAR(out.data<float>()[i], expected, 2e-6 * std::abs(expected) + 1e-30) << beta << " " << radius;
      }
    }
  }
}

TEST_F(NormalizationStatisticsTest, StatisticsOfManyRows) {
  const int64_t rows = 10 * 13 * 7, channels = 37;
  Tensor x = Floats({10, 13, 7, channels});
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<float>()[i] += static_cast<float>(i % channels * 100);
  const Tensor ones = Floats({channels}, 1, 1), none(DT_FLOAT, TensorShape({0}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("FusedBatchNormV3", {x, ones, ones, none, none}));
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < rows; ++i) mean += x.data<float>()[i * channels + c] / static_cast<double>(rows);
    for (int64_t i = 0; i < rows; ++i) variance += std::pow(x.data<float>()[i * channels + c] - mean, 2);
    EXPECT_NEAR(out[1].data<float>()[c], mean, 1e-6 * std::abs(mean) + 1e-6);
    EXPECT_NEAR(out[2].data<float>()[c], variance / static_cast<double>(rows - 1), 1e-4) << c;
  }
}

}  // namespace
}  // namespace weir
