#include "worker/executor/node_kernel.h"

#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

// A node's definition with the names of its inputs, which the graph stores as edges: EnsureShape's error contains them.
tensorflow::NodeDef WithInputNames(const Node& node) {
  tensorflow::NodeDef def = node.def();
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.input_edge(i);
    def.add_input(edge == nullptr ? "" : edge->src->name());
  }
  return def;
}

}  // namespace

absl::StatusOr<std::shared_ptr<OpKernel>> CreateNodeKernel(const KernelRegistry& kernels, const OpRegistry& ops,
                                                           const Node& node, Device* device,
                                                           FunctionRuntime* functions) {
  if (node.op() == "EnsureShape") {
    return CreateKernel(kernels, WithInputNames(node), node.op_def(), device, functions);
  }
  if (node.registration() != nullptr) return CreateKernel(kernels, node.def(), node.op_def(), device, functions);
  ASSIGN_OR_RETURN(const tensorflow::OpDef* call_def, ops.LookUp("PartitionedCall"));
  tensorflow::NodeDef call;
  call.set_name(node.name());
  call.set_op("PartitionedCall");
  call.set_device(node.def().device());
  tensorflow::NameAttrList* function = (*call.mutable_attr())["f"].mutable_func();
  function->set_name(node.op());
  for (const auto& [name, value] : node.def().attr()) {
    if (!name.empty() && name[0] != '_') (*function->mutable_attr())[name] = value;
  }
  SetNodeAttr("Tin", node.input_types(), &call);
  SetNodeAttr("Tout", node.output_types(), &call);
  AddDefaultAttrs(*call_def, &call);
  return CreateKernel(kernels, call, *call_def, device, functions);
}

}  // namespace weir
