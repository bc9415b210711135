// Arguments that host code and device code share: kernels that copy elements by size, whatever their type. For host
// compilers and for nvcc.
#pragma once

#include "kernels/array/moving/padded_dim.h"
#include "kernels/device/gpu/bodies.h"

namespace weir {

// out[offset + where `layout` finds i] = in[i]; elements of the size that the kernel is for.
struct StridedStoreArgs {
  const void* in;
  void* out;
  int64_t offset;
  StridedLayout from, to;
  int64_t count;
};
struct PadArgs {
  const void* in;
  void* out;
  PlainValue value;
  int rank;
  PaddedDim dims[kMaxBodyRank];
  int64_t steps[kMaxBodyRank];  // of the input
  int64_t count;
};
// out[i] = condition ? x : y, each found by its layout.
struct SelectArgs {
  const void* condition;
  const void* x;
  const void* y;
  void* out;
  StridedLayout condition_at, x_at, y_at;
  int64_t count;
};
// out[outer, d, inner] = indices[outer, inner] == d ? *on : *off
struct OneHotArgs {
  const void* indices;
  bool wide_indices;
  const void* on;
  const void* off;
  void* out;
  int64_t depth, inner;
  int64_t count;
};
// Rows of `width` elements: row j goes to row to[j]; it is dropped if that is negative.
struct SendRowsArgs {
  const void* in;
  const int64_t* to;
  void* out;
  int64_t width;
  int64_t count;
};
// Concatenates parts of `width` elements each.
inline constexpr int kMaxJoinedParts = 120;
struct JoinArgs {
  const void* parts[kMaxJoinedParts];
  void* out;
  int64_t width;
  int64_t count;
};
// Slices of `width` elements that `depth` coordinates name: out[n] = in[coordinates of n]; zeros where one is out of
// range.
struct GatherNdArgs {
  const void* in;
  const void* indices;
  bool wide_indices;
  void* out;
  int depth;
  int64_t sizes[kMaxBodyRank];  // of the dimensions that are indexed
  int64_t width;
  int64_t count;
};

}  // namespace weir
