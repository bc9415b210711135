#include "kernels/array/slicing/strided_slice_spec.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int kNewAxis = -2;
constexpr int kDroppedAxis = -1;

// One index per input dimension.
struct DenseIndex {
  int64_t begin = 0, end = 0, stride = 1;
  bool from_start = true, to_end = true, single = false;
};

bool Bit(int32_t mask, int i) { return i < 32 && ((static_cast<uint32_t>(mask) >> i) & 1) != 0; }

// The element counts of one dimension, narrowing `index` to within it; -1 where unknown.
absl::StatusOr<int64_t> Narrow(int dimension, int64_t dim, bool known, DenseIndex& index) {
  if (index.stride == 0) return errors::InvalidArgument("strides[", dimension, "] must be non-zero");
  if (dim < 0) return index.single ? 1 : -1;
  if (index.single && index.stride <= 0) {
    return errors::InvalidArgument("only stride 1 allowed on non-range indexing.");
  }
  const int64_t lowest = index.stride > 0 ? 0 : -1, highest = index.stride > 0 ? dim : dim - 1;
  const auto clamp = [&](int64_t x) { return std::clamp(x < 0 ? dim + x : x, lowest, highest); };
  const bool whole = index.from_start && index.to_end;
  if (index.single) {
    if (!known) return 1;
    const int64_t at = index.begin < 0 ? dim + index.begin : index.begin;
    if (at < 0 || at >= dim) {
      return errors::InvalidArgument("slice index ", at, " of dimension ", dimension, " out of bounds.");
    }
    index.begin = at;
    return 1;
  }
  if (!known && !whole) return -1;
  const int64_t first = index.stride > 0 ? lowest : highest, last = index.stride > 0 ? highest : lowest;
  index.begin = index.from_start ? first : clamp(index.begin);
  index.end = index.to_end ? last : clamp(index.end);
  const int64_t length = index.end - index.begin;
  if (length == 0 || (length < 0) != (index.stride < 0)) return 0;
  return length / index.stride + (length % index.stride != 0);
}

}  // namespace

absl::StatusOr<StridedSliceSpec> StridedSliceSpec::Of(const PartialTensorShape& input, const StridedSliceMasks& masks,
                                                      std::optional<absl::Span<const int64_t>> begin,
                                                      std::optional<absl::Span<const int64_t>> end,
                                                      absl::Span<const int64_t> strides) {
  const int count = static_cast<int>(strides.size());
  int added_after_ellipsis = 0, ellipsis = -1;
  for (int i = 0; i < count; ++i) {
    if (Bit(masks.ellipsis, i)) {
      if (ellipsis >= 0) return errors::InvalidArgument("Multiple ellipses in slice spec not allowed");
      ellipsis = i;
    } else if (ellipsis >= 0 && Bit(masks.new_axis, i)) {
      ++added_after_ellipsis;
    }
  }
  StridedSliceSpec spec;
  if (input.unknown_rank()) return spec;

  const int rank = input.dims();
  absl::InlinedVector<DenseIndex, 8> dense(rank);
  absl::InlinedVector<int, 8> axes;  // of the output: an input dimension, or one of the constants
  int at = 0;
  // An ellipsis stands at the end where none is written.
  for (int i = 0; i <= count; ++i) {
    if (i == ellipsis || (i == count && ellipsis < 0)) {
      const int next = i == count ? rank : std::min(rank - (count - i) + 1 + added_after_ellipsis, rank);
      for (; at < next; ++at) axes.push_back(at);
    } else if (i == count) {
      break;
    } else if (Bit(masks.new_axis, i)) {
      axes.push_back(kNewAxis);
    } else {
      if (rank == 0) return errors::InvalidArgument("Attempting to slice scalar input.");
      if (at >= rank) {
        return errors::InvalidArgument("Index out of range using input dim ", at, "; input has only ", rank, " dims");
      }
      DenseIndex& index = dense[at];
      if (begin) index.begin = (*begin)[i];
      if (end) index.end = (*end)[i];
      index.stride = strides[i];
      index.from_start = Bit(masks.begin, i);
      index.to_end = Bit(masks.end, i);
      index.single = Bit(masks.shrink_axis, i);
      axes.push_back(index.single ? kDroppedAxis : at);
      ++at;
    }
  }

  const bool known = begin.has_value() && end.has_value();
  for (int i = 0; i < rank; ++i) {
    ASSIGN_OR_RETURN(const int64_t size, Narrow(i, input.dim_size(i), known || i >= at, dense[i]));
    spec.begin.push_back(dense[i].begin);
    spec.stride.push_back(dense[i].stride);
    spec.size.push_back(size);
  }
  DimVector output;
  for (int axis : axes) {
    if (axis != kDroppedAxis) output.push_back(axis == kNewAxis ? 1 : spec.size[axis]);
  }
  ASSIGN_OR_RETURN(spec.output, PartialTensorShape::Build(output));
  return spec;
}

}  // namespace weir
