// Which of a node's tensors lie in host memory when it runs on a device with memory of its own.
#pragma once

#include <vector>

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

enum class MemoryType : uint8_t { kDevice, kHost };

// For Kernel::HostMemory, in place of an argument's name: every argument, of a CPU's kernel that is registered for
// another device too, as TensorFlow registers int32 arithmetic. What it allocates is host memory.
inline constexpr char kAllArguments[] = "*";
// Every output, of a CPU's kernel that looks at shapes alone. What it allocates is host memory.
inline constexpr char kAllOutputs[] = "*:output";
// Every argument of int32 elements: shapes, axes, counters and predicates of loops are looked at on the host.
inline constexpr char kInt32Arguments[] = "*:int32";

// Strings and resource handles are objects of the host. So are variants, but those in a device's memory have their
// tensors there (core/variant_tensors.h).
bool IsAlwaysOnHost(DataType type);
// Whether tensors of `type` that are in variants stay in host memory: what is always there, and int32, as everywhere.
bool StaysOnHostInVariants(DataType type);

struct NodeMemory {
  std::vector<MemoryType> inputs, outputs;
};
// Of `node`, which has its attribute defaults, with its kernel for `device_type`; the error of KernelRegistry::Find
// where there is none. All is host memory on a CPU.
absl::StatusOr<NodeMemory> MemoryOfNode(const KernelRegistry& kernels, const tensorflow::NodeDef& node,
                                        const tensorflow::OpDef& op_def, absl::string_view device_type);

// Whether `kernel` is a CPU's that runs beside another device, and allocates there (NewHostKernel).
bool ComputesOnHost(const Kernel& kernel);

}  // namespace weir
