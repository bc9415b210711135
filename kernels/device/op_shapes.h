// Small rules that the shape functions of several families need.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor_shape.h"
#include "graph/shapes/shape_inference.h"

namespace weir::op_shapes {

constexpr int64_t kUnknown = -1;

// Sets output i from dimensions, -1 where unknown.
inline absl::Status SetOutput(InferenceContext& c, int i, absl::Span<const int64_t> dims) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::Build(dims));
  c.set_output(i, std::move(shape));
  return absl::OkStatus();
}

inline DimVector Dims(const PartialTensorShape& shape) {
  return DimVector(shape.dim_sizes().begin(), shape.dim_sizes().end());
}

// `axis` counted from the front; InvalidArgument outside [-rank, rank).
inline absl::StatusOr<int> FrontAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return errors::InvalidArgument("Dimension ", axis, " must be in the range [-", rank, ", ", rank, ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The sum, unknown where either is; InvalidArgument where it overflows or is negative.
inline absl::StatusOr<int64_t> AddDims(int64_t a, int64_t b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum) || sum < 0) {
    return errors::InvalidArgument("Dimension size out of range: ", a, " + ", b);
  }
  return sum;
}

// The elements of an int32 or int64 constant; nullopt where input i is not a constant.
inline std::optional<std::vector<int64_t>> ConstantVector(InferenceContext& c, int i) {
  const Tensor* t = c.input_tensor(i);
  if (t == nullptr) return std::nullopt;
  std::vector<int64_t> values(t->NumElements());
  for (size_t j = 0; j < values.size(); ++j) {
    switch (t->dtype()) {
      case DT_INT16:
        values[j] = t->data<int16_t>()[j];
        break;
      case DT_INT32:
        values[j] = t->data<int32_t>()[j];
        break;
      case DT_INT64:
        values[j] = t->data<int64_t>()[j];
        break;
      default:
        return std::nullopt;
    }
  }
  return values;
}

// A scalar integer constant; nullopt where it is not known.
inline absl::StatusOr<std::optional<int64_t>> ConstantScalar(InferenceContext& c, int i) {
  RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  std::optional<std::vector<int64_t>> values = ConstantVector(c, i);
  if (!values || values->size() != 1) return std::optional<int64_t>();
  return std::optional<int64_t>((*values)[0]);
}

}  // namespace weir::op_shapes
