// Ops that debuggers put into graphs.
#include "graph/shapes/shape_inference.h"
#include "kernels/debug/family.h"

namespace weir {
namespace {

absl::Status VectorShape(InferenceContext& c) {
  c.set_output(0, c.Vector(-1));
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
  for (const char* name : {"CheckNumerics", "CheckNumericsV2"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("tensor: T")
                                     .Output("output: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Attr("message: string")
                                     .Stateful()
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  return absl::OkStatus();
}

}  // namespace weir
