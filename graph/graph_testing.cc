#include "graph/graph_testing.h"

#include <google/protobuf/text_format.h>

#include <cstdio>
#include <cstdlib>

#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

absl::Status ConstShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::FromProto(FindAttr(c.node(), "value")->tensor().tensor_shape()));
  c.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status PlaceholderShape(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status SwitchShape(InferenceContext& c) {
  for (int i : {0, 1}) shapes::PassOn(c, 0, i);
  return absl::OkStatus();
}

absl::Status MergeShape(InferenceContext& c) {
  bool same = true;
  for (int i = 1; i < c.num_inputs(); ++i) same = same && c.input(i) == c.input(0);
  c.set_output(0, same ? c.input(0) : InferenceContext::UnknownOfRank(c.input(0).dims()));
  c.set_output(1, InferenceContext::Scalar());
  return absl::OkStatus();
}

Op Unary(absl::string_view name) {
  return Op(name).Input("x: T").Output("y: T").Attr("T: type").Shape(shapes::Unchanged);
}

Op Binary(absl::string_view name) {
  return Op(name).Input("x: T").Input("y: T").Output("z: T").Attr("T: type").Shape(shapes::BroadcastBinary);
}

Op Loop(absl::string_view name) {
  return Op(name).Input("data: T").Output("output: T").Attr("T: type").Shape(shapes::Unchanged);
}

std::vector<Op> Definitions() {
  return {
      Op("Const").Output("output: dtype").Attr("value: tensor").Attr("dtype: type").Shape(ConstShape),
      Op("Placeholder")
          .Output("output: dtype")
          .Attr("dtype: type")
          .Attr("shape: shape = { unknown_rank: true }")
          .Shape(PlaceholderShape),
      Op("NoOp"),
      Op("Old").Deprecated(5, "Use NoOp"),
      Op("Identity").Input("input: T").Output("output: T").Attr("T: type").Shape(shapes::Unchanged),
      Op("IdentityN").Input("input: T").Output("output: T").Attr("T: list(type) >= 1"),
      Unary("Neg"),
      Unary("Square"),
      Binary("Add"),
      Binary("Mul").Commutative(),
      Binary("Less"),
      Op("MatMul")
          .Input("a: T")
          .Input("b: T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {float, double, int32}")
          .Shape(shapes::MatMul),
      Op("BiasAdd")
          .Input("value: T")
          .Input("bias: T")
          .Output("output: T")
          .Attr("T: type")
          .Attr("data_format: string = 'NHWC'"),
      Unary("Relu"),
      Unary("Softmax"),
      Binary("AddV2"),
      Binary("RealDiv"),
      Binary("Sub"),
      Op("Sum")
          .Input("input: T")
          .Input("reduction_indices: Tidx")
          .Output("output: T")
          .Attr("keep_dims: bool = false")
          .Attr("T: type")
          .Attr("Tidx: {int32, int64} = DT_INT32"),
      Op("BroadcastGradientArgs")
          .Input("s0: T")
          .Input("s1: T")
          .Output("r0: T")
          .Output("r1: T")
          .Attr("T: {int32, int64} = DT_INT32"),
      Op("BatchMatMulV2")
          .Input("x: T")
          .Input("y: T")
          .Output("output: T")
          .Attr("T: type")
          .Attr("adj_x: bool = false")
          .Attr("adj_y: bool = false"),
      Op("_FusedAttention")
          .Input("q: T")
          .Input("k: T")
          .Input("v: T")
          .Input("mask: num_masks * T")
          .Output("output: T")
          .Output("statistics: num_statistics * float")
          .Attr("T: {bfloat16, half, float}")
          .Attr("num_masks: int >= 0 = 0")
          .Attr("num_statistics: int >= 0 = 0")
          .Attr("scale: float = 1")
          .Attr("transpose_k: bool = true"),
      Op("_FusedAttentionGrad")
          .Input("q: T")
          .Input("k: T")
          .Input("v: T")
          .Input("mask: num_masks * T")
          .Input("output: T")
          .Input("largest: float")
          .Input("sum: float")
          .Input("gradient: T")
          .Output("dq: T")
          .Output("dk: T")
          .Output("dv: T")
          .Attr("T: {bfloat16, half, float}")
          .Attr("num_masks: int >= 0 = 0")
          .Attr("scale: float = 1")
          .Attr("transpose_k: bool = true")
          .Attr("sums_weights: bool = false")
          .Attr("sums_scores: bool = false"),
      Op("Variable").Output("resource: resource"),
      Op("QueueCloseV2").MayBlock().Input("handle: resource"),
      Op("_CommitDecide").Attr("keys: list(string) = []"),
      Op("_CommitReady"),
      Op("_CommitWait")
          .Attr("key: string = ''")
          .Attr("coordinator: string = ''")
          .Attr("decider: string = ''")
          .Attr("decider_incarnation: int = 0"),
      Op("_CommitRelay").Attr("keys: list(string) = []"),
      Op("ControlTrigger"),
      Op("ResourceApplyMomentum")
          .WritesState()
          .Input("var: resource")
          .Input("accum: resource")
          .Input("lr: T")
          .Input("grad: T")
          .Input("momentum: T")
          .Attr("T: type")
          .Attr("use_nesterov: bool = false"),
      Op("_FusedResourceApply")
          .Input("variables: num_variables * resource")
          .Input("scalars: num_scalars * T")
          .Input("gradients: N * T")
          .Attr("rule: string")
          .Attr("T: type")
          .Attr("N: int >= 1")
          .Attr("num_variables: int >= 1")
          .Attr("num_scalars: int >= 0")
          .Attr("flag: bool = false")
          .Attr("names: list(string)"),
      Op("_AttentionScoresShape")
          .Input("q: T")
          .Input("k: T")
          .Input("mask: num_masks * T")
          .Output("output: out_type")
          .Attr("T: {bfloat16, half, float}")
          .Attr("num_masks: int >= 0 = 0")
          .Attr("transpose_k: bool = true")
          .Attr("out_type: {int32, int64} = DT_INT32"),
      Op("_FusedMatMul")
          .Input("a: T")
          .Input("b: T")
          .Input("args: num_args * T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {float}")
          .Attr("num_args: int >= 0")
          .Attr("fused_ops: list(string) = []")
          .Attr("leakyrelu_alpha: float = 0.2"),
      Op("AddN").Input("inputs: N * T").Output("sum: T").Attr("N: int >= 1").Attr("T: type").Shape(shapes::MergeAll),
      Op("RemoteCall")
          .Input("target: string")
          .Input("args: Tin")
          .Output("output: Tout")
          .Attr("Tin: list(type) >= 1")
          .Attr("Tout: list(type) >= 1")
          .Attr("f: func"),
      Op("_TargetDevice").Input("target: string").Output("index: int32").Attr("devices: list(string)"),
      Op("_SwitchN")
          .Input("data: T")
          .Input("output_index: int32")
          .Output("outputs: num_outs * T")
          .Attr("num_outs: int >= 1")
          .Attr("T: type"),
      Op("Split2").Input("value: T").Output("low: T").Output("high: T").Attr("T: type"),
      Op("Shape")
          .Input("input: T")
          .Output("output: out_type")
          .Attr("T: type")
          .Attr("out_type: {int32, int64} = DT_INT32")
          .Shape(shapes::ShapeOf),
      Op("Reshape")
          .Input("tensor: T")
          .Input("shape: Tshape")
          .Output("output: T")
          .Attr("T: type")
          .Attr("Tshape: {int32, int64} = DT_INT32")
          .Shape(shapes::Reshape),
      Op("Pack")
          .Input("values: N * T")
          .Output("output: T")
          .Attr("N: int >= 1")
          .Attr("T: type")
          .Attr("axis: int = 0")
          .Shape(shapes::Pack),
      Op("StridedSlice")
          .Input("input: T")
          .Input("begin: Index")
          .Input("end: Index")
          .Input("strides: Index")
          .Output("output: T")
          .Attr("T: type")
          .Attr("Index: {int32, int64}")
          .Attr("begin_mask: int = 0")
          .Attr("end_mask: int = 0")
          .Attr("ellipsis_mask: int = 0")
          .Attr("new_axis_mask: int = 0")
          .Attr("shrink_axis_mask: int = 0")
          .Shape(shapes::StridedSlice),
      Op("_Send")
          .Input("tensor: T")
          .Attr("T: type")
          .Attr("tensor_name: string")
          .Attr("send_device: string")
          .Attr("send_device_incarnation: int")
          .Attr("recv_device: string")
          .Attr("client_terminated: bool = false")
          .Stateful(),
      Op("_Recv")
          .Output("tensor: tensor_type")
          .Attr("tensor_type: type")
          .Attr("tensor_name: string")
          .Attr("send_device: string")
          .Attr("send_device_incarnation: int")
          .Attr("recv_device: string")
          .Attr("client_terminated: bool = false")
          .Stateful(),
      Op("RandomUniform")
          .Input("shape: T")
          .Output("output: dtype")
          .Attr("seed: int = 0")
          .Attr("dtype: {half, float, double}")
          .Attr("T: {int32, int64}")
          .Stateful()
          .Shape(shapes::FromShapeInput),
      Op("VarHandleOp")
          .Output("resource: resource")
          .Attr("container: string = ''")
          .Attr("shared_name: string = ''")
          .Stateful(),
      Op("AssignAddVariableOp").WritesState().Input("resource: resource").Input("value: T").Attr("T: type").Stateful(),
      Op("ReadVariableOp").Input("resource: resource").Output("value: T").Attr("T: type = DT_FLOAT").Stateful(),
      Op("VariableV2")
          .Output("ref: Ref(dtype)")
          .Attr("shape: shape")
          .Attr("dtype: type")
          .Attr("container: string = ''")
          .Attr("shared_name: string = ''")
          .Stateful()
          .Shape(PlaceholderShape),
      Op("Assign")
          .Input("ref: Ref(T)")
          .Input("value: T")
          .Output("output_ref: Ref(T)")
          .Attr("T: type")
          .AllowsUninitializedInput()
          .Shape(shapes::Unchanged),
      Op("Switch")
          .Input("data: T")
          .Input("pred: bool")
          .Output("output_false: T")
          .Output("output_true: T")
          .Attr("T: type")
          .Shape(SwitchShape),
      Op("Merge")
          .Input("inputs: N * T")
          .Output("output: T")
          .Output("value_index: int32")
          .Attr("T: type")
          .Attr("N: int >= 1")
          .Shape(MergeShape),
      Loop("Enter").Attr("frame_name: string").Attr("is_constant: bool = false").Attr("parallel_iterations: int = 10"),
      Loop("Exit"),
      Loop("NextIteration"),
      Op("LoopCond").Input("input: bool").Output("output: bool").Shape(shapes::Unchanged),
      Op("_Arg").Output("output: T").Attr("T: type").Attr("index: int >= 0").Stateful(),
      Op("_Retval").Input("input: T").Attr("T: type").Attr("index: int >= 0").Stateful(),
      Op("PartitionedCall")
          .Input("args: Tin")
          .Output("output: Tout")
          .Attr("Tin: list(type) >= 0")
          .Attr("Tout: list(type) >= 0")
          .Attr("f: func"),
      Op("StatefulPartitionedCall")
          .Input("args: Tin")
          .Output("output: Tout")
          .Attr("Tin: list(type) >= 0")
          .Attr("Tout: list(type) >= 0")
          .Attr("f: func")
          .Stateful(),
      Op("AttrZoo")
          .Attr("s: string = 'x'")
          .Attr("i: int = 1")
          .Attr("f: float = 1.5")
          .Attr("ls: list(string) = []")
          .Attr("lf: list(float) = []")
          .Attr("lb: list(bool) = []")
          .Attr("lt: list(type) = []")
          .Attr("lshape: list(shape) = []")
          .Attr("ltensor: list(tensor) = []")
          .Attr("lfunc: list(func) = []"),
  };
}

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace

const OpRegistry& TestOps() {
  static const OpRegistry* ops = [] {
    auto* registry = new OpRegistry;
    for (const Op& op : Definitions()) {
      if (absl::Status status = registry->Register(op); !status.ok()) Die(status.ToString());
    }
    return registry;
  }();
  return *ops;
}

tensorflow::GraphDef GraphDefFromText(const std::string& text) {
  tensorflow::GraphDef def;
  if (!google::protobuf::TextFormat::ParseFromString(text, &def)) Die("bad text:\n" + text);
  return def;
}

}  // namespace weir
