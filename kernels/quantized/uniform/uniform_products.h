// Shared by products and convolutions of affinely quantised tensors. Their inputs: lhs and rhs, then scales and zero
// points of lhs, of rhs and of the output.
#pragma once

#include <vector>

#include "kernels/quantized/uniform/uniform_quantized.h"

namespace weir {

inline int8_t* Bytes(const Tensor& tensor) { return static_cast<int8_t*>(tensor.raw_data()); }

// For arithmetic modulo 2^32.
inline uint32_t FromZero(int8_t x, int32_t zero_point) {
  return static_cast<uint32_t>(WrappedDifference(int32_t{x}, zero_point));
}

// That attribute lhs_quantization_axis names none, and that its parameters are scalars.
absl::Status CheckWholeLhs(OpKernelConstruction& ctx);
absl::Status CheckLhsParams(const OpKernelContext& ctx);
// That all scales are positive.
absl::Status CheckAllScales(const OpKernelContext& ctx);

// Takes sums of products to the output's scale.
class ProductScaling {
 public:
  // InvalidArgument where a ratio of scales is not finite.
  static absl::StatusOr<ProductScaling> Of(const OpKernelContext& ctx, int64_t channels, QuantizedBounds bounds);

  int32_t operator()(int64_t channel, int32_t sum) const {
    return bounds_.Clamp(WrappedSum(factors_[factors_.size() > 1 ? channel : 0](sum), output_.zero_point(channel)));
  }

 private:
  ProductScaling(const OpKernelContext& ctx, QuantizedBounds bounds)
      : output_(ctx.input(6), ctx.input(7)), bounds_(bounds) {}

  std::vector<FixedPointFactor> factors_;
  QuantizationParams output_;
  QuantizedBounds bounds_;
};

}  // namespace weir
