// Constants, placeholders, and ops that pass their inputs on.
#include "core/op/attr_value.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/array/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

absl::Status ConstShape(InferenceContext& c) {
  const tensorflow::AttrValue* value = FindAttr(c.node(), "value");
  if (value == nullptr) return errors::InvalidArgument("attr 'value' is missing");
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::FromProto(value->tensor().tensor_shape()));
  c.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status HostConstShape(InferenceContext& c) {
  Tensor value;
  RETURN_IF_ERROR(c.GetAttr("value", &value));
  c.set_output(0, value.shape());
  return absl::OkStatus();
}

absl::Status PlaceholderShape(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, shape);
  return absl::OkStatus();
}

// The default must fit, but another value of the declared shape may be fed.
absl::Status PlaceholderWithDefaultShape(InferenceContext& c) {
  RETURN_IF_ERROR(PlaceholderShape(c));
  return c.input(0).MergeWith(c.output(0)).status();
}

absl::Status PassOnEach(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) shapes::PassOn(c, i, i);
  return absl::OkStatus();
}

absl::Status EachUnchanged(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterValueOps(OpRegistry& ops) {
  RETURN_IF_ERROR(
      ops.Register(Op("Const").Output("output: dtype").Attr("value: tensor").Attr("dtype: type").Shape(ConstShape)));
  RETURN_IF_ERROR(ops.Register(Op("NoOp").Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(
      Op("Identity").Input("input: T").Output("output: T").Attr("T: type").Elementwise().Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("RefIdentity")
                                   .Input("input: Ref(T)")
                                   .Output("output: Ref(T)")
                                   .Attr("T: type")
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(
      ops.Register(Op("IdentityN").Input("input: T").Output("output: T").Attr("T: list(type) >= 1").Shape(PassOnEach)));
  RETURN_IF_ERROR(ops.Register(
      Op("StopGradient").Input("input: T").Output("output: T").Attr("T: type").Elementwise().Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("PreventGradient")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("message: string = ''")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Placeholder")
                                   .Output("output: dtype")
                                   .Attr("dtype: type")
                                   .Attr("shape: shape = { unknown_rank: true }")
                                   .Shape(PlaceholderShape)));
  RETURN_IF_ERROR(ops.Register(Op("PlaceholderV2")
                                   .Output("output: dtype")
                                   .Attr("dtype: type")
                                   .Attr("shape: shape")
                                   .Deprecated(23, "Placeholder now behaves the same as PlaceholderV2.")
                                   .Shape(PlaceholderShape)));
  RETURN_IF_ERROR(ops.Register(Op("PlaceholderWithDefault")
                                   .Input("input: dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: type")
                                   .Attr("shape: shape")
                                   .Shape(PlaceholderWithDefaultShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("HostConst").Output("output: dtype").Attr("value: tensor").Attr("dtype: type").Shape(HostConstShape)));
  RETURN_IF_ERROR(ops.Register(Op("_ListToArray")
                                   .Input("input: Tin")
                                   .Output("output: N * T")
                                   .Attr("Tin: list(type) >= 1")
                                   .Attr("T: type")
                                   .Attr("N: int >= 1")
                                   .Shape(EachUnchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_ArrayToList")
                                   .Input("input: N * T")
                                   .Output("output: out_types")
                                   .Attr("T: type")
                                   .Attr("N: int >= 1")
                                   .Attr("out_types: list(type) >= 1")
                                   .Shape(EachUnchanged)));
  return absl::OkStatus();
}

}  // namespace weir
