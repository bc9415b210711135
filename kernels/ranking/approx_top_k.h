// The number of elements that ApproxTopK returns, for its shape function and its kernels.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace weir {

// The attributes of an ApproxTopK that the size depends on.
struct ApproxTopKSize {
  template <typename Reader>  // has GetAttr(name, pointer)
  static absl::StatusOr<ApproxTopKSize> Read(const Reader& reader) {
    ApproxTopKSize size;
    RETURN_IF_ERROR(reader.GetAttr("k", &size.k));
    RETURN_IF_ERROR(reader.GetAttr("recall_target", &size.recall));
    RETURN_IF_ERROR(reader.GetAttr("reduction_input_size_override", &size.whole));
    RETURN_IF_ERROR(reader.GetAttr("aggregate_to_topk", &size.aggregate));
    return size;
  }

  // Of `n` elements along a dimension of a tensor of that rank: k, or, without aggregation, as many as accelerators
  // return to be aggregated. InvalidArgument if n is below k or above the attribute that overrides it.
  absl::StatusOr<int64_t> Of(int64_t n, int rank) const;

  int64_t k = 0, whole = -1;
  float recall = 0;
  bool aggregate = true;
};

}  // namespace weir
