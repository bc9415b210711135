// Queues.
#include "core/status.h"
#include "kernels/coordination/family.h"
#include "kernels/device/handle_ops.h"

namespace weir {
namespace {

// As many elements as asked for, where that is known.
absl::Status DequeueManyShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  ASSIGN_OR_RETURN(const int64_t n, c.InputAsScalar(1));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.Concatenate(c.Vector(n), PartialTensorShape()));
  return absl::OkStatus();
}

absl::Status RegisterMakers(OpRegistry& ops, HandleKind kind) {
  const auto queue = [kind](const std::string& base) {
    Op op = kind.Maker(kind.Versioned(base), "handle");
    if (base == "PriorityQueue") {
      op.Attr("component_types: list(type) >= 0 = []").Attr("shapes: list(shape) >= 0");
    } else {
      op.Attr("component_types: list(type) >= 1").Attr("shapes: list(shape) >= 0 = []");
    }
    op.Attr("capacity: int = -1");
    if (base == "RandomShuffleQueue")
      op.Attr("min_after_dequeue: int = 0").Attr("seed: int = 0").Attr("seed2: int = 0");
    return op.Attr("container: string = ''").Attr("shared_name: string = ''");
  };
  for (const char* base : {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"}) {
    RETURN_IF_ERROR(ops.Register(queue(base)));
  }
  return absl::OkStatus();
}

absl::Status RegisterQueueUsers(OpRegistry& ops, HandleKind kind) {
  const auto user = [kind](const char* base) { return kind.User(kind.Versioned(base), "handle"); };
  for (const char* base : {"QueueEnqueue", "QueueEnqueueMany"}) {
    RETURN_IF_ERROR(ops.Register(user(base)
                                     .Input("components: Tcomponents")
                                     .Attr("Tcomponents: list(type) >= 1")
                                     .Attr("timeout_ms: int = -1")
                                     .MayBlock()
                                     .Shape(shapes::NoOutputs)));
  }
  RETURN_IF_ERROR(ops.Register(user("QueueDequeue")
                                   .Output("components: component_types")
                                   .Attr("component_types: list(type) >= 1")
                                   .Attr("timeout_ms: int = -1")
                                   .MayBlock()
                                   .Shape(shapes::Unknown)));
  for (const char* base : {"QueueDequeueMany", "QueueDequeueUpTo"}) {
    const bool exactly = base == std::string("QueueDequeueMany");
    RETURN_IF_ERROR(ops.Register(user(base)
                                     .Input("n: int32")
                                     .Output("components: component_types")
                                     .Attr("component_types: list(type) >= 1")
                                     .Attr("timeout_ms: int = -1")
                                     .MayBlock()
                                     .Shape(exactly ? DequeueManyShape : shapes::Unknown)));
  }
  RETURN_IF_ERROR(ops.Register(
      user("QueueClose").Attr("cancel_pending_enqueues: bool = false").MayBlock().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(user("QueueIsClosed").Output("is_closed: bool").MayBlock().Shape(shapes::Scalar)));
  return ops.Register(user("QueueSize").Output("size: int32").MayBlock().Shape(shapes::Scalar));
}

}  // namespace

absl::Status RegisterQueueOps(OpRegistry& ops) {
  for (const HandleKind kind : kHandleKinds) {
    RETURN_IF_ERROR(RegisterMakers(ops, kind));
    RETURN_IF_ERROR(RegisterQueueUsers(ops, kind));
  }
  return absl::OkStatus();
}

}  // namespace weir
