// Gradients of calls of functions that were not written out (graph/gradients/called_functions.h): by SymbolicGradient,
// which finds the gradient that the library has for the function. Without one it computes again what the call computed
// on its way: a call that may have effects, or draw random numbers, must not do so a second time.
#include "graph/function_library.h"
#include "graph/gradients/gradient_registry.h"
#include "kernels/containers/gradients_parts.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using G = GradientContext;

bool IsHandle(DataType type) { return type == DT_RESOURCE || type == DT_VARIANT; }

// `function` has the inputs and outputs of the op.
absl::Status ByFunction(G& g, const tensorflow::NameAttrList& function) {
  InputList inputs;
  std::vector<DataType> types;
  for (int i = 0; i < g.num_inputs(); ++i) {
    types.push_back(g.input(i).type());
    inputs.push_back(g.input(i));
  }
  for (int i = 0; i < g.op().num_outputs(); ++i) {
    if (IsHandle(g.output(i).type())) {
      return errors::Unimplemented("Gradient through the ", DataTypeName(g.output(i).type()), " output ", i,
                                   " of a call of a function is not supported");
    }
    inputs.push_back(g.dy(i));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (!IsHandle(types[i])) continue;
    return errors::Unimplemented("Gradient through the ", DataTypeName(types[i]), " input ", i,
                                 " of a call of a function is not supported");
  }
  const Output dx = g.CallWithLists("SymbolicGradient", {inputs}, {G::Set("f", function), G::Set("Tout", types)});
  if (!g.status().ok()) return g.status();
  for (size_t i = 0; i < types.size(); ++i) {
    if (IsFloating(types[i]) || IsComplex(types[i]))
      g.set_grad(static_cast<int>(i), Output(dx.op(), static_cast<int>(i)));
  }
  return absl::OkStatus();
}

tensorflow::NameAttrList Called(G& g) { return g.Attr<tensorflow::NameAttrList>("f"); }

absl::Status StaysCall(const std::string& why) {
  return errors::Unimplemented("Gradients of functions that call themselves, ", why, ", are not supported");
}
absl::Status PartitionedCall(G& g) { return ByFunction(g, Called(g)); }
absl::Status StatefulCall(G& g) {
  if (!g.graph().functions().FindGradient(Called(g).name()).empty()) return ByFunction(g, Called(g));
  return StaysCall("or have effects in control flow by nodes");
}
absl::Status ControlFlow(G&) { return StaysCall("by control flow"); }
absl::Status RemoteCall(G&) { return StaysCall("or of a RemoteCall whose target is not a constant"); }

// The op is the function; names that begin with '_' are notes to the runtime, not its attributes.
tensorflow::NameAttrList OpAsFunction(G& g) {
  tensorflow::NameAttrList function;
  function.set_name(g.op().op());
  for (const auto& [name, value] : g.op().def().attr()) {
    if (name[0] != '_') (*function.mutable_attr())[name] = value;
  }
  return function;
}

}  // namespace

absl::Status FunctionCallGradient(G& g) {
  const bool has_own = !g.graph().functions().FindGradient(g.op().op()).empty();
  if (g.op().IsStateful() && !has_own) return StaysCall("or have effects in control flow by nodes");
  return ByFunction(g, OpAsFunction(g));
}

absl::Status RegisterCallGradients(GradientRegistry& registry) {
  RETURN_IF_ERROR(registry.Register("PartitionedCall", PartitionedCall));
  RETURN_IF_ERROR(registry.Register("StatefulPartitionedCall", StatefulCall));
  RETURN_IF_ERROR(registry.Register("RemoteCall", RemoteCall));
  for (const char* op : {"If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "SymbolicGradient"}) {
    RETURN_IF_ERROR(registry.Register(op, ControlFlow));
  }
  return absl::OkStatus();
}

}  // namespace weir
