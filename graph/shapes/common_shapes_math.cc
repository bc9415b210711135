// Shape functions of sources, products, reductions and segments.
#include <algorithm>
#include <cmath>

#include "graph/shapes/common_shapes.h"

namespace weir::shapes {

int64_t NumElements(const PartialTensorShape& shape) {
  if (!shape.IsFullyDefined()) return -1;
  int64_t n = 1;
  for (int64_t dim : shape.dim_sizes()) n *= dim;
  return n;
}

absl::StatusOr<int> CheckAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return errors::InvalidArgument("Axis ", axis, " must be in the range [", -rank, ", ", rank, ") of a shape of rank ",
                                   rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<std::optional<int>> AxisInput(const InferenceContext& c, int i, int rank) {
  RETURN_IF_ERROR(c.WithRankAtMost(c.input(i), 1).status());
  const auto axis = c.InputAsIntegers(i);
  if (axis.has_value() && axis->size() != 1) {
    return errors::InvalidArgument("Input ", i, " must hold one axis, but has ", axis->size(), " elements");
  }
  if (!axis.has_value() || rank < 0) return std::nullopt;
  ASSIGN_OR_RETURN(int checked, CheckAxis(axis->front(), rank));
  return checked;
}

absl::StatusOr<PartialTensorShape> ReducedShape(const PartialTensorShape& shape, absl::Span<const int64_t> axes,
                                                bool keep_dims) {
  if (shape.unknown_rank()) return PartialTensorShape();
  std::vector<bool> reduced(shape.dims(), false);
  for (int64_t axis : axes) {
    if (axis < -shape.dims() || axis >= shape.dims()) {
      return errors::InvalidArgument("Invalid reduction dimension ", axis, " for input with ", shape.dims(),
                                     " dimensions.");
    }
    reduced[axis < 0 ? axis + shape.dims() : axis] = true;
  }
  DimVector dims;
  for (int i = 0; i < shape.dims(); ++i) {
    if (!reduced[i]) dims.push_back(shape.dim_size(i));
    if (reduced[i] && keep_dims) dims.push_back(1);
  }
  return PartialTensorShape::Build(dims);
}

absl::Status FromShapeInput(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(0));
  c.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status FromShapeAttr(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, shape);
  return absl::OkStatus();
}

namespace {

template <typename T>
absl::StatusOr<int64_t> RangeSize(const InferenceContext& c) {
  double bounds[3];
  for (int i = 0; i < 3; ++i) {
    if (c.input_tensor(i)->NumElements() != 1) return errors::InvalidArgument("Input ", i, " must be a scalar");
    bounds[i] = static_cast<double>(c.input_tensor(i)->scalar<T>());
  }
  const auto [start, limit, delta] = bounds;
  if (delta == 0) return errors::InvalidArgument("Requires delta != 0");
  if (delta > 0 ? start > limit : start < limit) {
    return errors::InvalidArgument("Requires start ", delta > 0 ? "<=" : ">=", " limit when delta ",
                                   delta > 0 ? ">" : "<", " 0: ", start, "/", limit);
  }
  const double size = std::ceil((limit - start) / delta);
  constexpr double kExact = int64_t{1} << 53;
  return size <= kExact ? static_cast<int64_t>(size) : -1;  // NaN included
}

}  // namespace

absl::Status Range(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  c.set_output(0, InferenceContext::Vector(-1));
  for (int i = 0; i < 3; ++i) {
    if (c.input_tensor(i) == nullptr || c.input_tensor(i)->dtype() != c.input_tensor(0)->dtype()) {
      return absl::OkStatus();
    }
  }
  absl::StatusOr<int64_t> size = -1;
  switch (c.input_tensor(0)->dtype()) {
    case DT_INT32:
      size = RangeSize<int32_t>(c);
      break;
    case DT_INT64:
      size = RangeSize<int64_t>(c);
      break;
    case DT_FLOAT:
      size = RangeSize<float>(c);
      break;
    case DT_DOUBLE:
      size = RangeSize<double>(c);
      break;
    default:
      break;
  }
  RETURN_IF_ERROR(size.status());
  c.set_output(0, InferenceContext::Vector(*size));
  return absl::OkStatus();
}

absl::Status LinSpace(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  ASSIGN_OR_RETURN(int64_t n, c.InputAsScalar(2));
  if (n == 0) return errors::InvalidArgument("Requires num > 0: 0");
  c.set_output(0, InferenceContext::Vector(n));
  return absl::OkStatus();
}

absl::Status OneHot(InferenceContext& c) {
  int64_t axis = -1;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  ASSIGN_OR_RETURN(int64_t depth, c.InputAsScalar(1));
  for (int i : {2, 3}) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  const PartialTensorShape& indices = c.input(0);
  if (indices.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int at, CheckAxis(axis, indices.dims() + 1));
  DimVector dims(indices.dim_sizes().begin(), indices.dim_sizes().end());
  dims.insert(dims.begin() + at, depth);
  ASSIGN_OR_RETURN(PartialTensorShape out, PartialTensorShape::Build(dims));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status MatMul(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape a, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape b, c.WithRank(c.input(1), 2));
  bool transpose_a = false, transpose_b = false;
  RETURN_IF_ERROR(c.GetAttr("transpose_a", &transpose_a));
  RETURN_IF_ERROR(c.GetAttr("transpose_b", &transpose_b));
  RETURN_IF_ERROR(c.MergeDim(a.dim_size(transpose_a ? 0 : 1), b.dim_size(transpose_b ? 1 : 0)).status());
  c.set_output(0, InferenceContext::Matrix(a.dim_size(transpose_a ? 1 : 0), b.dim_size(transpose_b ? 0 : 1)));
  return absl::OkStatus();
}

absl::Status BatchMatMul(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape a, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape b, c.WithRankAtLeast(c.input(1), 2));
  bool adj_x = false, adj_y = false;
  RETURN_IF_ERROR(c.GetAttr("adj_x", &adj_x));
  RETURN_IF_ERROR(c.GetAttr("adj_y", &adj_y));
  const auto dim = &InferenceContext::Dim;
  RETURN_IF_ERROR(c.MergeDim(dim(a, adj_x ? -2 : -1), dim(b, adj_y ? -1 : -2)).status());
  if (a.unknown_rank() || b.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape batch_a, InferenceContext::Subshape(a, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape batch_b, InferenceContext::Subshape(b, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape batch, Broadcast(batch_a, batch_b));
  c.set_output(0, InferenceContext::Concatenate(
                      batch, InferenceContext::Matrix(dim(a, adj_x ? -1 : -2), dim(b, adj_y ? -2 : -1))));
  return absl::OkStatus();
}

absl::Status Select(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape data, c.Merge(c.input(1), c.input(2)));
  const PartialTensorShape& condition = c.input(0);
  c.set_output(0, data);
  if (condition.unknown_rank() || condition.dims() == 0 || data.unknown_rank()) return absl::OkStatus();
  if (condition.dims() == 1 && data.dims() > 1) {
    return c.MergeDim(condition.dim_size(0), data.dim_size(0)).status();
  }
  ASSIGN_OR_RETURN(data, c.Merge(data, condition));
  c.set_output(0, data);
  return absl::OkStatus();
}

absl::Status Reduction(InferenceContext& c) {
  bool keep_dims = false;
  RETURN_IF_ERROR(c.GetAttr("keep_dims", &keep_dims));
  const PartialTensorShape& in = c.input(0);
  const auto axes = c.InputAsIntegers(1);
  if (!axes.has_value()) {
    c.set_output(0, keep_dims ? InferenceContext::UnknownOfRank(in.dims()) : PartialTensorShape());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(PartialTensorShape out, ReducedShape(in, *axes, keep_dims));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status ArgReduction(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  RETURN_IF_ERROR(c.WithRankAtLeast(in, 1).status());
  ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(c, 1, in.dims()));
  if (!axis.has_value()) {
    c.set_output(0, InferenceContext::UnknownOfRank(in.dims() - 1));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(PartialTensorShape out, ReducedShape(in, {*axis}, false));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status SegmentSum(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape data, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape ids, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(InferenceContext::Dim(data, 0), ids.dim_size(0)).status());
  ASSIGN_OR_RETURN(PartialTensorShape rest, InferenceContext::Subshape(data, 1));
  c.set_output(0, InferenceContext::Concatenate(InferenceContext::Vector(-1), rest));
  return absl::OkStatus();
}

absl::Status UnsortedSegmentSum(InferenceContext& c) {
  const PartialTensorShape &data = c.input(0), &ids = c.input(1);
  ASSIGN_OR_RETURN(int64_t segments, c.InputAsScalar(2));
  if (data.unknown_rank() || ids.unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.WithRankAtLeast(data, ids.dims()).status());
  ASSIGN_OR_RETURN(PartialTensorShape head, InferenceContext::Subshape(data, 0, ids.dims()));
  RETURN_IF_ERROR(c.Merge(head, ids).status());
  ASSIGN_OR_RETURN(PartialTensorShape rest, InferenceContext::Subshape(data, ids.dims()));
  c.set_output(0, InferenceContext::Concatenate(InferenceContext::Vector(segments), rest));
  return absl::OkStatus();
}

absl::Status BroadcastGradientArgs(InferenceContext& c) {
  for (int i : {0, 1}) RETURN_IF_ERROR(c.WithRank(c.input(i), 1).status());
  for (int i : {0, 1}) c.set_output(i, InferenceContext::Vector(-1));
  return absl::OkStatus();
}

}  // namespace weir::shapes
