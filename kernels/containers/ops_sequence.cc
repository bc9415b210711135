// Sequences of tensors that loops build up: stacks, tensor arrays, tensor lists.
#include "core/status.h"
#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/containers/family.h"

namespace weir {
namespace {

absl::Status StackPushShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

// --- Tensor arrays: a handle knows what its elements have in common ---

absl::Status TensorArrayShape(InferenceContext& c) {
  ResourceHandle::DtypeAndShape held;
  RETURN_IF_ERROR(c.GetAttr("dtype", &held.dtype));
  RETURN_IF_ERROR(c.GetAttr("element_shape", &held.shape));
  bool identical;
  RETURN_IF_ERROR(c.GetAttr("identical_element_shapes", &identical));
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  c.set_output(0, c.Scalar());
  c.set_output(1, c.Scalar());
  if (identical) c.set_output_handle(0, {held});
  return absl::OkStatus();
}

PartialTensorShape HeldShape(const InferenceContext& c, int input) {
  return c.input_handle(input).empty() ? PartialTensorShape() : c.input_handle(input)[0].shape;
}

// Write, Scatter and Split: the flow goes on.
absl::Status FlowShape(InferenceContext& c) {
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status ReadShape(InferenceContext& c) {
  c.set_output(0, HeldShape(c, 0));
  return absl::OkStatus();
}

absl::Status WithLeadingDim(InferenceContext& c, int64_t size, const PartialTensorShape& element) {
  c.set_output(0, c.Concatenate(c.Vector(size), element));
  return absl::OkStatus();
}

absl::Status ArrayGatherShape(InferenceContext& c) {
  PartialTensorShape element;
  RETURN_IF_ERROR(c.GetAttr("element_shape", &element));
  ASSIGN_OR_RETURN(element, element.MergeWith(HeldShape(c, 0)));
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRank(c.input(1), 1));
  return WithLeadingDim(c, c.Dim(indices, 0), element);
}

absl::Status ArrayConcatShape(InferenceContext& c) {
  PartialTensorShape row;
  RETURN_IF_ERROR(c.GetAttr("element_shape_except0", &row));
  c.set_output(1, c.Vector(-1));
  return WithLeadingDim(c, -1, row);
}

absl::Status ArrayGradShape(InferenceContext& c) {
  c.set_output(0, c.Scalar());
  c.set_output(1, c.Scalar());
  if (c.num_inputs() == 2) c.set_output_handle(0, c.input_handle(0));
  return absl::OkStatus();
}

// --- Tensor lists ---

// What input `i` holds as a shape; unknown for the scalar -1.
absl::StatusOr<PartialTensorShape> ShapeInput(const InferenceContext& c, int i) {
  if (c.input(i).dims() != 1) return PartialTensorShape();
  return c.InputAsShape(i);
}

// The shape of elements: what the list knows, and the argument, where there is one.
absl::StatusOr<PartialTensorShape> ElementShape(const InferenceContext& c, int shape_input) {
  PartialTensorShape shape = HeldShape(c, 0);
  if (shape_input < 0) return shape;
  ASSIGN_OR_RETURN(PartialTensorShape argument, ShapeInput(c, shape_input));
  return shape.MergeWith(argument);
}

absl::Status SetList(InferenceContext& c, PartialTensorShape element) {
  ResourceHandle::DtypeAndShape held;
  RETURN_IF_ERROR(c.GetAttr("element_dtype", &held.dtype));
  held.shape = std::move(element);
  c.set_output(0, c.Scalar());
  c.set_output_handle(0, {held});
  return absl::OkStatus();
}

absl::Status NewListShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  ASSIGN_OR_RETURN(PartialTensorShape element, ShapeInput(c, 0));
  return SetList(c, std::move(element));
}

// From a tensor, with the elements' shape in input `shape_input`.
absl::Status ListFromTensorShape(InferenceContext& c, int shape_input) {
  RETURN_IF_ERROR(c.WithRankAtLeast(c.input(0), 1).status());
  ASSIGN_OR_RETURN(PartialTensorShape element, ShapeInput(c, shape_input));
  return SetList(c, std::move(element));
}
absl::Status FromTensorShape(InferenceContext& c) { return ListFromTensorShape(c, 1); }
absl::Status ListScatterShape(InferenceContext& c) { return ListFromTensorShape(c, 2); }

absl::Status ListToListShape(InferenceContext& c) {
  c.set_output(0, c.input(0));
  c.set_output_handle(0, c.input_handle(0));
  return absl::OkStatus();
}

absl::Status PopBackShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape element, ElementShape(c, 1));
  c.set_output(0, c.Scalar());
  c.set_output_handle(0, c.input_handle(0));
  c.set_output(1, std::move(element));
  return absl::OkStatus();
}

absl::Status GetItemShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  ASSIGN_OR_RETURN(PartialTensorShape element, ElementShape(c, 2));
  c.set_output(0, std::move(element));
  return absl::OkStatus();
}

absl::Status ListStackShape(InferenceContext& c) {
  int64_t count;
  RETURN_IF_ERROR(c.GetAttr("num_elements", &count));
  ASSIGN_OR_RETURN(PartialTensorShape element, ElementShape(c, 1));
  return WithLeadingDim(c, count < 0 ? -1 : count, element);
}

absl::Status ListGatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape element, ElementShape(c, 2));
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRank(c.input(1), 1));
  return WithLeadingDim(c, c.Dim(indices, 0), element);
}

// The first dimension of elements may differ.
absl::Status ListConcatShape(InferenceContext& c) {
  PartialTensorShape element = HeldShape(c, 0), argument;
  if (c.num_inputs() == 1) {
    RETURN_IF_ERROR(c.GetAttr("element_shape", &argument));
  } else {
    ASSIGN_OR_RETURN(argument, ShapeInput(c, 1));
  }
  ASSIGN_OR_RETURN(element, element.MergeWith(argument));
  c.set_output(1, c.Vector(-1));
  if (element.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape row, c.Subshape(element, 1));
  return WithLeadingDim(c, -1, row);
}

absl::Status ElementShapeShape(InferenceContext& c) {
  const PartialTensorShape element = HeldShape(c, 0);
  if (!element.unknown_rank()) c.set_output(0, c.Vector(element.dims()));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterTensorArrayOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StackV2")
                                   .Input("max_size: int32")
                                   .Output("handle: resource")
                                   .Attr("elem_type: type")
                                   .Attr("stack_name: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("StackPushV2")
                                   .Input("handle: resource")
                                   .Input("elem: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("swap_memory: bool = false")
                                   .Stateful()
                                   .Shape(StackPushShape)));
  RETURN_IF_ERROR(ops.Register(Op("StackPopV2")
                                   .Input("handle: resource")
                                   .Output("elem: elem_type")
                                   .Attr("elem_type: type")
                                   .Stateful()
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("StackCloseV2").Input("handle: resource").Stateful().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayV3")
                                   .Input("size: int32")
                                   .Output("handle: resource")
                                   .Output("flow: float")
                                   .Attr("dtype: type")
                                   .Attr("element_shape: shape = { unknown_rank: true }")
                                   .Attr("dynamic_size: bool = false")
                                   .Attr("clear_after_read: bool = true")
                                   .Attr("identical_element_shapes: bool = false")
                                   .Attr("tensor_array_name: string = ''")
                                   .Stateful()
                                   .Shape(TensorArrayShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayWriteV3")
                                   .Input("handle: resource")
                                   .Input("index: int32")
                                   .Input("value: T")
                                   .Input("flow_in: float")
                                   .Output("flow_out: float")
                                   .Attr("T: type")
                                   .Stateful()
                                   .Shape(FlowShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayReadV3")
                                   .Input("handle: resource")
                                   .Input("index: int32")
                                   .Input("flow_in: float")
                                   .Output("value: dtype")
                                   .Attr("dtype: type")
                                   .Stateful()
                                   .Shape(ReadShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayGatherV3")
                                   .Input("handle: resource")
                                   .Input("indices: int32")
                                   .Input("flow_in: float")
                                   .Output("value: dtype")
                                   .Attr("dtype: type")
                                   .Attr("element_shape: shape = { unknown_rank: true }")
                                   .Stateful()
                                   .Shape(ArrayGatherShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayScatterV3")
                                   .Input("handle: resource")
                                   .Input("indices: int32")
                                   .Input("value: T")
                                   .Input("flow_in: float")
                                   .Output("flow_out: float")
                                   .Attr("T: type")
                                   .Stateful()
                                   .Shape(FlowShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayConcatV3")
                                   .Input("handle: resource")
                                   .Input("flow_in: float")
                                   .Output("value: dtype")
                                   .Output("lengths: int64")
                                   .Attr("dtype: type")
                                   .Attr("element_shape_except0: shape = { unknown_rank: true }")
                                   .Stateful()
                                   .Shape(ArrayConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArraySplitV3")
                                   .Input("handle: resource")
                                   .Input("value: T")
                                   .Input("lengths: int64")
                                   .Input("flow_in: float")
                                   .Output("flow_out: float")
                                   .Attr("T: type")
                                   .Stateful()
                                   .Shape(FlowShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArraySizeV3")
                                   .Input("handle: resource")
                                   .Input("flow_in: float")
                                   .Output("size: int32")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayGradV3")
                                   .Input("handle: resource")
                                   .Input("flow_in: float")
                                   .Output("grad_handle: resource")
                                   .Output("flow_out: float")
                                   .Attr("source: string")
                                   .Stateful()
                                   .Shape(ArrayGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayGradWithShape")
                                   .Input("handle: resource")
                                   .Input("flow_in: float")
                                   .Input("shape_to_prepend: int32")
                                   .Output("grad_handle: resource")
                                   .Output("flow_out: float")
                                   .Attr("source: string")
                                   .Stateful()
                                   .Shape(ArrayGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorArrayCloseV3").Input("handle: resource").Stateful().Shape(shapes::NoOutputs)));
  return absl::OkStatus();
}

absl::Status RegisterTensorListOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("EmptyTensorList")
                                   .Input("element_shape: shape_type")
                                   .Input("max_num_elements: int32")
                                   .Output("handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(NewListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListReserve")
                                   .Input("element_shape: shape_type")
                                   .Input("num_elements: int32")
                                   .Output("handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(NewListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListPushBack")
                                   .Input("input_handle: variant")
                                   .Input("tensor: element_dtype")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Shape(ListToListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListPopBack")
                                   .Input("input_handle: variant")
                                   .Input("element_shape: int32")
                                   .Output("output_handle: variant")
                                   .Output("tensor: element_dtype")
                                   .Attr("element_dtype: type")
                                   .Shape(PopBackShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListSetItem")
                                   .Input("input_handle: variant")
                                   .Input("index: int32")
                                   .Input("item: element_dtype")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("resize_if_index_out_of_bounds: bool = false")
                                   .Shape(ListToListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListGetItem")
                                   .Input("input_handle: variant")
                                   .Input("index: int32")
                                   .Input("element_shape: Tshape")
                                   .Output("item: element_dtype")
                                   .Attr("element_dtype: type")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape(GetItemShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListStack")
                                   .Input("input_handle: variant")
                                   .Input("element_shape: int32")
                                   .Output("tensor: element_dtype")
                                   .Attr("element_dtype: type")
                                   .Attr("num_elements: int = -1")
                                   .Shape(ListStackShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListFromTensor")
                                   .Input("tensor: element_dtype")
                                   .Input("element_shape: shape_type")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(FromTensorShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("TensorListLength").Input("input_handle: variant").Output("length: int32").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListElementShape")
                                   .Input("input_handle: variant")
                                   .Output("element_shape: shape_type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(ElementShapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListGather")
                                   .Input("input_handle: variant")
                                   .Input("indices: int32")
                                   .Input("element_shape: int32")
                                   .Output("values: element_dtype")
                                   .Attr("element_dtype: type")
                                   .Shape(ListGatherShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListScatter")
                                   .Input("tensor: element_dtype")
                                   .Input("indices: int32")
                                   .Input("element_shape: shape_type")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(ListScatterShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListScatterV2")
                                   .Input("tensor: element_dtype")
                                   .Input("indices: int32")
                                   .Input("element_shape: shape_type")
                                   .Input("num_elements: int32")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(ListScatterShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListScatterIntoExistingList")
                                   .Input("input_handle: variant")
                                   .Input("tensor: element_dtype")
                                   .Input("indices: int32")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Shape(ListToListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListConcat")
                                   .Input("input_handle: variant")
                                   .Output("tensor: element_dtype")
                                   .Output("lengths: int64")
                                   .Attr("element_dtype: type")
                                   .Attr("element_shape: shape = { unknown_rank: true }")
                                   .Shape(ListConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListConcatV2")
                                   .Input("input_handle: variant")
                                   .Input("element_shape: shape_type")
                                   .Input("leading_dims: int64")
                                   .Output("tensor: element_dtype")
                                   .Output("lengths: int64")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(ListConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListSplit")
                                   .Input("tensor: element_dtype")
                                   .Input("element_shape: shape_type")
                                   .Input("lengths: int64")
                                   .Output("output_handle: variant")
                                   .Attr("element_dtype: type")
                                   .Attr("shape_type: {int32, int64}")
                                   .Shape(FromTensorShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListConcatLists")
                                   .Input("input_a: variant")
                                   .Input("input_b: variant")
                                   .Output("output: variant")
                                   .Attr("element_dtype: type")
                                   .Shape(ListToListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListPushBackBatch")
                                   .Input("input_handles: variant")
                                   .Input("tensor: element_dtype")
                                   .Output("output_handles: variant")
                                   .Attr("element_dtype: type")
                                   .Shape(ListToListShape)));
  RETURN_IF_ERROR(ops.Register(Op("TensorListResize")
                                   .Input("input_handle: variant")
                                   .Input("size: int32")
                                   .Output("output_handle: variant")
                                   .Shape(ListToListShape)));
  return absl::OkStatus();
}

}  // namespace weir
