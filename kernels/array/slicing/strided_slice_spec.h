// The meaning of StridedSlice's begin, end, strides and masks: shared by its shape function, its kernels and its
// gradient.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "core/status.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

struct StridedSliceMasks {
  int32_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
};

// What a slice selects: for each input dimension, `size[i]` elements from begin[i] in steps of stride[i].
struct StridedSliceSpec {
  DimVector begin, stride, size;  // size -1: unknown
  PartialTensorShape output;      // after axes have been added and dropped

  // `begin` and `end` are unknown where nullopt; all that are given have equal length. InvalidArgument for a zero
  // stride, more than one ellipsis, an index out of range, or more indices than dimensions.
  static absl::StatusOr<StridedSliceSpec> Of(const PartialTensorShape& input, const StridedSliceMasks& masks,
                                             std::optional<absl::Span<const int64_t>> begin,
                                             std::optional<absl::Span<const int64_t>> end,
                                             absl::Span<const int64_t> strides);
};

}  // namespace weir
