// Rules that the shape functions of image ops share.
#pragma once

#include <utility>

#include "kernels/device/op_shapes.h"

namespace weir::image_shapes {

// The rows and columns in input i, a vector of two elements; unknown unless it is a constant.
inline absl::StatusOr<std::pair<int64_t, int64_t>> SizeInput(InferenceContext& c, int i) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(i), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(shape, 0), 2).status());
  const auto values = op_shapes::ConstantVector(c, i);
  if (!values || values->size() != 2) return std::pair{op_shapes::kUnknown, op_shapes::kUnknown};
  if (values->front() < 0 || values->back() < 0) return errors::InvalidArgument("Dimension size must be non-negative");
  return std::pair{values->front(), values->back()};
}

// Images [batch, rows, columns, channels] become as large as input 1 says.
inline absl::Status ResizeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(const auto size, SizeInput(c, 1));
  c.set_output(0, c.Of({c.Dim(image, 0), size.first, size.second, c.Dim(image, 3)}));
  return absl::OkStatus();
}

// The number of boxes in input `boxes`, [boxes, 4], as many as elements of the vector `other`.
inline absl::StatusOr<int64_t> BoxCount(InferenceContext& c, int boxes, int other) {
  ASSIGN_OR_RETURN(PartialTensorShape corners, c.WithRank(c.input(boxes), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(corners, 1), 4).status());
  ASSIGN_OR_RETURN(PartialTensorShape vector, c.WithRank(c.input(other), 1));
  return c.MergeDim(c.Dim(corners, 0), c.Dim(vector, 0));
}

}  // namespace weir::image_shapes
