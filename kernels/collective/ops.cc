// Collectives: ops that the members of a group run together. The first versions have their keys as attributes, V2 as
// inputs, V3 a communicator.
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/collective/family.h"

namespace weir {
namespace {

constexpr char kReducedTypes[] = "T: {bfloat16, float, half, double, int32, int64}";
constexpr char kGatheredTypes[] = "T: {float, half, double, int32, int64}";
constexpr char kBroadcastTypes[] = "T: {bool, float, half, double, int32, int64}";
constexpr char kMergeOp[] = "merge_op: {'Min', 'Max', 'Mul', 'Add'}";
constexpr char kFinalOp[] = "final_op: {'Id', 'Div'}";

Op Collective(const std::string& name) {
  Op op(name);
  op.Stateful().MayBlock().DistributedCommunication();
  return op;
}

Op& KeyAttributes(Op& op) { return op.Attr("group_size: int").Attr("group_key: int").Attr("instance_key: int"); }

Op& HintAndTimeout(Op& op) { return op.Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0"); }

Op& KeyInputs(Op& op) { return op.Input("group_size: int32").Input("group_key: int32").Input("instance_key: int32"); }

Op& OrderingTokens(Op& op) { return op.Input("ordering_token: Nordering_token * resource"); }

absl::Status ShapeOfAttribute(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, shape);
  return absl::OkStatus();
}

// Dimension 0 depends on the size of the group.
absl::Status OtherFirstDimension(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, c.WithRankAtLeast(c.input(0), 1));
  if (shape.dims() < 0) return absl::OkStatus();
  std::vector<int64_t> dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
  dims[0] = -1;
  c.set_output(0, InferenceContext::Of(dims));
  return absl::OkStatus();
}

absl::Status GatheredShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, c.WithRankAtLeast(c.input(0), 1));
  if (shape.dims() < 0) return absl::OkStatus();
  int64_t size;
  RETURN_IF_ERROR(c.GetAttr("group_size", &size));
  std::vector<int64_t> dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
  if (size <= 0 || dims[0] < 0 || __builtin_mul_overflow(dims[0], size, &dims[0])) dims[0] = -1;
  c.set_output(0, InferenceContext::Of(dims));
  return absl::OkStatus();
}

absl::Status GroupShape(InferenceContext& c) {
  c.set_output(0, c.Scalar());
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

absl::Status RegisterWithAttributes(OpRegistry& ops) {
  Op reduce = Collective("CollectiveReduce");
  reduce.Input("input: T").Output("data: T").Attr(kReducedTypes);
  KeyAttributes(reduce)
      .Attr(kMergeOp)
      .Attr(kFinalOp)
      .Attr("subdiv_offsets: list(int)")
      .Attr("wait_for: list(int) = []");
  RETURN_IF_ERROR(ops.Register(HintAndTimeout(reduce).Shape(shapes::Unchanged)));
  Op gather = Collective("CollectiveGather");
  gather.Input("input: T").Output("data: T").Attr(kGatheredTypes);
  KeyAttributes(gather).Attr("shape: shape");
  RETURN_IF_ERROR(ops.Register(HintAndTimeout(gather).Shape(GatheredShape)));
  Op send = Collective("CollectiveBcastSend");
  send.Input("input: T").Output("data: T").Attr(kBroadcastTypes);
  KeyAttributes(send).Attr("shape: shape");
  RETURN_IF_ERROR(ops.Register(HintAndTimeout(send).Shape(ShapeOfAttribute)));
  Op receive = Collective("CollectiveBcastRecv");
  receive.Output("data: T").Attr(kBroadcastTypes);
  KeyAttributes(receive).Attr("shape: shape");
  return ops.Register(HintAndTimeout(receive).Shape(ShapeOfAttribute));
}

absl::Status RegisterWithInputs(OpRegistry& ops) {
  for (const char* name : {"CollectiveReduceV2", "CollectiveReduceScatterV2"}) {
    Op reduce = Collective(name);
    reduce.Input("input: T");
    OrderingTokens(KeyInputs(reduce)).Output("data: T").Attr(kReducedTypes).Attr(kMergeOp).Attr(kFinalOp);
    HintAndTimeout(reduce)
        .Attr("is_stateless: bool = false")
        .Attr("Nordering_token: int >= 0 = 0")
        .Attr("max_subdivs_per_device: int = -1");
    const bool scatters = name == std::string("CollectiveReduceScatterV2");
    RETURN_IF_ERROR(ops.Register(reduce.Shape(scatters ? ShapeFn(OtherFirstDimension) : ShapeFn(shapes::Unchanged))));
  }
  for (const char* name : {"CollectiveGatherV2", "CollectiveAllToAllV2"}) {
    const bool gathers = name == std::string("CollectiveGatherV2");
    Op op = Collective(name);
    op.Input("input: T");
    OrderingTokens(KeyInputs(op)).Output("data: T").Attr(gathers ? kGatheredTypes : kReducedTypes);
    HintAndTimeout(op).Attr("is_stateless: bool = false").Attr("Nordering_token: int >= 0 = 0");
    RETURN_IF_ERROR(ops.Register(op.Shape(gathers ? ShapeFn(OtherFirstDimension) : ShapeFn(shapes::Unchanged))));
  }
  Op send = Collective("CollectiveBcastSendV2");
  send.Input("input: T");
  KeyInputs(send).Output("data: T").Attr(kBroadcastTypes);
  RETURN_IF_ERROR(ops.Register(HintAndTimeout(send).Shape(shapes::Unchanged)));
  Op receive = Collective("CollectiveBcastRecvV2");
  KeyInputs(receive)
      .Input("shape: Tshape")
      .Output("data: T")
      .Attr(kBroadcastTypes)
      .Attr("Tshape: {int32, int64} = int32");
  return ops.Register(HintAndTimeout(receive).Shape([](InferenceContext& c) {
    ASSIGN_OR_RETURN(const PartialTensorShape shape, c.InputAsShape(3));
    c.set_output(0, shape);
    return absl::OkStatus();
  }));
}

absl::Status RegisterWithCommunicator(OpRegistry& ops) {
  Op initialize = Collective("CollectiveInitializeCommunicator");
  initialize.Input("group_key: int32").Input("rank: int32").Input("group_size: int32").Output("communicator: resource");
  RETURN_IF_ERROR(ops.Register(HintAndTimeout(initialize).Shape(shapes::Scalar)));
  Op reduce = Collective("CollectiveReduceV3");
  reduce.Input("input: T").Input("communicator: resource").Input("group_assignment: int32").Output("data: T");
  reduce.Attr(kReducedTypes).Attr("reduction: {'Min', 'Max', 'Mul', 'Add'}").Attr("timeout_seconds: float = 0");
  RETURN_IF_ERROR(ops.Register(reduce.Shape(shapes::Unchanged)));
  Op transpose = Collective("CollectiveAllToAllV3");
  transpose.Input("input: T").Input("communicator: resource").Input("group_assignment: int32").Output("data: T");
  transpose.Attr(kReducedTypes).Attr("timeout_seconds: float = 0");
  return ops.Register(transpose.Shape(shapes::Unchanged));
}

}  // namespace

absl::Status RegisterCollectiveOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterWithAttributes(ops));
  RETURN_IF_ERROR(RegisterWithInputs(ops));
  RETURN_IF_ERROR(RegisterWithCommunicator(ops));
  return ops.Register(Op("CollectiveAssignGroupV2")
                          .Input("group_assignment: int32")
                          .Input("device_index: int32")
                          .Input("base_key: int32")
                          .Output("group_size: int32")
                          .Output("group_key: int32")
                          .Stateful()
                          .MayBlock()
                          .DistributedCommunication()
                          .Shape(GroupShape));
}

}  // namespace weir
