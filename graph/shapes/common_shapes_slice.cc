// Strided slices: the masks of Python's x[a:b:c, ..., None, i].
#include <algorithm>

#include "graph/shapes/common_shapes.h"

namespace weir::shapes {
namespace {

struct Masks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
};

bool Has(int64_t mask, int64_t i) { return i < 64 && ((mask >> i) & 1) != 0; }

absl::StatusOr<Masks> ReadMasks(const InferenceContext& c) {
  Masks masks;
  RETURN_IF_ERROR(c.GetAttr("begin_mask", &masks.begin));
  RETURN_IF_ERROR(c.GetAttr("end_mask", &masks.end));
  RETURN_IF_ERROR(c.GetAttr("ellipsis_mask", &masks.ellipsis));
  RETURN_IF_ERROR(c.GetAttr("new_axis_mask", &masks.new_axis));
  RETURN_IF_ERROR(c.GetAttr("shrink_axis_mask", &masks.shrink_axis));
  if ((masks.ellipsis & (masks.ellipsis - 1)) != 0) {
    return errors::InvalidArgument("Multiple ellipses in slice spec not allowed");
  }
  return masks;
}

// One bound of a slice over `size` elements, clamped to the valid range for the direction.
int64_t Clamp(int64_t bound, int64_t size, bool forward) {
  const int64_t low = forward ? 0 : -1, high = forward ? size : size - 1;
  return std::clamp(bound < 0 ? bound + size : bound, low, high);
}

int64_t CountSteps(int64_t begin, int64_t end, int64_t stride) {
  const int64_t distance = end - begin;
  if (distance == 0 || (distance < 0) != (stride < 0)) return 0;
  return distance / stride + (distance % stride != 0 ? 1 : 0);
}

using Integers = std::optional<std::vector<int64_t>>;

// The size of one sliced dimension; -1 if it is unknown.
int64_t Extent(int64_t size, int64_t i, const Masks& masks, const Integers& begin, const Integers& end,
               const Integers& strides) {
  const bool begin_known = begin.has_value() || Has(masks.begin, i), end_known = end.has_value() || Has(masks.end, i);
  if (size < 0 || !strides.has_value() || !begin_known || !end_known) return -1;
  const int64_t stride = (*strides)[i];
  const bool forward = stride > 0;
  const int64_t first = Has(masks.begin, i) ? (forward ? 0 : size - 1) : Clamp((*begin)[i], size, forward);
  const int64_t last = Has(masks.end, i) ? (forward ? size : -1) : Clamp((*end)[i], size, forward);
  return CountSteps(first, last, stride);
}

absl::Status CheckIndex(int64_t size, int64_t i, int dim, const Integers& begin, const Integers& strides) {
  if (strides.has_value() && (*strides)[i] <= 0) {
    return errors::InvalidArgument("only stride 1 allowed on non-range indexing.");
  }
  if (size < 0 || !begin.has_value()) return absl::OkStatus();
  if ((*begin)[i] >= -size && (*begin)[i] < size) return absl::OkStatus();
  return errors::InvalidArgument("slice index ", (*begin)[i], " of dimension ", dim, " out of bounds.");
}

}  // namespace

absl::Status StridedSlice(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(Masks masks, ReadMasks(c));
  int64_t entries = -1;
  for (int i : {1, 2, 3}) {
    ASSIGN_OR_RETURN(PartialTensorShape spec, c.WithRank(c.input(i), 1));
    ASSIGN_OR_RETURN(entries, c.MergeDim(entries, spec.dim_size(0)));
  }
  if (entries < 0 || in.unknown_rank()) return absl::OkStatus();
  if (entries > kMaxRank) return errors::InvalidArgument("A slice of ", entries, " dimensions is too deep");
  const Integers begin = c.InputAsIntegers(1), end = c.InputAsIntegers(2), strides = c.InputAsIntegers(3);
  for (int64_t i = 0; strides.has_value() && i < entries; ++i) {
    if ((*strides)[i] == 0) return errors::InvalidArgument("strides[", i, "] must be non-zero");
  }
  int consumed_after = 0;  // input dimensions that entries from here on consume, not counting an ellipsis
  for (int64_t i = 0; i < entries; ++i) consumed_after += !Has(masks.ellipsis, i) && !Has(masks.new_axis, i);
  DimVector dims;
  int dim = 0;
  for (int64_t i = 0; i < entries; ++i) {
    if (Has(masks.ellipsis, i)) {
      for (; dim < in.dims() - consumed_after; ++dim) dims.push_back(in.dim_size(dim));
      continue;
    }
    if (Has(masks.new_axis, i)) {
      dims.push_back(1);
      continue;
    }
    if (dim >= in.dims()) {
      return errors::InvalidArgument("Index out of range using input dim ", dim, "; input has only ", in.dims(),
                                     " dims");
    }
    if (Has(masks.shrink_axis, i)) {
      RETURN_IF_ERROR(CheckIndex(in.dim_size(dim), i, dim, begin, strides));
    } else {
      dims.push_back(Extent(in.dim_size(dim), i, masks, begin, end, strides));
    }
    ++dim;
    --consumed_after;
  }
  for (; dim < in.dims(); ++dim) dims.push_back(in.dim_size(dim));
  ASSIGN_OR_RETURN(PartialTensorShape out, PartialTensorShape::Build(dims));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status StridedSliceGrad(InferenceContext& c) { return FromShapeInput(c); }

}  // namespace weir::shapes
