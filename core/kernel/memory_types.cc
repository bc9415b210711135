#include "core/kernel/memory_types.h"

#include <algorithm>

#include "core/op/attr_value.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using Args = google::protobuf::RepeatedPtrField<tensorflow::OpDef::ArgDef>;

bool Lists(const Kernel& kernel, absl::string_view arg) {
  const std::vector<std::string>& listed = kernel.host_args();
  return std::find(listed.begin(), listed.end(), arg) != listed.end();
}

absl::StatusOr<std::vector<MemoryType>> MemoryOfArgs(const Kernel& kernel, const tensorflow::NodeDef& node,
                                                     const Args& args, bool all) {
  const bool int32 = Lists(kernel, kInt32Arguments);
  std::vector<MemoryType> memory;
  for (const tensorflow::OpDef::ArgDef& arg : args) {
    DataTypeVector types;
    RETURN_IF_ERROR(ArgTypes(node, arg, &types));
    const bool listed = all || Lists(kernel, arg.name());
    for (const DataType type : types) {
      const bool on_host = listed || IsAlwaysOnHost(RemoveRef(type)) || (int32 && RemoveRef(type) == DT_INT32);
      memory.push_back(on_host ? MemoryType::kHost : MemoryType::kDevice);
    }
  }
  return memory;
}

}  // namespace

bool ComputesOnHost(const Kernel& kernel) {
  return kernel.device_type() != kDeviceCpu && (Lists(kernel, kAllArguments) || Lists(kernel, kAllOutputs));
}

absl::StatusOr<NodeMemory> MemoryOfNode(const KernelRegistry& kernels, const tensorflow::NodeDef& node,
                                        const tensorflow::OpDef& op_def, absl::string_view device_type) {
  NodeMemory memory;
  if (device_type == kDeviceCpu) {
    DataTypeVector inputs, outputs;
    RETURN_IF_ERROR(InOutTypesForNode(node, op_def, &inputs, &outputs));
    memory.inputs.assign(inputs.size(), MemoryType::kHost);
    memory.outputs.assign(outputs.size(), MemoryType::kHost);
    return memory;
  }
  ASSIGN_OR_RETURN(const KernelRegistry::Registration* registration, kernels.Find(node, device_type));
  const Kernel& kernel = registration->kernel;
  const bool all = Lists(kernel, kAllArguments);
  ASSIGN_OR_RETURN(memory.inputs, MemoryOfArgs(kernel, node, op_def.input_arg(), all));
  ASSIGN_OR_RETURN(memory.outputs, MemoryOfArgs(kernel, node, op_def.output_arg(), all || Lists(kernel, kAllOutputs)));
  return memory;
}

}  // namespace weir
