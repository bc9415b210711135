// A fixture for tests that list an op's inputs beside its expected outputs.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {

class KernelCasesTest : public OpTest {
 protected:
  static constexpr float kInf = std::numeric_limits<float>::infinity();
  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

  struct Case {
    std::string op;
    std::vector<TestInput> inputs;
    std::vector<Tensor> expected;
    Attrs attrs = {};
  };
  void ExpectOutputs(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      absl::StatusOr<std::vector<Tensor>> out = RunOp(c.op, c.inputs, c.attrs);
      ASSERT_THAT(out, IsOk()) << c.op;
      for (size_t i = 0; i < c.expected.size(); ++i) {
        ExpectTensorNear((*out)[i], c.expected[i], 1e-5, 1e-5, absl::StrCat(c.op, " output ", i));
      }
    }
  }
  static Tensor V(std::vector<float> values) { return AsTensor<float>(std::move(values)); }
  static Tensor M(std::vector<float> values, const TensorShape& shape) {
    return AsTensor<float>(std::move(values), shape);
  }

  // 0, 1, 2 …
  static Tensor Counting(const TensorShape& shape) {
    Tensor tensor(DT_FLOAT, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
    return tensor;
  }
  // Small whole numbers without a pattern: sums of products are exact in float and even in 16 bits.
  template <typename T>
  static Tensor Scrambled(const TensorShape& shape, uint32_t seed) {
    Tensor tensor(DataTypeOf<T>(), shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      seed = seed * 1664525 + 1013904223;
      tensor.data<T>()[i] = static_cast<T>(static_cast<float>(static_cast<int>(seed >> 24) % 5 - 2));
    }
    return tensor;
  }
  template <typename T>
  static Tensor ToFloat(const Tensor& tensor) {
    Tensor result(DT_FLOAT, tensor.shape());
    for (int64_t i = 0; i < tensor.NumElements(); ++i)
      result.data<float>()[i] = static_cast<float>(tensor.data<T>()[i]);
    return result;
  }
  // From NHWC to NCHW.
  template <typename T>
  static Tensor ToChannelsFirst(const Tensor& in) {
    const int64_t n = in.dim_size(0), h = in.dim_size(1), w = in.dim_size(2), c = in.dim_size(3);
    Tensor out(in.dtype(), {n, c, h, w});
    for (int64_t b = 0; b < n; ++b) {
      for (int64_t p = 0; p < h * w; ++p) {
        for (int64_t k = 0; k < c; ++k) out.data<T>()[(b * c + k) * h * w + p] = in.data<T>()[(b * h * w + p) * c + k];
      }
    }
    return out;
  }
};

}  // namespace weir
