// Functions that kernels with bodies (bodies.h) share.
#pragma once

#include <optional>
#include <string>

#include "core/gpu/gpu_op_kernel.h"
#include "kernels/device/gpu/bodies.h"

namespace weir {

// The body `name` for `type`, and for casts the result's; UNIMPLEMENTED where there is none.
absl::StatusOr<GpuKernel> FindBody(const std::string& name, DataType type, DataType other = DT_INVALID);
// The body `name` that moves elements of `type`, which is plain.
absl::StatusOr<GpuKernel> FindMove(const std::string& name, DataType type);

// A scalar in host memory, and a number of `type`: `real`, or `integer` where the type is an integer's or bool.
PlainValue ValueOf(const Tensor& scalar);
PlainValue ValueOf(DataType type, double real, int64_t integer);

// Dimension `axis`, which may count from the end, of a shape of `rank`; nullopt where it is out of range.
std::optional<int> AxisOf(int64_t axis, int rank);
// Elements before, and behind, dimension `axis`.
int64_t CountBefore(const TensorShape& shape, int axis);
int64_t CountBehind(const TensorShape& shape, int axis);

// Dimensions with their steps: those of one element are left out, and contiguous ones are joined.
// UNIMPLEMENTED beyond kMaxBodyRank.
absl::StatusOr<StridedLayout> LayoutOf(absl::Span<const int64_t> sizes, absl::Span<const int64_t> steps);

// UNIMPLEMENTED where attribute bad_indices_policy asks for errors: indices on the device the host does not see.
absl::Status CheckBadIndicesPolicy(OpKernelConstruction& ctx);

inline constexpr DataType kGpuFloats[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
inline constexpr DataType kGpuMultiplied[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_COMPLEX64, DT_COMPLEX128};
// What the bodies that move elements are registered for: all but int32, which lies in host memory as in TensorFlow.
inline constexpr DataType kGpuMoved[] = {DT_FLOAT,  DT_DOUBLE, DT_HALF,      DT_BFLOAT16,  DT_INT64,
                                         DT_BOOL,   DT_INT8,   DT_UINT8,     DT_INT16,     DT_UINT16,
                                         DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128};

}  // namespace weir
