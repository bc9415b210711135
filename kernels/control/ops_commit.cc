// The nodes of a step's commit (graph/passes/step_commit.h); only a master adds them.
#include "graph/shapes/common_shapes.h"
#include "kernels/control/family.h"

namespace weir {

absl::Status RegisterCommitOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_CommitDecide").Attr("keys: list(string) = []").Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("_CommitReady").Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("_CommitRelay").Attr("keys: list(string) = []").Shape(shapes::NoOutputs)));
  return ops.Register(Op("_CommitWait")
                          .Attr("key: string = ''")
                          .Attr("coordinator: string = ''")
                          .Attr("decider: string = ''")
                          .Attr("decider_incarnation: int = 0")
                          .MayBlock()
                          .Shape(shapes::NoOutputs));
}

}  // namespace weir
