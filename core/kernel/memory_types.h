// Finds the tensors of a node that are in host memory when it runs on a device with its own memory.
#pragma once

#include <vector>

#include "core/kernel/kernel_registry.h"
#include "core/status.h"

namespace weir {

enum class MemoryType : uint8_t { kDevice, kHost };

// For Kernel::HostMemory in place of an argument's name: every argument, for a CPU kernel that is also registered for
// another device, like TensorFlow's int32 arithmetic. Its allocations are host memory.
inline constexpr char kAllArguments[] = "*";
// Every output, for a CPU kernel that only reads shapes. Its allocations are host memory.
inline constexpr char kAllOutputs[] = "*:output";
// Every int32 argument: shapes, axes, counters and loop predicates are used on the host.
inline constexpr char kInt32Arguments[] = "*:int32";

struct NodeMemory {
  std::vector<MemoryType> inputs, outputs;
};
// The memory types of `node`, which has its attribute defaults, for its kernel on `device_type`; the error of
// KernelRegistry::Find if there is none. On a CPU all is host memory.
absl::StatusOr<NodeMemory> MemoryOfNode(const KernelRegistry& kernels, const tensorflow::NodeDef& node,
                                        const tensorflow::OpDef& op_def, absl::string_view device_type);

// Whether `kernel` is a CPU kernel registered for another device that allocates host memory (NewHostKernel).
bool ComputesOnHost(const Kernel& kernel);

}  // namespace weir
