#include "graph/gradients/function_call_gradient.h"

#include "graph/function_library.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using G = GradientContext;

bool IsHandle(DataType type) { return type == DT_RESOURCE || type == DT_VARIANT; }

// The op is the function; names that begin with '_' are runtime annotations, not its attributes.
tensorflow::NameAttrList OpAsFunction(G& g) {
  tensorflow::NameAttrList function;
  function.set_name(g.op().op());
  for (const auto& [name, value] : g.op().def().attr()) {
    if (name[0] != '_') (*function.mutable_attr())[name] = value;
  }
  return function;
}

}  // namespace

absl::Status GradientByFunction(G& g, const tensorflow::NameAttrList& function) {
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

absl::Status CallHasNoGradient(const std::string& why) {
  return errors::Unimplemented("Gradients of functions that call themselves, ", why, ", are not supported");
}

absl::Status FunctionCallGradient(G& g) {
  const bool has_own = !g.graph().functions().FindGradient(g.op().op()).empty();
  if (g.op().IsStateful() && !has_own) return CallHasNoGradient("or have effects in control flow by nodes");
  return GradientByFunction(g, OpAsFunction(g));
}

}  // namespace weir
