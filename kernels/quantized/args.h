// The arguments of QuantizeAndDequantize and its gradient, on whatever device: checked in TensorFlow's words.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// A tensor seen as [outer, axis, inner], with a range for each index of the axis; without an axis (-1) as one slice.
struct QuantizedSlices {
  static absl::StatusOr<QuantizedSlices> Of(const TensorShape& shape, int64_t axis);
  // fn(element) for those of one slice.
  template <typename Fn>
  void Each(int64_t slice, Fn fn) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) fn((o * axis + slice) * inner + i);
    }
  }
  int64_t outer = 1, axis = 1, inner = 1;
};

// `range`, input_min or input_max: a scalar, or one for each slice.
absl::Status CheckQuantizedRange(const Tensor& range, const QuantizedSlices& slices, bool per_slice, const char* name);

// Of all versions of QuantizeAndDequantize.
struct QuantizeAttrs {
  absl::Status Read(OpKernelConstruction& ctx);
  // The attribute num_bits, or input 3, which lies in host memory.
  absl::StatusOr<int64_t> Bits(const OpKernelContext& ctx) const;

  bool is_signed = true, range_given = false, narrow = false, half_up = false;
  int64_t axis = -1;

 private:
  absl::Status CheckBits(int64_t bits) const;
  int64_t bits_ = 8;
};

// What the gradient's kernel takes: the gradient, the input, and its range.
absl::StatusOr<QuantizedSlices> CheckQuantizeGrad(const OpKernelContext& ctx, int64_t axis);

}  // namespace weir
