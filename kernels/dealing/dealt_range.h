// A dealt range as a tensor: how it goes from the dealer to a worker and back.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"
#include "kernels/dealing/input_dealer.h"

namespace weir {

// epoch, chunk, part, begin, count, end, lease
inline constexpr int64_t kDealtRangeSize = 7;

inline Tensor ToTensor(const DealtRange& range) {
  return Tensor::Vector<int64_t>(
      {range.epoch, range.chunk, range.part, range.begin, range.count, range.end, range.lease});
}

// InvalidArgument unless it is an int64 vector of seven.
inline absl::StatusOr<DealtRange> DealtRangeFrom(const Tensor& tensor) {
  if (tensor.dtype() != DT_INT64 || tensor.dims() != 1 || tensor.NumElements() != kDealtRangeSize) {
    return errors::InvalidArgument("A dealt range is an int64 vector of ", kDealtRangeSize, ", not ",
                                   tensor.DebugString());
  }
  const int64_t* const v = tensor.data<int64_t>();
  return DealtRange{v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
}

}  // namespace weir
