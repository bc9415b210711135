// Variables, of both kinds, and what reads and updates them.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/state/family.h"

namespace weir {
namespace {

// What is known of the variable behind handle input 0. InvalidArgument when it is known to hold another type.
absl::StatusOr<PartialTensorShape> HandleShape(InferenceContext& c, const char* type_attr) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  if (c.input_handle(0).empty()) return PartialTensorShape();
  const ResourceHandle::DtypeAndShape& held = c.input_handle(0)[0];
  DataType type = held.dtype;
  if (type_attr != nullptr) RETURN_IF_ERROR(c.GetAttr(type_attr, &type));
  if (type != held.dtype) {
    return errors::InvalidArgument("Trying to access a variable with wrong dtype. Expected ", DataTypeName(held.dtype),
                                   " got ", DataTypeName(type));
  }
  return held.shape;
}

absl::Status VarHandleShape(InferenceContext& c) {
  ResourceHandle::DtypeAndShape held;
  RETURN_IF_ERROR(c.GetAttr("dtype", &held.dtype));
  RETURN_IF_ERROR(c.GetAttr("shape", &held.shape));
  c.set_output(0, c.Scalar());
  c.set_output_handle(0, {held});
  return absl::OkStatus();
}

absl::Status HandleToScalar(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status HandleToNothing(InferenceContext& c) { return c.WithRank(c.input(0), 0).status(); }

absl::Status ReadVariableShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, HandleShape(c, "dtype"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status AssignVariableShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, HandleShape(c, "dtype"));
  return shape.MergeWith(c.input(1)).status();
}

absl::Status VariableShapeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, HandleShape(c, nullptr));
  c.set_output(0, c.Vector(shape.dims()));
  return absl::OkStatus();
}

absl::Status ResourceGatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, HandleShape(c, "dtype"));
  ASSIGN_OR_RETURN(params, c.WithRankAtLeast(params, 1));
  int64_t batch;
  RETURN_IF_ERROR(c.GetAttr("batch_dims", &batch));
  const PartialTensorShape& indices = c.input(1);
  if (indices.unknown_rank() || params.unknown_rank()) return absl::OkStatus();
  if (batch < 0) batch += indices.dims();
  if (batch < 0 || batch > indices.dims() || batch >= params.dims()) {
    return errors::InvalidArgument("batch_dims must be in [0, ", indices.dims(), "] and below the rank of params ",
                                   params.dims(), ", got ", batch);
  }
  ASSIGN_OR_RETURN(PartialTensorShape rest, c.Subshape(params, static_cast<int>(batch) + 1));
  c.set_output(0, c.Concatenate(indices, rest));
  return absl::OkStatus();
}

absl::Status ResourceGatherNdShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, HandleShape(c, "dtype"));
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRankAtLeast(c.input(1), 1));
  const int64_t depth = c.Dim(indices, -1);
  if (params.unknown_rank() || indices.unknown_rank() || depth < 0) return absl::OkStatus();
  if (depth > params.dims()) {
    return errors::InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                                   indices.ToString(), " and params shape: ", params.ToString());
  }
  ASSIGN_OR_RETURN(PartialTensorShape outer, c.Subshape(indices, 0, -1));
  ASSIGN_OR_RETURN(PartialTensorShape slice, c.Subshape(params, static_cast<int>(depth)));
  c.set_output(0, c.Concatenate(outer, slice));
  return absl::OkStatus();
}

// updates.shape = indices.shape + params.shape[1:], or updates are one scalar.
absl::Status CheckScatter(InferenceContext& c, const PartialTensorShape& params) {
  if (params.unknown_rank() || c.input(2).dims() == 0) return absl::OkStatus();
  RETURN_IF_ERROR(c.WithRankAtLeast(params, 1).status());
  ASSIGN_OR_RETURN(PartialTensorShape row, c.Subshape(params, 1));
  return c.input(2).MergeWith(c.Concatenate(c.input(1), row)).status();
}

absl::Status ResourceScatterShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, HandleShape(c, "dtype"));
  return CheckScatter(c, params);
}

absl::Status ScatterShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckScatter(c, c.input(0)));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

// updates.shape = indices.shape[:-1] + params.shape[indices.shape[-1]:].
absl::Status CheckScatterNd(InferenceContext& c, const PartialTensorShape& params) {
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRankAtLeast(c.input(1), 1));
  const int64_t depth = c.Dim(indices, -1);
  if (params.unknown_rank() || indices.unknown_rank() || depth < 0) return absl::OkStatus();
  if (depth > params.dims()) {
    return errors::InvalidArgument("The last dimension of indices ", indices.ToString(),
                                   " is larger than the rank of the variable ", params.ToString());
  }
  ASSIGN_OR_RETURN(PartialTensorShape outer, c.Subshape(indices, 0, -1));
  ASSIGN_OR_RETURN(PartialTensorShape slice, c.Subshape(params, static_cast<int>(depth)));
  return c.input(2).MergeWith(c.Concatenate(outer, slice)).status();
}

absl::Status ResourceScatterNdShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, HandleShape(c, "T"));
  return CheckScatterNd(c, params);
}

absl::Status ScatterNdUpdateShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckScatterNd(c, c.input(0)));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::Status ShapeFromAttr(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// For the first Variable op a scalar stood for an unknown shape.
absl::Status VariableV1Shape(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  if (shape.dims() > 0) c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status AssignShape(InferenceContext& c) {
  bool validate_shape;
  RETURN_IF_ERROR(c.GetAttr("validate_shape", &validate_shape));
  if (validate_shape) return shapes::MergeAll(c);
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status ResourceCountUpToShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, HandleShape(c, "T"));
  RETURN_IF_ERROR(c.WithRank(shape, 0).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status AssignUpdateShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, HandleShape(c, "dtype"));
  return shape.MergeWith(c.input(1)).status();
}

absl::Status RegisterResourceVariableOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("VarHandleOp")
                                   .Output("resource: resource")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Attr("debug_name: string = ''")
                                   .Attr("dtype: type")
                                   .Attr("shape: shape")
                                   .Attr("allowed_devices: list(string) = []")
                                   .Stateful()
                                   .Shape(VarHandleShape)));
  RETURN_IF_ERROR(ops.Register(Op("VarIsInitializedOp")
                                   .Input("resource: resource")
                                   .Output("is_initialized: bool")
                                   .Stateful()
                                   .Shape(HandleToScalar)));
  RETURN_IF_ERROR(ops.Register(Op("ReadVariableOp")
                                   .Input("resource: resource")
                                   .Output("value: dtype")
                                   .Attr("dtype: type")
                                   .Stateful()
                                   .Shape(ReadVariableShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("SnapshotVariable").Input("resource: resource").Output("snapshot: variant").Stateful().Shape(HandleToScalar)));
  RETURN_IF_ERROR(ops.Register(
      Op("ReserveVariableSnapshot").MayBlock().Input("resource: resource").Stateful().Shape(HandleToNothing)));
  RETURN_IF_ERROR(ops.Register(Op("AssignVariableOp")
                                   .Input("resource: resource")
                                   .Input("value: dtype")
                                   .Attr("dtype: type")
                                   .Attr("validate_shape: bool = false")
                                   .Stateful()
                                   .WritesState()
                                   .Shape(AssignVariableShape)));
  for (const char* name : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("resource: resource")
                                     .Input("value: dtype")
                                     .Attr("dtype: type")
                                     .Stateful()
                                     .WritesState()
                                     .Shape(AssignUpdateShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("VariableShape")
                                   .Input("input: resource")
                                   .Output("output: out_type")
                                   .Attr("out_type: {int32, int64} = DT_INT32")
                                   .Stateful()
                                   .Shape(VariableShapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("DestroyResourceOp")
                                   .WritesState()
                                   .Input("resource: resource")
                                   .Attr("ignore_lookup_error: bool = true")
                                   .Stateful()
                                   .Shape(HandleToNothing)));
  RETURN_IF_ERROR(ops.Register(Op("ResourceGather")
                                   .Input("resource: resource")
                                   .Input("indices: Tindices")
                                   .Output("output: dtype")
                                   .Attr("batch_dims: int = 0")
                                   .Attr("validate_indices: bool = true")
                                   .Attr("dtype: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Stateful()
                                   .Shape(ResourceGatherShape)));
  RETURN_IF_ERROR(ops.Register(Op("ResourceGatherNd")
                                   .Input("resource: resource")
                                   .Input("indices: Tindices")
                                   .Output("output: dtype")
                                   .Attr("dtype: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Stateful()
                                   .Shape(ResourceGatherNdShape)));
  for (const char* name : {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
                           "ResourceScatterMin", "ResourceScatterMax", "ResourceScatterUpdate"}) {
    const bool any_type = absl::string_view(name) == "ResourceScatterUpdate";
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("resource: resource")
                                     .Input("indices: Tindices")
                                     .Input("updates: dtype")
                                     .Attr(any_type ? "dtype: type" : "dtype: numbertype")
                                     .Attr("Tindices: {int32, int64}")
                                     .Stateful()
                                     .WritesState()
                                     .Shape(ResourceScatterShape)));
  }
  for (const char* name : {"ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub",
                           "ResourceScatterNdMin", "ResourceScatterNdMax"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("ref: resource")
                                     .Input("indices: Tindices")
                                     .Input("updates: T")
                                     .Attr("T: type")
                                     .Attr("Tindices: {int32, int64}")
                                     .Attr("use_locking: bool = true")
                                     .Attr("bad_indices_policy: string = ''")
                                     .Stateful()
                                     .WritesState()
                                     .Shape(ResourceScatterNdShape)));
  }
  return ops.Register(Op("ResourceCountUpTo")
                          .WritesState()
                          .Input("resource: resource")
                          .Output("output: T")
                          .Attr("limit: int")
                          .Attr("T: {int32, int64}")
                          .Stateful()
                          .Shape(ResourceCountUpToShape));
}

absl::Status RegisterRefVariableOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Variable")
                                   .Output("ref: Ref(dtype)")
                                   .Attr("shape: shape")
                                   .Attr("dtype: type")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(VariableV1Shape)));
  RETURN_IF_ERROR(ops.Register(Op("VariableV2")
                                   .Output("ref: Ref(dtype)")
                                   .Attr("shape: shape")
                                   .Attr("dtype: type")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(ShapeFromAttr)));
  RETURN_IF_ERROR(ops.Register(Op("IsVariableInitialized")
                                   .Input("ref: Ref(dtype)")
                                   .Output("is_initialized: bool")
                                   .Attr("dtype: type")
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("Assign")
                                   .Input("ref: Ref(T)")
                                   .Input("value: T")
                                   .Output("output_ref: Ref(T)")
                                   .Attr("T: type")
                                   .Attr("validate_shape: bool = true")
                                   .Attr("use_locking: bool = true")
                                   .AllowsUninitializedInput()
                                   .WritesState()
                                   .Shape(AssignShape)));
  for (const char* name : {"AssignAdd", "AssignSub"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("ref: Ref(T)")
                                     .Input("value: T")
                                     .Output("output_ref: Ref(T)")
                                     .Attr("T: numbertype")
                                     .Attr("use_locking: bool = false")
                                     .WritesState()
                                     .Shape(shapes::MergeAll)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ScatterUpdate")
                                   .Input("ref: Ref(T)")
                                   .Input("indices: Tindices")
                                   .Input("updates: T")
                                   .Output("output_ref: Ref(T)")
                                   .Attr("T: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Attr("use_locking: bool = true")
                                   .WritesState()
                                   .Shape(ScatterShape)));
  for (const char* name : {"ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax"}) {
    const absl::string_view op = name;
    const bool order = op == "ScatterMin" || op == "ScatterMax";
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("ref: Ref(T)")
                                     .Input("indices: Tindices")
                                     .Input("updates: T")
                                     .Output("output_ref: Ref(T)")
                                     .Attr(order ? "T: {half, bfloat16, float, double, int32, int64}" : "T: numbertype")
                                     .Attr("Tindices: {int32, int64}")
                                     .Attr("use_locking: bool = false")
                                     .WritesState()
                                     .Shape(ScatterShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ScatterNdUpdate")
                                   .Input("ref: Ref(T)")
                                   .Input("indices: Tindices")
                                   .Input("updates: T")
                                   .Output("output_ref: Ref(T)")
                                   .Attr("T: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Attr("use_locking: bool = true")
                                   .Attr("bad_indices_policy: string = ''")
                                   .WritesState()
                                   .Shape(ScatterNdUpdateShape)));
  for (const char* name : {"ScatterNdAdd", "ScatterNdSub", "ScatterNdMin", "ScatterNdMax"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("ref: Ref(T)")
                                     .Input("indices: Tindices")
                                     .Input("updates: T")
                                     .Output("output_ref: Ref(T)")
                                     .Attr("T: numbertype")
                                     .Attr("Tindices: {int32, int64}")
                                     .Attr("use_locking: bool = false")
                                     .Attr("bad_indices_policy: string = ''")
                                     .WritesState()
                                     .Shape(ScatterNdUpdateShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("TemporaryVariable")
                                   .Output("ref: Ref(dtype)")
                                   .Attr("shape: shape")
                                   .Attr("dtype: type")
                                   .Attr("var_name: string = ''")
                                   .Stateful()
                                   .Shape(ShapeFromAttr)));
  RETURN_IF_ERROR(ops.Register(Op("DestroyTemporaryVariable")
                                   .Input("ref: Ref(T)")
                                   .Output("value: T")
                                   .Attr("T: type")
                                   .Attr("var_name: string")
                                   .Shape(shapes::Unchanged)));
  return ops.Register(Op("CountUpTo")
                          .WritesState()
                          .Input("ref: Ref(T)")
                          .Output("output: T")
                          .Attr("limit: int")
                          .Attr("T: {int32, int64}")
                          .Shape(HandleToScalar));
}

}  // namespace

absl::Status RegisterStateOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterResourceVariableOps(ops));
  return RegisterRefVariableOps(ops);
}

}  // namespace weir
