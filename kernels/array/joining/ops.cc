// Ops that join tensors along a dimension and split them again.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/array/joining/join_shape.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::AddDims;
using op_shapes::ConstantScalar;
using op_shapes::ConstantVector;
using op_shapes::Dims;
using op_shapes::FrontAxis;
using op_shapes::JoinShape;
using op_shapes::kUnknown;
using op_shapes::SetOutput;

absl::Status ConcatShape(InferenceContext& c) { return JoinShape(c, 1, c.num_inputs(), 0); }
absl::Status ConcatV2Shape(InferenceContext& c) { return JoinShape(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

absl::Status ConcatOffsetShape(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.set_output(i - 1, c.input(i));
  return absl::OkStatus();
}

absl::Status SplitShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(1);
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, 0));
  if (input.unknown_rank()) return absl::OkStatus();
  DimVector dims = Dims(input);
  if (axis_value) {
    ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, input.dims()));
    if (dims[axis] != kUnknown) {
      if (dims[axis] % c.num_outputs() != 0) {
        return errors::InvalidArgument("Dimension size, given by dimension ", axis, " of shape ", input.ToString(),
                                       ", must be evenly divisible by ", c.num_outputs());
      }
      dims[axis] /= c.num_outputs();
    }
  } else {
    std::fill(dims.begin(), dims.end(), kUnknown);
  }
  for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
  return absl::OkStatus();
}

absl::Status SplitVShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, 2));
  if (input.unknown_rank()) return absl::OkStatus();
  DimVector dims = Dims(input);
  if (!axis_value) {
    std::fill(dims.begin(), dims.end(), kUnknown);
    for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, input.dims()));
  const std::optional<std::vector<int64_t>> sizes = ConstantVector(c, 1);
  const int64_t whole = input.dim_size(axis);
  int64_t given = 0;
  if (sizes) {
    for (int64_t size : *sizes) {
      ASSIGN_OR_RETURN(given, AddDims(given, std::max<int64_t>(size, 0)));
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    dims[axis] = kUnknown;
    if (sizes && i < static_cast<int>(sizes->size())) {
      dims[axis] = (*sizes)[i] >= 0 ? (*sizes)[i] : whole == kUnknown ? kUnknown : whole - given;
      if (dims[axis] < kUnknown) {
        return errors::InvalidArgument("can't split axis of size ", whole, " into pieces that need ", given);
      }
    }
    RETURN_IF_ERROR(SetOutput(c, i, dims));
  }
  return absl::OkStatus();
}

absl::Status PackShape(InferenceContext& c) {
  PartialTensorShape merged = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    absl::StatusOr<PartialTensorShape> next = merged.MergeWith(c.input(i));
    if (!next.ok()) return Annotate(next.status(), "From merging shape of input ");
    merged = *std::move(next);
  }
  if (merged.unknown_rank()) return absl::OkStatus();
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  ASSIGN_OR_RETURN(const int at, FrontAxis(axis, merged.dims() + 1));
  DimVector dims = Dims(merged);
  dims.insert(dims.begin() + at, c.num_inputs());
  return SetOutput(c, 0, dims);
}

absl::Status UnpackShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 1));
  if (input.unknown_rank()) return absl::OkStatus();
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  ASSIGN_OR_RETURN(const int at, FrontAxis(axis, input.dims()));
  DimVector dims = Dims(input);
  RETURN_IF_ERROR(c.MergeDim(dims[at], c.num_outputs()).status());
  dims.erase(dims.begin() + at);
  for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
  return absl::OkStatus();
}

}  // namespace

absl::Status op_shapes::JoinShape(InferenceContext& c, int first, int last, int axis_input) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, axis_input));
  int rank = -1;
  for (int i = first; i < last; ++i) {
    if (c.input(i).unknown_rank()) continue;
    if (c.input(i).dims() == 0) {
      return errors::InvalidArgument("Can't concatenate scalars (use tf.stack instead)");
    }
    if (rank >= 0) RETURN_IF_ERROR(c.WithRank(c.input(i), rank).status());
    rank = c.input(i).dims();
  }
  if (rank < 0) return absl::OkStatus();
  if (!axis_value) {
    c.set_output(0, c.UnknownOfRank(rank));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, rank));
  DimVector dims(rank, kUnknown);
  dims[axis] = 0;
  for (int i = first; i < last; ++i) {
    for (int d = 0; d < rank; ++d) {
      const int64_t dim = c.input(i).unknown_rank() ? kUnknown : c.input(i).dim_size(d);
      if (d == axis) {
        ASSIGN_OR_RETURN(dims[d], AddDims(dims[d], dim));
      } else {
        ASSIGN_OR_RETURN(dims[d], c.MergeDim(dims[d], dim));
      }
    }
  }
  return SetOutput(c, 0, dims);
}

absl::Status RegisterJoiningOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Concat")
                                   .Input("concat_dim: int32")
                                   .Input("values: N * T")
                                   .Output("output: T")
                                   .Attr("N: int >= 2")
                                   .Attr("T: type")
                                   .Shape(ConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("ConcatV2")
                                   .Input("values: N * T")
                                   .Input("axis: Tidx")
                                   .Output("output: T")
                                   .Attr("N: int >= 2")
                                   .Attr("T: type")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(ConcatV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("ConcatOffset")
                                   .Input("concat_dim: int32")
                                   .Input("shape: N * shape_type")
                                   .Output("offset: N * shape_type")
                                   .Attr("N: int >= 2")
                                   .Attr("shape_type: {int32, int64} = DT_INT32")
                                   .Shape(ConcatOffsetShape)));
  RETURN_IF_ERROR(ops.Register(Op("Split")
                                   .Input("split_dim: int32")
                                   .Input("value: T")
                                   .Output("output: num_split * T")
                                   .Attr("num_split: int >= 1")
                                   .Attr("T: type")
                                   .Shape(SplitShape)));
  RETURN_IF_ERROR(ops.Register(Op("SplitV")
                                   .Input("value: T")
                                   .Input("size_splits: Tlen")
                                   .Input("split_dim: int32")
                                   .Output("output: num_split * T")
                                   .Attr("num_split: int >= 1")
                                   .Attr("T: type")
                                   .Attr("Tlen: {int8, int32, int64} = DT_INT64")
                                   .Shape(SplitVShape)));
  RETURN_IF_ERROR(ops.Register(Op("Pack")
                                   .Input("values: N * T")
                                   .Output("output: T")
                                   .Attr("N: int >= 1")
                                   .Attr("T: type")
                                   .Attr("axis: int = 0")
                                   .Shape(PackShape)));
  RETURN_IF_ERROR(ops.Register(Op("Unpack")
                                   .Input("value: T")
                                   .Output("output: num * T")
                                   .Attr("num: int >= 0")
                                   .Attr("T: type")
                                   .Attr("axis: int = 0")
                                   .Shape(UnpackShape)));
  return absl::OkStatus();
}

}  // namespace weir
