// A fixture for tests of kernels from any family, with inputs to run them on.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/op_testing.h"

namespace weir {

// Random inputs are the same in each run of a test.
class KernelInputsTest : public OpTest {
 protected:
  static constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

  // 0, 1, 2 …
  static Tensor Counting(const TensorShape& shape) {
    Tensor t(DT_INT32, shape);
    for (int64_t i = 0; i < t.NumElements(); ++i) t.data<int32_t>()[i] = static_cast<int32_t>(i);
    return t;
  }
  // Units in the last place between a result and the true value.
  static double Ulps(float actual, double expected) {
    const float rounded = static_cast<float>(expected);
    if (std::isnan(rounded)) return std::isnan(actual) ? 0 : 1e9;
    if (rounded == actual) return std::signbit(rounded) == std::signbit(actual) ? 0 : 1e9;
    const double unit = std::nextafter(std::abs(rounded), kInfinity) - std::abs(rounded);
    return std::abs(static_cast<double>(actual) - expected) / unit;
  }

  uint32_t Draw() { return seed_ = seed_ * 1664525 + 1013904223; }
  float Uniform(float least, float most) { return least + (most - least) * static_cast<float>(Draw() >> 8) * 0x1p-24f; }
  Tensor Floats(const TensorShape& shape, float least = -1, float most = 1) {
    Tensor tensor(DT_FLOAT, shape);
    for (float& x : tensor.flat<float>()) x = Uniform(least, most);
    return tensor;
  }
  Tensor Integers(int64_t n, uint32_t limit) {
    Tensor tensor(DT_INT32, TensorShape({n}));
    for (int32_t& x : tensor.flat<int32_t>()) x = static_cast<int32_t>((Draw() >> 8) % limit);
    return tensor;
  }

 private:
  uint32_t seed_ = 1;
};

}  // namespace weir
