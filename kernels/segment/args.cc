#include "kernels/segment/args.h"

#include <algorithm>
#include <limits>

#include "core/tensor/index_tensor.h"

namespace weir {
namespace {

absl::Status CheckSparse(OpKernelContext& ctx) {
  if (ctx.input(0).dims() < 1) return errors::InvalidArgument("input must be at least rank 1");
  if (ctx.input(1).dims() != 1) return errors::InvalidArgument("indices should be a vector.");
  if (ctx.input(2).dims() != 1) return errors::InvalidArgument("segment_ids should be a vector.");
  if (ctx.input(1).NumElements() != ctx.input(2).NumElements()) {
    return errors::InvalidArgument("segment_ids and indices should have same size.");
  }
  return absl::OkStatus();
}

// Replaces each index by its place among those that occur; returns them, ascending.
DimVector MakeCompact(DimVector* indices) {
  DimVector unique = *indices;
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  for (int64_t& index : *indices) index = std::lower_bound(unique.begin(), unique.end(), index) - unique.begin();
  return unique;
}

}  // namespace

absl::StatusOr<int64_t> CountSortedSegments(absl::Span<const int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) return errors::InvalidArgument("segment ids must be >= 0");
    if (i > 0 && ids[i] < ids[i - 1]) return errors::InvalidArgument("segment ids are not increasing");
  }
  if (ids.empty()) return 0;
  if (ids.back() < std::numeric_limits<int64_t>::max()) return ids.back() + 1;
  return errors::InvalidArgument("segment id ", ids.back(), " is too large: there can be no more segments than that");
}

absl::StatusOr<SegmentPlan> ReadSparseSegments(OpKernelContext& ctx) {
  RETURN_IF_ERROR(CheckSparse(ctx));
  const int64_t rows = ctx.input(0).dim_size(0);
  SegmentPlan plan;
  ASSIGN_OR_RETURN(plan.sources, ReadIntegers(ctx.input(1)));
  ASSIGN_OR_RETURN(plan.ids, ReadIntegers(ctx.input(2)));
  const bool counted = ctx.num_inputs() > 3;
  int64_t count = 0;
  if (counted) {
    if (ctx.input(3).dims() != 0) {
      return errors::InvalidArgument("num_segments should be a scalar, not shape ", ctx.input(3).shape().ToString());
    }
    ASSIGN_OR_RETURN(count, ReadInteger(ctx.input(3), "num_segments"));
    if (count < 0) return errors::InvalidArgument("segment ids must be >= 0");
  }
  if (!plan.ids.empty() && plan.ids[0] < 0) {
    const int64_t last = std::min(plan.ids.back(), std::numeric_limits<int64_t>::max() - 1);
    return errors::InvalidArgument("Segment id ", plan.ids[0], " out of range [0, ", counted ? count : last + 1,
                                   "), possibly because 'segment_ids' input is not sorted.");
  }
  ASSIGN_OR_RETURN(plan.segments, CountSortedSegments(plan.ids));
  if (counted) {
    if (count < plan.segments) return errors::InvalidArgument("segment ids must be < num_segments");
    plan.segments = count;
  }
  for (size_t i = 0; i < plan.sources.size(); ++i) {
    if (plan.sources[i] < 0 || plan.sources[i] >= rows) {
      return errors::InvalidArgument("Bad: indices[", i, "] == ", plan.sources[i], " out of range [0, ", rows, ")");
    }
  }
  return plan;
}

absl::StatusOr<SparseSegmentGradient> ReadSparseSegmentGradient(OpKernelContext& ctx, bool compact) {
  RETURN_IF_ERROR(CheckSparse(ctx));
  if (ctx.input(3).dims() != 0) return errors::InvalidArgument("output_dim0 should be a scalar.");
  SparseSegmentGradient plan;
  ASSIGN_OR_RETURN(plan.rows, ReadInteger(ctx.input(3), "output_dim0"));
  if (plan.rows < 0) return errors::InvalidArgument("output_dim0 must not be negative: ", plan.rows);
  if (!compact && plan.rows == 0) return plan;  // whatever the indices
  const int64_t segments = ctx.input(0).dim_size(0);
  ASSIGN_OR_RETURN(plan.places, ReadIntegers(ctx.input(1)));
  ASSIGN_OR_RETURN(plan.ids, ReadIntegers(ctx.input(2)));
  if (!plan.ids.empty() && plan.ids.back() >= segments) {
    return errors::InvalidArgument("Invalid number of segments: segment id ", plan.ids.back(), " with ", segments,
                                   " rows of gradients");
  }
  for (size_t i = 0; i < plan.ids.size(); ++i) {
    if (plan.ids[i] < 0 || plan.ids[i] >= segments) {
      return errors::InvalidArgument("Segment id ", plan.ids[i], " out of range [0, ", segments, ").");
    }
    if (plan.places[i] < 0 || plan.places[i] >= plan.rows) {
      return errors::InvalidArgument("Index ", plan.places[i], " out of range [0, ", plan.rows, ").");
    }
    ++plan.counts[plan.ids[i]];
  }
  if (!compact) return plan;
  plan.occurring = MakeCompact(&plan.places);
  plan.rows = static_cast<int64_t>(plan.occurring.size());
  return plan;
}

}  // namespace weir
