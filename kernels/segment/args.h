// Argument checks of segment ops for all devices: which rows go into which segment.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "core/kernel/op_kernel.h"

namespace weir {

// Row sources[i] of data goes into segment ids[i]; a row with a negative id is skipped.
struct SegmentPlan {
  DimVector ids, sources;
  int64_t segments = 0;
};

// One more than the last id. InvalidArgument if an id is negative, smaller than the one before, or too large to count.
absl::StatusOr<int64_t> CountSortedSegments(absl::Span<const int64_t> ids);

// SparseSegment*: data, and in host memory indices, segment_ids [, num_segments].
absl::StatusOr<SegmentPlan> ReadSparseSegments(OpKernelContext& ctx);

// SparseSegment*Grad: row ids[i] of the gradient, which belongs to counts[ids[i]] rows, goes to row places[i].
struct SparseSegmentGradient {
  DimVector ids, places;
  absl::flat_hash_map<int64_t, int64_t> counts;  // of the ids that occur: rows without width cost nothing to send
  int64_t rows = 0;
  DimVector occurring;  // version 2: the indices of its rows, ascending
};
// grad, and in host memory indices, segment_ids, output_dim0. `compact`: version 2, which gives only rows that occur.
absl::StatusOr<SparseSegmentGradient> ReadSparseSegmentGradient(OpKernelContext& ctx, bool compact);

}  // namespace weir
