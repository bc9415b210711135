// Bands of diagonals of matrices.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// The lower and upper diagonal if input i is a constant.
absl::StatusOr<std::optional<std::pair<int64_t, int64_t>>> Diagonals(InferenceContext& c, int i) {
  RETURN_IF_ERROR(c.WithRankAtMost(c.input(i), 1).status());
  const auto values = op_shapes::ConstantVector(c, i);
  std::optional<std::pair<int64_t, int64_t>> none;
  if (!values) return none;
  if (values->empty() || values->size() > 2) {
    return errors::InvalidArgument("diag_index must be a vector with one or two elements. It has ", values->size(),
                                   " elements.");
  }
  if (values->front() > values->back()) {
    return errors::InvalidArgument("lower_diag_index is greater than upper_diag_index");
  }
  return std::optional<std::pair<int64_t, int64_t>>({values->front(), values->back()});
}

absl::Status BandDiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape diagonal, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(const auto band, Diagonals(c, 1));
  ASSIGN_OR_RETURN(const std::optional<int64_t> rows, op_shapes::ConstantScalar(c, 2));
  ASSIGN_OR_RETURN(const std::optional<int64_t> columns, op_shapes::ConstantScalar(c, 3));
  RETURN_IF_ERROR(c.WithRank(c.input(4), 0).status());
  if (!band || diagonal.unknown_rank()) return absl::OkStatus();
  const auto [lower, upper] = *band;
  const int inner = lower == upper ? 1 : 2;
  ASSIGN_OR_RETURN(diagonal, c.WithRankAtLeast(diagonal, inner));
  ASSIGN_OR_RETURN(PartialTensorShape batch, c.Subshape(diagonal, 0, -inner));
  const int64_t length = c.Dim(diagonal, -1);
  int64_t sizes[2] = {kUnknown, kUnknown};
  if (length != kUnknown && rows && columns) {
    const int64_t least_rows = length - std::min<int64_t>(upper, 0);
    const int64_t least_columns = length + std::max<int64_t>(lower, 0);
    sizes[0] = *rows != -1 ? *rows : *columns == -1 ? std::max(least_rows, least_columns) : least_rows;
    sizes[1] = *columns != -1 ? *columns : *rows == -1 ? std::max(least_rows, least_columns) : least_columns;
    if (sizes[0] < least_rows) return errors::InvalidArgument("num_rows is too small");
    if (sizes[1] < least_columns) return errors::InvalidArgument("num_cols is too small");
    if (sizes[0] != least_rows && sizes[1] != least_columns) {
      return errors::InvalidArgument(
          "num_rows and num_cols are not consistent with lower_diag_index, "
          "upper_diag_index, and the length of the given diagonals.");
    }
  }
  c.set_output(0, c.Concatenate(batch, c.Of({sizes[0], sizes[1]})));
  return absl::OkStatus();
}

absl::Status CheckInside(int64_t d, int64_t rows, int64_t columns, const char* name) {
  if (d == 0 || rows == kUnknown || columns == kUnknown || (-rows < d && d < columns)) return absl::OkStatus();
  return errors::InvalidArgument(name, "_diag_index ", d, " is out of bound");
}

absl::Status BandDiagPartShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(const auto band, Diagonals(c, 1));
  RETURN_IF_ERROR(c.WithRank(c.input(2), 0).status());
  if (!band || input.unknown_rank()) return absl::OkStatus();
  const auto [lower, upper] = *band;
  const int64_t rows = c.Dim(input, -2), columns = c.Dim(input, -1);
  RETURN_IF_ERROR(CheckInside(lower, rows, columns, "lower"));
  RETURN_IF_ERROR(CheckInside(upper, rows, columns, "upper"));
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.Subshape(input, 0, -2));
  if (lower < upper) shape = c.Concatenate(shape, c.Of({upper - lower + 1}));
  int64_t length = kUnknown;
  if (rows != kUnknown && columns != kUnknown) {
    length = std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
  }
  c.set_output(0, c.Concatenate(shape, c.Of({length})));
  return absl::OkStatus();
}

absl::Status BandSetDiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(const PartialTensorShape diagonal, c.WithRankAtLeast(c.input(1), 1));
  ASSIGN_OR_RETURN(const auto band, Diagonals(c, 2));
  if (band && !diagonal.unknown_rank()) {
    ASSIGN_OR_RETURN(const PartialTensorShape batch, c.Subshape(diagonal, 0, band->first == band->second ? -1 : -2));
    ASSIGN_OR_RETURN(input, c.Merge(input, c.Concatenate(batch, c.Of({kUnknown, kUnknown}))));
  }
  c.set_output(0, std::move(input));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterBandOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("MatrixDiagV2")
                                   .Input("diagonal: T")
                                   .Input("k: int32")
                                   .Input("num_rows: int32")
                                   .Input("num_cols: int32")
                                   .Input("padding_value: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(BandDiagShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("MatrixDiagV3")
                       .Input("diagonal: T")
                       .Input("k: int32")
                       .Input("num_rows: int32")
                       .Input("num_cols: int32")
                       .Input("padding_value: T")
                       .Output("output: T")
                       .Attr("T: type")
                       .Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
                       .Shape(BandDiagShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixDiagPartV2")
                                   .Input("input: T")
                                   .Input("k: int32")
                                   .Input("padding_value: T")
                                   .Output("diagonal: T")
                                   .Attr("T: type")
                                   .Shape(BandDiagPartShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("MatrixDiagPartV3")
                       .Input("input: T")
                       .Input("k: int32")
                       .Input("padding_value: T")
                       .Output("diagonal: T")
                       .Attr("T: type")
                       .Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
                       .Shape(BandDiagPartShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixSetDiagV2")
                                   .Input("input: T")
                                   .Input("diagonal: T")
                                   .Input("k: int32")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(BandSetDiagShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("MatrixSetDiagV3")
                       .Input("input: T")
                       .Input("diagonal: T")
                       .Input("k: int32")
                       .Output("output: T")
                       .Attr("T: type")
                       .Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
                       .Shape(BandSetDiagShape)));
  return absl::OkStatus();
}

}  // namespace weir
