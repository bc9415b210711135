// Ops that gather, scatter, find and partition elements.
#include <algorithm>

#include "kernels/array/slicing/strided_slice_spec.h"
#include "kernels/device/op_shapes.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

using op_shapes::ConstantScalar;
using op_shapes::ConstantVector;
using op_shapes::Dims;
using op_shapes::FrontAxis;
using op_shapes::kUnknown;
using op_shapes::SetOutput;

absl::Status GatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, c.WithRankAtLeast(c.input(0), 1));
  if (params.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape rest, c.Subshape(params, 1));
  c.set_output(0, c.Concatenate(c.input(1), rest));
  return absl::OkStatus();
}

absl::Status GatherV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, c.WithRankAtLeast(c.input(0), 1));
  const PartialTensorShape& indices = c.input(1);
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, 2));
  int64_t batch_dims;
  RETURN_IF_ERROR(c.GetAttr("batch_dims", &batch_dims));
  if (params.unknown_rank() || indices.unknown_rank()) return absl::OkStatus();
  if (batch_dims < -indices.dims() || batch_dims > indices.dims()) {
    return errors::InvalidArgument("batch_dims must be in the range [", -indices.dims(), ", ", indices.dims(),
                                   "], but got ", batch_dims);
  }
  const int batch = static_cast<int>(batch_dims < 0 ? batch_dims + indices.dims() : batch_dims);
  if (batch >= params.dims()) {
    return errors::InvalidArgument("batch_dims (", batch, ") must be less than rank(params) (", params.dims(), ")");
  }
  if (!axis_value) {
    c.set_output(0, c.UnknownOfRank(params.dims() + indices.dims() - 1 - batch));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, params.dims()));
  if (axis < batch) {
    return errors::InvalidArgument("batch_dims (", batch, ") must be less than or equal to axis (", axis, ")");
  }
  DimVector dims;
  for (int i = 0; i < axis; ++i) {
    dims.push_back(params.dim_size(i));
    if (i < batch) {
      ASSIGN_OR_RETURN(dims[i], c.MergeDim(dims[i], indices.dim_size(i)));
    }
  }
  for (int i = batch; i < indices.dims(); ++i) dims.push_back(indices.dim_size(i));
  for (int i = axis + 1; i < params.dims(); ++i) dims.push_back(params.dim_size(i));
  return SetOutput(c, 0, dims);
}

absl::Status GatherNdShape(InferenceContext& c) {
  const PartialTensorShape& params = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRankAtLeast(c.input(1), 1));
  const int64_t depth = c.Dim(indices, -1);
  if (params.unknown_rank() || depth == kUnknown) return absl::OkStatus();
  if (depth > params.dims()) {
    return errors::InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                                   indices.ToString(), " and params shape: ", params.ToString());
  }
  ASSIGN_OR_RETURN(PartialTensorShape outer, c.Subshape(indices, 0, -1));
  ASSIGN_OR_RETURN(PartialTensorShape inner, c.Subshape(params, static_cast<int>(depth)));
  c.set_output(0, c.Concatenate(outer, inner));
  return absl::OkStatus();
}

absl::Status ScatterNdShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(2), 1).status());
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(2));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status OneHotOutputShape(InferenceContext& c) {
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (axis < -1) return errors::InvalidArgument("axis must be >= -1");
  ASSIGN_OR_RETURN(const std::optional<int64_t> depth, ConstantScalar(c, 1));
  if (depth && *depth < 0) return errors::InvalidArgument("depth must be non-negative, got: ", *depth);
  for (int i = 2; i < 4; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  const PartialTensorShape& indices = c.input(0);
  if (indices.unknown_rank()) return absl::OkStatus();
  if (axis > indices.dims()) {
    return errors::InvalidArgument("axis must be <= rank of indices (", indices.dims(), "), but got ", axis);
  }
  DimVector dims = Dims(indices);
  dims.insert(axis < 0 ? dims.end() : dims.begin() + axis, depth.value_or(kUnknown));
  return SetOutput(c, 0, dims);
}

absl::Status WhereShape(InferenceContext& c) {
  c.set_output(0, c.Matrix(kUnknown, c.input(0).dims()));
  return absl::OkStatus();
}

absl::Status UniqueShape(InferenceContext& c) {
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, c.input(0));  // the kernel rejects inputs that are not vectors
  if (c.num_outputs() > 2) c.set_output(2, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status UniqueV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape axis, c.WithRank(c.input(1), 1));
  if (!x.unknown_rank()) c.set_output(0, c.UnknownOfRank(x.dims()));
  // An empty axis means all of a vector.
  int64_t along = x.dims() == 1 && axis.dim_size(0) == 0 ? 0 : -1;
  if (const auto constant = ConstantVector(c, 1); constant && constant->size() == 1 && !x.unknown_rank()) {
    along = (*constant)[0] < 0 ? (*constant)[0] + x.dims() : (*constant)[0];
  }
  c.set_output(1, c.Vector(along < 0 || along >= x.dims() ? kUnknown : x.dim_size(static_cast<int>(along))));
  if (c.num_outputs() > 2) c.set_output(2, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status ListDiffShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status DynamicPartitionShape(InferenceContext& c) {
  const PartialTensorShape& data = c.input(0);
  const PartialTensorShape& partitions = c.input(1);
  if (partitions.unknown_rank() || data.unknown_rank()) return absl::OkStatus();
  if (partitions.dims() > data.dims()) {
    return errors::InvalidArgument("Shape must be at least rank ", partitions.dims(), " but is rank ", data.dims());
  }
  DimVector dims = {kUnknown};
  for (int i = 0; i < data.dims(); ++i) {
    if (i < partitions.dims()) {
      RETURN_IF_ERROR(c.MergeDim(partitions.dim_size(i), data.dim_size(i)).status());
    } else {
      dims.push_back(data.dim_size(i));
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
  return absl::OkStatus();
}

// data[i] is indices[i]'s shape followed by what all have in common; rows go where the indices say.
absl::Status DynamicStitchShape(InferenceContext& c) {
  const int n = c.num_inputs() / 2;
  PartialTensorShape row;
  int64_t highest = -1;
  bool known = true;
  for (int i = 0; i < n; ++i) {
    const PartialTensorShape& indices = c.input(i);
    const PartialTensorShape& data = c.input(n + i);
    if (const auto values = ConstantVector(c, i)) {
      for (int64_t value : *values) highest = std::max(highest, value);
    } else {
      known = false;
    }
    if (indices.unknown_rank() || data.unknown_rank()) continue;
    ASSIGN_OR_RETURN(PartialTensorShape start, c.Subshape(data, 0, std::min(indices.dims(), data.dims())));
    RETURN_IF_ERROR(start.MergeWith(indices).status());
    ASSIGN_OR_RETURN(PartialTensorShape rest, c.Subshape(data, indices.dims()));
    ASSIGN_OR_RETURN(row, row.MergeWith(rest));
  }
  c.set_output(0, c.Concatenate(c.Vector(known ? highest + 1 : kUnknown), row));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterIndexingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Gather")
                                   .Input("params: Tparams")
                                   .Input("indices: Tindices")
                                   .Output("output: Tparams")
                                   .Attr("validate_indices: bool = true")
                                   .Attr("Tparams: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Shape(GatherShape)));
  RETURN_IF_ERROR(ops.Register(Op("GatherV2")
                                   .Input("params: Tparams")
                                   .Input("indices: Tindices")
                                   .Input("axis: Taxis")
                                   .Output("output: Tparams")
                                   .Attr("batch_dims: int = 0")
                                   .Attr("Tparams: type")
                                   .Attr("Tindices: {int16, int32, int64}")
                                   .Attr("Taxis: {int32, int64}")
                                   .Shape(GatherV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("GatherNd")
                                   .Input("params: Tparams")
                                   .Input("indices: Tindices")
                                   .Output("output: Tparams")
                                   .Attr("Tparams: type")
                                   .Attr("Tindices: {int16, int32, int64}")
                                   .Attr("bad_indices_policy: string = ''")
                                   .Shape(GatherNdShape)));
  RETURN_IF_ERROR(ops.Register(Op("ScatterNd")
                                   .Input("indices: Tindices")
                                   .Input("updates: T")
                                   .Input("shape: Tindices")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tindices: {int16, int32, int64}")
                                   .Attr("bad_indices_policy: string = ''")
                                   .Shape(ScatterNdShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorScatterUpdate")
                                   .Input("tensor: T")
                                   .Input("indices: Tindices")
                                   .Input("updates: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tindices: {int16, int32, int64, uint16}")
                                   .Attr("bad_indices_policy: string = ''")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("tensor: T")
                                     .Input("indices: Tindices")
                                     .Input("updates: T")
                                     .Output("output: T")
                                     .Attr("T: type")
                                     .Attr("Tindices: {int32, int64}")
                                     .Attr("bad_indices_policy: string = ''")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(
      Op("ScatterNdNonAliasingAdd")
          .Input("input: T")
          .Input("indices: Tindices")
          .Input("updates: T")
          .Output("output: T")
          .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
                "qint16, quint16, uint16, complex128, half, uint32, uint64, bool}")
          .Attr("Tindices: {int32, int64}")
          .Attr("bad_indices_policy: string = ''")
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("OneHot")
                                   .Input("indices: TI")
                                   .Input("depth: int32")
                                   .Input("on_value: T")
                                   .Input("off_value: T")
                                   .Output("output: T")
                                   .Attr("axis: int = -1")
                                   .Attr("T: type")
                                   .Attr("TI: {uint8, int8, int32, int64} = DT_INT64")
                                   .Shape(OneHotOutputShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("Where")
          .Input("input: T")
          .Output("index: int64")
          .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
                "qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = DT_BOOL")
          .Shape(WhereShape)));
  RETURN_IF_ERROR(ops.Register(Op("Unique")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Output("idx: out_idx")
                                   .Attr("T: type")
                                   .Attr("out_idx: {int32, int64} = DT_INT32")
                                   .Shape(UniqueShape)));
  RETURN_IF_ERROR(ops.Register(Op("UniqueWithCounts")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Output("idx: out_idx")
                                   .Output("count: out_idx")
                                   .Attr("T: type")
                                   .Attr("out_idx: {int32, int64} = DT_INT32")
                                   .Shape(UniqueShape)));
  RETURN_IF_ERROR(ops.Register(Op("UniqueV2")
                                   .Input("x: T")
                                   .Input("axis: Taxis")
                                   .Output("y: T")
                                   .Output("idx: out_idx")
                                   .Attr("T: type")
                                   .Attr("Taxis: {int32, int64} = DT_INT64")
                                   .Attr("out_idx: {int32, int64} = DT_INT32")
                                   .Shape(UniqueV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("UniqueWithCountsV2")
                                   .Input("x: T")
                                   .Input("axis: Taxis")
                                   .Output("y: T")
                                   .Output("idx: out_idx")
                                   .Output("count: out_idx")
                                   .Attr("T: type")
                                   .Attr("Taxis: {int32, int64} = DT_INT64")
                                   .Attr("out_idx: {int32, int64} = DT_INT32")
                                   .Shape(UniqueV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("ListDiff")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("out: T")
                                   .Output("idx: out_idx")
                                   .Attr("T: type")
                                   .Attr("out_idx: {int32, int64} = DT_INT32")
                                   .Shape(ListDiffShape)));
  RETURN_IF_ERROR(ops.Register(Op("DynamicPartition")
                                   .Input("data: T")
                                   .Input("partitions: int32")
                                   .Output("outputs: num_partitions * T")
                                   .Attr("num_partitions: int >= 1")
                                   .Attr("T: type")
                                   .Shape(DynamicPartitionShape)));
  for (const char* name : {"DynamicStitch", "ParallelDynamicStitch"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("indices: N * int32")
                                     .Input("data: N * T")
                                     .Output("merged: T")
                                     .Attr("N: int >= 1")
                                     .Attr("T: type")
                                     .Shape(DynamicStitchShape)));
  }
  return absl::OkStatus();
}

}  // namespace weir
