// Gradients of calls of functions. What the call computed on its way is computed again, by SymbolicGradient: a call
// that may have effects, or draw random numbers, would do so a second time, and has no gradient.
#include "graph/gradients/container_families.h"
#include "graph/gradients/gradient_registry.h"
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

absl::Status PartitionedCall(G& g) { return ByFunction(g, g.Attr<tensorflow::NameAttrList>("f")); }

// The op is the function; names that begin with '_' are notes to the runtime, not its attributes.
tensorflow::NameAttrList OpAsFunction(G& g) {
  tensorflow::NameAttrList function;
  function.set_name(g.op().op());
  for (const auto& [name, value] : g.op().def().attr()) {
    if (name[0] != '_') (*function.mutable_attr())[name] = value;
  }
  return function;
}
// Differentiated as Switch and Merge.
absl::Status ControlFlow(G& g) {
  tensorflow::NameAttrList function = OpAsFunction(g);
  (*function.mutable_attr())["_lower_using_switch_merge"].set_b(true);
  return ByFunction(g, function);
}

}  // namespace

absl::Status FunctionCallGradient(G& g) { return ByFunction(g, OpAsFunction(g)); }

absl::Status RegisterCallGradients(GradientRegistry& registry) {
  RETURN_IF_ERROR(registry.Register("PartitionedCall", PartitionedCall));
  for (const char* op : {"StatelessIf", "StatelessCase", "StatelessWhile"}) {
    RETURN_IF_ERROR(registry.Register(op, ControlFlow));
  }
  return absl::OkStatus();
}

}  // namespace weir
