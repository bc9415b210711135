#include "graph/shapes/shape_inference.h"

#include <algorithm>

namespace weir {
namespace {

bool IsIndexTensor(const Tensor& t) { return t.dtype() == DT_INT32 || t.dtype() == DT_INT64; }

int64_t ElementOf(const Tensor& t, int64_t i) {
  return t.dtype() == DT_INT32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i];
}

}  // namespace

InferenceContext::InferenceContext(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def,
                                   std::vector<PartialTensorShape> inputs, std::vector<const Tensor*> input_tensors,
                                   int num_outputs)
    : node_(node),
      op_def_(op_def),
      inputs_(std::move(inputs)),
      input_tensors_(std::move(input_tensors)),
      input_handles_(inputs_.size()),
      outputs_(num_outputs),
      output_handles_(num_outputs) {
  input_tensors_.resize(inputs_.size());
}

absl::StatusOr<PartialTensorShape> InferenceContext::InputAsShape(int i) const {
  const Tensor* value = input_tensors_[i];
  if (value == nullptr) {
    RETURN_IF_ERROR(WithRankAtMost(inputs_[i], 1).status());
    if (i < static_cast<int>(values_as_shapes_.size()) && !values_as_shapes_[i].unknown_rank()) {
      return values_as_shapes_[i];
    }
    const bool known = inputs_[i].dims() == 1 && inputs_[i].dim_size(0) >= 0;
    if (!known) return PartialTensorShape();
    if (inputs_[i].dim_size(0) > kMaxRank) {
      return errors::InvalidArgument("Input ", i, " is used as a shape of ", inputs_[i].dim_size(0),
                                     " dimensions; at most ", kMaxRank, " are allowed");
    }
    return UnknownOfRank(inputs_[i].dim_size(0));
  }
  if (!IsIndexTensor(*value)) {
    return errors::InvalidArgument("Input tensor must be int32 or int64, but was ", DataTypeName(value->dtype()));
  }
  if (value->dims() == 0 && ElementOf(*value, 0) == -1) return PartialTensorShape();
  if (value->dims() != 1) {
    return errors::InvalidArgument("Input tensor must be rank 1, or if its rank is 0 it must have value -1 ",
                                   "(representing an unknown shape); input ", i, " is rank ", value->dims());
  }
  DimVector dims;
  for (int64_t k = 0; k < value->NumElements(); ++k) dims.push_back(ElementOf(*value, k));
  for (int64_t dim : dims) {
    if (dim < -1) return errors::InvalidArgument("Invalid value in tensor used for shape: ", dim);
  }
  return PartialTensorShape::Build(dims);
}

std::optional<std::vector<int64_t>> InferenceContext::InputAsIntegers(int i) const {
  const Tensor* value = input_tensors_[i];
  if (value == nullptr || !IsIndexTensor(*value)) return std::nullopt;
  std::vector<int64_t> elements(value->NumElements());
  for (size_t k = 0; k < elements.size(); ++k) elements[k] = ElementOf(*value, static_cast<int64_t>(k));
  return elements;
}

absl::StatusOr<int64_t> InferenceContext::InputAsScalar(int i) const {
  RETURN_IF_ERROR(WithRank(inputs_[i], 0).status());
  const std::optional<std::vector<int64_t>> value = InputAsIntegers(i);
  if (!value.has_value()) return -1;
  if (value->size() != 1) return errors::InvalidArgument("Input ", i, " must be a scalar");
  if (value->front() < 0) {
    return errors::InvalidArgument("Dimension size, given by scalar input ", i, " must be non-negative but is ",
                                   value->front());
  }
  return value->front();
}

absl::StatusOr<PartialTensorShape> InferenceContext::WithRank(const PartialTensorShape& shape, int rank) const {
  if (shape.unknown_rank()) return UnknownOfRank(rank);
  if (shape.dims() == rank) return shape;
  return errors::InvalidArgument("Shape must be rank ", rank, " but is rank ", shape.dims());
}

absl::StatusOr<PartialTensorShape> InferenceContext::WithRankAtLeast(const PartialTensorShape& shape, int rank) const {
  if (shape.unknown_rank() || shape.dims() >= rank) return shape;
  return errors::InvalidArgument("Shape must be at least rank ", rank, " but is rank ", shape.dims());
}

absl::StatusOr<PartialTensorShape> InferenceContext::WithRankAtMost(const PartialTensorShape& shape, int rank) const {
  if (shape.unknown_rank() || shape.dims() <= rank) return shape;
  return errors::InvalidArgument("Shape must be at most rank ", rank, " but is rank ", shape.dims());
}

absl::StatusOr<int64_t> InferenceContext::MergeDim(int64_t a, int64_t b) const {
  if (a < 0) return b;
  if (b < 0 || a == b) return a;
  return errors::InvalidArgument("Dimensions must be equal, but are ", a, " and ", b);
}

absl::StatusOr<PartialTensorShape> InferenceContext::Merge(const PartialTensorShape& a,
                                                           const PartialTensorShape& b) const {
  if (a.IsCompatibleWith(b)) return a.MergeWith(b);
  if (a.dims() != b.dims()) {
    return errors::InvalidArgument("Shapes must be equal rank, but are ", a.dims(), " and ", b.dims());
  }
  int at = 0;
  while (a.dim_size(at) < 0 || b.dim_size(at) < 0 || a.dim_size(at) == b.dim_size(at)) ++at;
  return errors::InvalidArgument("Dimension ", at, " in both shapes must be equal, but are ", a.dim_size(at), " and ",
                                 b.dim_size(at), ". Shapes are ", a.ToString(), " and ", b.ToString(), ".");
}

int64_t InferenceContext::Dim(const PartialTensorShape& shape, int i) {
  if (shape.unknown_rank()) return -1;
  if (i < 0) i += shape.dims();
  return i >= 0 && i < shape.dims() ? shape.dim_size(i) : -1;
}

absl::StatusOr<PartialTensorShape> InferenceContext::Subshape(const PartialTensorShape& shape, int start, int end) {
  if (shape.unknown_rank()) return PartialTensorShape();
  const int rank = shape.dims();
  const int first = start < 0 ? start + rank : std::min(start, rank);
  const int last = end < 0 ? end + rank : std::min(end, rank);
  if (first < 0 || last < 0) {
    return errors::InvalidArgument("Subshape from ", start, " to ", end, " out of bounds, for shape with rank ", rank);
  }
  if (first > last) {
    return errors::InvalidArgument("Subshape must have computed start <= end, but is ", first, " and ", last,
                                   " (computed from start ", start, " and end ", end, " over shape with rank ", rank,
                                   ")");
  }
  return Of(shape.dim_sizes().subspan(first, last - first));
}

PartialTensorShape InferenceContext::Concatenate(const PartialTensorShape& a, const PartialTensorShape& b) {
  if (a.unknown_rank() || b.unknown_rank()) return PartialTensorShape();
  DimVector dims(a.dim_sizes().begin(), a.dim_sizes().end());
  dims.insert(dims.end(), b.dim_sizes().begin(), b.dim_sizes().end());
  return Of(dims);
}

PartialTensorShape InferenceContext::Of(absl::Span<const int64_t> dims) {
  auto shape = PartialTensorShape::Build(dims);
  return shape.ok() ? *std::move(shape) : PartialTensorShape();
}

PartialTensorShape InferenceContext::UnknownOfRank(int64_t rank) {
  if (rank < 0 || rank > kMaxRank) return PartialTensorShape();
  return Of(DimVector(rank, -1));
}

PartialTensorShape InferenceContext::Vector(int64_t n) { return Of({n}); }
PartialTensorShape InferenceContext::Matrix(int64_t rows, int64_t columns) { return Of({rows, columns}); }

namespace shapes {

void PassOn(InferenceContext& c, int input, int output) {
  c.set_output(output, c.input(input));
  c.set_output_handle(output, c.input_handle(input));
}

absl::Status Unchanged(InferenceContext& c) {
  PassOn(c, 0, 0);
  return absl::OkStatus();
}

absl::Status MergeAll(InferenceContext& c) {
  PartialTensorShape merged;
  for (int i = 0; i < c.num_inputs(); ++i) {
    auto next = c.Merge(merged, c.input(i));
    if (!next.ok()) return Annotate(next.status(), absl::StrCat("From merging shape ", i, " with other shapes"));
    merged = *std::move(next);
  }
  c.set_output(0, merged);
  return absl::OkStatus();
}

absl::StatusOr<PartialTensorShape> Broadcast(const PartialTensorShape& a, const PartialTensorShape& b) {
  if (a.unknown_rank() || b.unknown_rank()) return PartialTensorShape();
  const int rank = std::max(a.dims(), b.dims());
  DimVector dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.dims() ? a.dim_size(a.dims() - i) : 1;
    const int64_t y = i <= b.dims() ? b.dim_size(b.dims() - i) : 1;
    int64_t& out = dims[rank - i];
    if (x == y || y == 1) {
      out = x;
    } else if (x == 1) {
      out = y;
    } else if (x < 0 || y < 0) {
      out = std::max(x, y);  // the unknown one is 1 or equal; otherwise the kernel fails
    } else {
      return errors::InvalidArgument("Dimensions must be equal, but are ", x, " and ", y, ": shapes ", a.ToString(),
                                     " and ", b.ToString(), " cannot be broadcast together");
    }
  }
  return PartialTensorShape::Build(dims);
}

absl::Status BroadcastBinary(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, Broadcast(c.input(0), c.input(1)));
  c.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status Scalar(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, InferenceContext::Scalar());
  return absl::OkStatus();
}

absl::Status NoOutputs(InferenceContext&) { return absl::OkStatus(); }

absl::Status Unknown(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialTensorShape());
  return absl::OkStatus();
}

}  // namespace shapes
}  // namespace weir
