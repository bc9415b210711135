// Gradients of function calls that were not inlined: see graph/gradients/function_call_gradient.h.
#include "graph/function_library.h"
#include "graph/gradients/function_call_gradient.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/control/family.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using G = GradientContext;

tensorflow::NameAttrList Called(G& g) { return g.Attr<tensorflow::NameAttrList>("f"); }

absl::Status PartitionedCall(G& g) { return GradientByFunction(g, Called(g)); }
absl::Status StatefulCall(G& g) {
  if (!g.graph().functions().FindGradient(Called(g).name()).empty()) return GradientByFunction(g, Called(g));
  return CallHasNoGradient("or have effects in control flow by nodes");
}
absl::Status ControlFlow(G&) { return CallHasNoGradient("by control flow"); }
absl::Status RemoteCall(G&) { return CallHasNoGradient("or of a RemoteCall whose target is not a constant"); }

}  // namespace

absl::Status RegisterCallGradients(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterGradient("PartitionedCall", PartitionedCall));
  RETURN_IF_ERROR(ops.RegisterGradient("StatefulPartitionedCall", StatefulCall));
  RETURN_IF_ERROR(ops.RegisterGradient("RemoteCall", RemoteCall));
  for (const char* op : {"If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "SymbolicGradient"}) {
    RETURN_IF_ERROR(ops.RegisterGradient(op, ControlFlow));
  }
  return absl::OkStatus();
}

}  // namespace weir
