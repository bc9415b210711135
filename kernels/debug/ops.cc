// Ops that debuggers put into graphs, and relatives of Identity and Const.
#include "core/attr_value.h"
#include "graph/shape_inference.h"
#include "kernels/debug/family.h"

namespace weir {
namespace {

absl::Status VectorShape(InferenceContext& c) {
  c.set_output(0, c.Vector(-1));
  return absl::OkStatus();
}
absl::Status ValueShape(InferenceContext& c) {
  Tensor value;
  RETURN_IF_ERROR(c.GetAttr("value", &value));
  c.set_output(0, value.shape());
  return absl::OkStatus();
}
absl::Status RefSelectShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  PartialTensorShape first = c.input(1);
  for (int i = 2; i < c.num_inputs(); ++i) {
    if (!(c.input(i) == first)) first = PartialTensorShape();
  }
  if (first.IsFullyDefined()) c.set_output(0, std::move(first));
  return absl::OkStatus();
}
absl::Status EachUnchanged(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDebugOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("DebugIdentity")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("device_name: string = ''")
                                   .Attr("tensor_name: string = ''")
                                   .Attr("debug_urls: list(string) = []")
                                   .Attr("gated_grpc: bool = false")
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("DebugIdentityV2")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("tfdbg_context_id: string = ''")
                                   .Attr("op_name: string = ''")
                                   .Attr("output_slot: int = -1")
                                   .Attr("tensor_debug_mode: int = -1")
                                   .Attr("debug_urls: list(string) = []")
                                   .Attr("circular_buffer_size: int = 1000")
                                   .Attr("tfdbg_run_id: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("DebugIdentityV3")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("device_name: string = ''")
                                   .Attr("tensor_name: string = ''")
                                   .Attr("io_of_node: string = ''")
                                   .Attr("is_input: bool = false")
                                   .Attr("io_index: int = -1")
                                   .Attr("debug_urls: list(string) = []")
                                   .Attr("gated_grpc: bool = false")
                                   .Stateful()
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"Copy", "CopyHost"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: T")
                                     .Output("output: T")
                                     .Attr("T: type")
                                     .Attr("tensor_name: string = ''")
                                     .Attr("debug_ops_spec: list(string) = []")
                                     .AllowsUninitializedInput()
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("DebugNanCount")
                                   .Input("input: T")
                                   .Output("output: int64")
                                   .Attr("T: type")
                                   .Attr("device_name: string = ''")
                                   .Attr("tensor_name: string = ''")
                                   .Attr("debug_urls: list(string) = []")
                                   .Attr("gated_grpc: bool = false")
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("DebugNumericSummary")
                                   .Input("input: T")
                                   .Output("output: double")
                                   .Attr("T: type")
                                   .Attr("device_name: string = ''")
                                   .Attr("tensor_name: string = ''")
                                   .Attr("debug_urls: list(string) = []")
                                   .Attr("lower_bound: float = -inf")
                                   .Attr("upper_bound: float = inf")
                                   .Attr("mute_if_healthy: bool = false")
                                   .Attr("gated_grpc: bool = false")
                                   .AllowsUninitializedInput()
                                   .Shape(VectorShape)));
  RETURN_IF_ERROR(ops.Register(Op("DebugNumericSummaryV2")
                                   .Input("input: T")
                                   .Output("output: output_dtype")
                                   .Attr("output_dtype: {float, double} = DT_FLOAT")
                                   .Attr("T: type")
                                   .Attr("tensor_debug_mode: int = -1")
                                   .Attr("tensor_id: int = -1")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("DebugGradientIdentity")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("DebugGradientRefIdentity")
                                   .Input("input: Ref(T)")
                                   .Output("output: Ref(T)")
                                   .Attr("T: type")
                                   .AllowsUninitializedInput()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("CheckNumericsV2")
                                   .Input("tensor: T")
                                   .Output("output: T")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("message: string")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("RefSelect")
                                   .Input("index: int32")
                                   .Input("inputs: Ref(N * T)")
                                   .Output("output: Ref(T)")
                                   .Attr("T: type")
                                   .Attr("N: int >= 1")
                                   .Shape(RefSelectShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("HostConst").Output("output: dtype").Attr("value: tensor").Attr("dtype: type").Shape(ValueShape)));
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
