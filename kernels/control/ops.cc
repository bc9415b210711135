// Control flow, calls of functions, sends and receives, and tensors kept by a session.
#include "core/fusion/fused_node.h"
#include "core/gpu/copy_ops.h"
#include "core/gpu/graph_ops.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/control/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using shapes::PassOn;

absl::Status AttrShape(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status PassOnAll(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) PassOn(c, i, i);
  return absl::OkStatus();
}

absl::Status SwitchShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) PassOn(c, 0, i);
  return absl::OkStatus();
}

// The dimensions that all inputs share: any of them may arrive.
absl::Status MergeShape(InferenceContext& c) {
  PartialTensorShape common = c.input(0);
  bool same_handles = true;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialTensorShape& other = c.input(i);
    if (common.unknown_rank() || other.dims() != common.dims()) {
      common = PartialTensorShape();
      break;
    }
    DimVector dims(common.dim_sizes().begin(), common.dim_sizes().end());
    for (int d = 0; d < common.dims(); ++d) {
      if (dims[d] != other.dim_size(d)) dims[d] = -1;
    }
    ASSIGN_OR_RETURN(common, PartialTensorShape::Build(dims));
  }
  for (int i = 1; i < c.num_inputs(); ++i) {
    const auto &a = c.input_handle(0), &b = c.input_handle(i);
    same_handles = same_handles && a.size() == b.size();
    for (size_t k = 0; same_handles && k < a.size(); ++k) {
      same_handles = a[k].dtype == b[k].dtype && a[k].shape == b[k].shape;
    }
  }
  c.set_output(0, common);
  if (same_handles) c.set_output_handle(0, c.input_handle(0));
  c.set_output(1, InferenceContext::Scalar());
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

absl::Status ScalarShape(InferenceContext& c) {
  c.set_output(0, InferenceContext::Scalar());
  return absl::OkStatus();
}

absl::Status LoopCondShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 0));
  c.set_output(0, shape);
  return absl::OkStatus();
}

// Uses attribute output_shapes if it is set; it must have a shape for each output. Returns whether it is set.
absl::StatusOr<bool> UseOutputShapes(InferenceContext& c) {
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (shapes.empty()) return false;
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as num outputs (", shapes.size(), " vs. ",
                                   c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return true;
}

absl::Status BranchShape(InferenceContext& c) { return UseOutputShapes(c).status(); }

absl::Status WhileShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(bool known, UseOutputShapes(c));
  if (known) return absl::OkStatus();
  return PassOnAll(c);
}

absl::Status RegisterAll(OpRegistry& ops, std::initializer_list<Op> definitions) {
  for (const Op& op : definitions) RETURN_IF_ERROR(ops.Register(op));
  return absl::OkStatus();
}

absl::Status RegisterControlFlowOps(OpRegistry& ops) {
  for (const bool ref : {false, true}) {
    const std::string prefix = ref ? "Ref" : "", value = ref ? "Ref(T)" : "T", list = ref ? "Ref(N * T)" : "N * T";
    const std::string input = absl::StrCat("data: ", value), output = absl::StrCat("output: ", value);
    Op switch_op(prefix + "Switch");
    switch_op.Input(input).Input("pred: bool").Output("output_false: " + value).Output("output_true: " + value);
    switch_op.Attr("T: type").Shape(SwitchShape);
    if (ref) switch_op.AllowsUninitializedInput();
    RETURN_IF_ERROR(ops.Register(switch_op));
    RETURN_IF_ERROR(RegisterAll(
        ops, {
                 Op(prefix + "Merge")
                     .Input("inputs: " + list)
                     .Output(output)
                     .Output("value_index: int32")
                     .Attr("T: type")
                     .Attr("N: int >= 1")
                     .Shape(MergeShape),
                 Op(prefix + "Enter")
                     .Input(input)
                     .Output(output)
                     .Attr("T: type")
                     .Attr("frame_name: string")
                     .Attr("is_constant: bool = false")
                     .Attr("parallel_iterations: int = 10")
                     .Shape(shapes::Unchanged),
                 Op(prefix + "Exit").Input(input).Output(output).Attr("T: type").Shape(shapes::Unchanged),
                 Op(prefix + "NextIteration").Input(input).Output(output).Attr("T: type").Shape(shapes::Unchanged),
             }));
  }
  return RegisterAll(
      ops,
      {
          Op("_SwitchN")
              .Input("data: T")
              .Input("output_index: int32")
              .Output("outputs: num_outs * T")
              .Attr("num_outs: int >= 1")
              .Attr("T: type")
              .Shape(SwitchShape),
          Op("_TargetDevice")
              .Input("target: string")
              .Output("index: int32")
              .Attr("devices: list(string)")
              .Shape(ScalarShape),
          Op("RefSelect")
              .Input("index: int32")
              .Input("inputs: Ref(N * T)")
              .Output("output: Ref(T)")
              .Attr("T: type")
              .Attr("N: int >= 1")
              .Shape(RefSelectShape),
          Op("LoopCond").Input("input: bool").Output("output: bool").Shape(LoopCondShape),
          Op("ControlTrigger").Shape(shapes::NoOutputs),
          Op("Abort").Attr("error_msg: string = ''").Attr("exit_without_error: bool = false").Shape(shapes::NoOutputs),
      });
}

absl::Status RegisterTransferOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterAll(
      ops,
      {
          Op("_Arg").Output("output: T").Attr("T: type").Attr("index: int >= 0").Stateful().Shape(shapes::Unknown),
          Op("_Retval").Input("input: T").Attr("T: type").Attr("index: int >= 0").Stateful().Shape(shapes::NoOutputs),
      }));
  for (const char* op : {kCopyToDevice, kCopyToHost}) {
    RETURN_IF_ERROR(
        ops.Register(Op(op).Input("input: T").Output("output: T").Attr("T: type").Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op(kGpuGraphOp)
                                   .Input("args: Tin")
                                   .Output("results: Tout")
                                   .Attr("Tin: list(type) >= 0")
                                   .Attr("Tout: list(type) >= 0")
                                   .Stateful()
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op(kFusedElementwiseOp)
                                   .Input("args: Tin")
                                   .Output("results: Tout")
                                   .Attr("Tin: list(type) >= 1")
                                   .Attr("Tout: list(type) >= 1")
                                   .Attr("steps: list(string) >= 1")
                                   .Attr("outputs: list(int) >= 1")
                                   .Attr("nodes: list(string) >= 1")
                                   .Attr("fold: string = ''")
                                   .Attr("axes: list(int) = []")
                                   .Attr("keep_dims: bool = false")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op(kCopyFromPeer)
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr(absl::StrCat(kPeerAttr, ": string"))
                                   .Shape(shapes::Unchanged)));
  for (const char* prefix : {"_", "_Host"}) {
    Op send(absl::StrCat(prefix, "Send")), recv(absl::StrCat(prefix, "Recv"));
    send.Input("tensor: T").Attr("T: type").Shape(shapes::NoOutputs);
    recv.Output("tensor: tensor_type").Attr("tensor_type: type").Shape(shapes::Unknown).DistributedCommunication();
    for (Op* op : {&send, &recv}) {
      op->Attr("tensor_name: string").Attr("send_device: string").Attr("send_device_incarnation: int");
      op->Attr("recv_device: string").Attr("client_terminated: bool = false").Stateful();
      RETURN_IF_ERROR(ops.Register(*op));
    }
  }
  return absl::OkStatus();
}

Op CallOp(absl::string_view name, int least_arguments) {
  const std::string bound = absl::StrCat("list(type) >= ", least_arguments);
  Op op(name);
  if (name == "RemoteCall") op.Input("target: string");
  op.Input(name == "SymbolicGradient" ? "input: Tin" : "args: Tin").Output("output: Tout");
  op.Attr("Tin: " + bound).Attr("Tout: " + bound).Attr("f: func").Shape(shapes::Unknown);
  return op;
}

Op BranchOp(absl::string_view name, bool stateful) {
  Op op(name);
  const bool many = name == "Case" || name == "StatelessCase";
  op.Input(many ? "branch_index: int32" : "cond: Tcond").Input("input: Tin").Output("output: Tout");
  if (!many) op.Attr("Tcond: type");
  op.Attr("Tin: list(type) >= 0").Attr("Tout: list(type) >= 0");
  if (many) {
    op.Attr("branches: list(func) >= 1");
  } else {
    op.Attr("then_branch: func").Attr("else_branch: func");
  }
  op.Attr("output_shapes: list(shape) = []").Shape(BranchShape);
  if (stateful) op.Stateful();
  return op;
}

Op WhileOp(absl::string_view name, bool stateful) {
  Op op(name);
  op.Input("input: T").Output("output: T").Attr("T: list(type) >= 0").Attr("cond: func").Attr("body: func");
  op.Attr("output_shapes: list(shape) = []").Attr("parallel_iterations: int = 10").Shape(WhileShape);
  if (stateful) op.Stateful();
  return op;
}

absl::Status RegisterFunctionOps(OpRegistry& ops) {
  for (const bool stateful : {false, true}) {
    Op call = CallOp(stateful ? "StatefulPartitionedCall" : "PartitionedCall", 0);
    call.Attr("config: string = ''").Attr("config_proto: string = ''").Attr("executor_type: string = ''");
    if (stateful) call.Stateful().DistributedCommunication();
    RETURN_IF_ERROR(ops.Register(call));
    RETURN_IF_ERROR(ops.Register(BranchOp(stateful ? "If" : "StatelessIf", stateful)));
    RETURN_IF_ERROR(ops.Register(BranchOp(stateful ? "Case" : "StatelessCase", stateful)));
    RETURN_IF_ERROR(ops.Register(WhileOp(stateful ? "While" : "StatelessWhile", stateful)));
  }
  RETURN_IF_ERROR(RegisterAll(
      ops,
      {
          Op("For")
              .Input("start: int32")
              .Input("limit: int32")
              .Input("delta: int32")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: list(type) >= 0")
              .Attr("body: func")
              .Shape(shapes::Unknown),
          Op("ToBool").Input("input: T").Output("output: bool").Attr("T: type").Shape(ScalarShape),
          Op("FakeParam").Output("output: dtype").Attr("dtype: type").Attr("shape: shape").Shape(AttrShape),
          Op("DeviceIndex").Output("index: int32").Attr("device_names: list(string)").Stateful().Shape(ScalarShape),
      }));
  RETURN_IF_ERROR(ops.Register(CallOp("SymbolicGradient", 1)));
  return ops.Register(CallOp("RemoteCall", 1).Stateful());
}

absl::Status RegisterSessionTensorOps(OpRegistry& ops) {
  return RegisterAll(ops, {
                              Op("GetSessionHandle")
                                  .Input("value: T")
                                  .Output("handle: string")
                                  .Attr("T: type")
                                  .Stateful()
                                  .Shape(ScalarShape),
                              Op("GetSessionHandleV2")
                                  .Input("value: T")
                                  .Output("handle: resource")
                                  .Attr("T: type")
                                  .Stateful()
                                  .Shape(ScalarShape),
                              Op("GetSessionTensor")
                                  .Input("handle: string")
                                  .Output("value: dtype")
                                  .Attr("dtype: type")
                                  .Stateful()
                                  .Shape(shapes::Unknown),
                              Op("DeleteSessionTensor").Input("handle: string").Stateful().Shape(shapes::NoOutputs),
                          });
}

}  // namespace

absl::Status RegisterControlOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterControlFlowOps(ops));
  RETURN_IF_ERROR(RegisterTransferOps(ops));
  RETURN_IF_ERROR(RegisterSessionTensorOps(ops));
  return RegisterFunctionOps(ops);
}

}  // namespace weir
