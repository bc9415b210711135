// Moving elements about without regard to what they mean: plain ones by their width, objects by assignment.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/types.h"
#include "core/tensor/variant.h"
#include "kernels/device/dense_steps.h"

namespace weir {

// Calls fn(T()) with the type that stands for elements of `type` when they are only moved. Every valid type has one.
template <typename Fn>
void VisitElementType(DataType type, Fn&& fn) {
  struct Sixteen {
    uint64_t low, high;
  };
  switch (type) {
    case DT_STRING:
      return fn(tstring());
    case DT_RESOURCE:
      return fn(ResourceHandle());
    case DT_VARIANT:
      return fn(Variant());
    default:
      break;
  }
  switch (DataTypeSize(type)) {
    case 1:
      return fn(uint8_t());
    case 2:
      return fn(uint16_t());
    case 4:
      return fn(uint32_t());
    case 8:
      return fn(uint64_t());
    default:
      return fn(Sixteen());
  }
}

// n elements of `type` from `src` to `dst`, which do not overlap.
void CopyElements(DataType type, void* dst, const void* src, int64_t n);
// The one element at `value`, n times.
void FillElements(DataType type, const void* value, void* dst, int64_t n);
// Zero, or an empty object.
void ZeroElements(DataType type, void* dst, int64_t n);

// Copies an array of the given sizes (outermost first; none negative) between two places of which the steps along each
// dimension, in elements, are given. A step of 0 in the source repeats, a negative one reverses. The device's threads
// share the work.
void StridedCopy(OpKernelContext& ctx, DataType type, absl::Span<const int64_t> sizes, const void* src,
                 absl::Span<const int64_t> src_steps, void* dst, absl::Span<const int64_t> dst_steps);

}  // namespace weir
