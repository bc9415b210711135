// Rules that the shape functions of sparse and ragged ops share.
#pragma once

#include <initializer_list>

#include "kernels/device/op_shapes.h"

namespace weir::sparse_shapes {

// The first inputs have these ranks; -1: any.
inline absl::Status WithRanks(InferenceContext& c, std::initializer_list<int> ranks) {
  int i = 0;
  for (int rank : ranks) {
    if (rank >= 0) RETURN_IF_ERROR(c.WithRank(c.input(i), rank).status());
    ++i;
  }
  return absl::OkStatus();
}

// Outputs i, i + 1 and i + 2 are a sparse tensor's indices, values and shape.
inline void SetSparse(InferenceContext& c, int i, int64_t rank, int64_t entries = op_shapes::kUnknown) {
  c.set_output(i, c.Matrix(entries, rank));
  c.set_output(i + 1, c.Vector(entries));
  c.set_output(i + 2, c.Vector(rank));
}

// SparseFillEmptyRowsGrad and RaggedFillEmptyRowsGrad.
inline absl::Status FillEmptyRowsGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {1, 1}));
  c.set_output(0, c.input(0));
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

}  // namespace weir::sparse_shapes
