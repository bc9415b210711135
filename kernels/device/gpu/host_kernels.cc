// Kernels of the CPU that serve GPUs too: those that pass tensors on without looking at them, those that work on
// handles and shapes, and those of int32, which lie in host memory as in TensorFlow.
#include <algorithm>

#include "absl/strings/match.h"

#include "core/kernel/memory_types.h"
#include "kernels/device/family.h"
#include "kernels/device/gpu/gpu_variable.h"

namespace weir {
namespace {

struct OnGpu {
  const char* op;
  std::vector<const char*> host_args;
  // Where not empty: the types that the attribute may have.
  const char* type_attr = "";
  DataTypeVector types;
};

// The types that `registered` and `wanted` share; all of `wanted` where nothing is registered.
DataTypeVector Common(const DataTypeVector& registered, const DataTypeVector& wanted) {
  DataTypeVector common;
  for (const DataType type : wanted) {
    if (std::find(registered.begin(), registered.end(), type) != registered.end()) common.push_back(type);
  }
  return common;
}

absl::Status Register(KernelRegistry& kernels, const OnGpu& on_gpu) {
  for (const KernelRegistry::Registration* cpu : kernels.ForOp(on_gpu.op)) {
    if (cpu->kernel.device_type() != kDeviceCpu) continue;
    Kernel kernel(on_gpu.op);
    kernel.Device(kDeviceGpu).Label(cpu->kernel.label());
    for (const char* arg : on_gpu.host_args) kernel.HostMemory(arg);
    bool is_typed = false, fits = true;
    for (const Kernel::TypeConstraint& constraint : cpu->kernel.constraints()) {
      if (constraint.attr != on_gpu.type_attr) {
        kernel.Types(constraint.attr, constraint.allowed);
        continue;
      }
      const DataTypeVector types = Common(constraint.allowed, on_gpu.types);
      is_typed = true;
      fits = !types.empty();
      kernel.Types(constraint.attr, types);
    }
    if (!fits) continue;
    if (!is_typed && !on_gpu.types.empty()) kernel.Types(on_gpu.type_attr, on_gpu.types);
    RETURN_IF_ERROR(kernels.Register(kernel, cpu->factory));
  }
  return absl::OkStatus();
}

// They hand tensors on as they are, in whichever memory they lie.
std::vector<OnGpu> PassingKernels() {
  return {{"NoOp", {}},
          {"ControlTrigger", {}},
          {"Const", {kInt32Arguments}},
          {"HostConst", {"output"}},
          {"Placeholder", {kInt32Arguments}},
          {"PlaceholderWithDefault", {kInt32Arguments}},
          {"Identity", {kInt32Arguments}},
          {"IdentityN", {kInt32Arguments}},
          {"StopGradient", {kInt32Arguments}},
          {"PreventGradient", {kInt32Arguments}},
          {"EnsureShape", {kInt32Arguments}},
          {"GuaranteeConst", {kInt32Arguments}},
          {"DebugGradientIdentity", {kInt32Arguments}},
          {"DebugGradientRefIdentity", {kInt32Arguments}},
          {"Switch", {"pred", kInt32Arguments}},
          {"_SwitchN", {"output_index", kInt32Arguments}},
          {"Merge", {"value_index", kInt32Arguments}},
          {"Enter", {kInt32Arguments}},
          {"Exit", {kInt32Arguments}},
          {"NextIteration", {kInt32Arguments}},
          {"RefIdentity", {kInt32Arguments}},
          {"RefSwitch", {"pred", kInt32Arguments}},
          {"RefMerge", {"value_index", kInt32Arguments}},
          {"RefEnter", {kInt32Arguments}},
          {"RefExit", {kInt32Arguments}},
          {"RefNextIteration", {kInt32Arguments}},
          {"LoopCond", {"input", "output"}},
          {"Reshape", {"shape", kInt32Arguments}},
          {"ExpandDims", {"dim", kInt32Arguments}},
          {"Squeeze", {kInt32Arguments}},
          // What passes between devices, tasks and callers does so as host memory.
          {"_Send", {"tensor"}},
          {"_HostSend", {"tensor"}},
          {"_Recv", {"tensor"}},
          {"_HostRecv", {"tensor"}},
          {"_Arg", {"output"}},
          {"_Retval", {"input"}},
          {"PartitionedCall", {"args", "output"}},
          {"StatefulPartitionedCall", {"args", "output"}},
          {"If", {"cond", "input", "output"}},
          {"StatelessIf", {"cond", "input", "output"}},
          {"Case", {"branch_index", "input", "output"}},
          {"StatelessCase", {"branch_index", "input", "output"}},
          {"While", {"input", "output"}},
          {"StatelessWhile", {"input", "output"}},
          {"VarHandleOp", {"resource"}, "dtype", GpuVariableTypes()},
          {"Variable", {}, "dtype", GpuVariableTypes()},
          {"VariableV2", {}, "dtype", GpuVariableTypes()},
          {"TemporaryVariable", {}, "dtype", GpuVariableTypes()},
          {"DestroyTemporaryVariable", {}, "T", GpuVariableTypes()},
          {"IsVariableInitialized", {"is_initialized"}, "dtype", GpuVariableTypes()},
          {"VarIsInitializedOp", {"resource", "is_initialized"}},
          {"DestroyResourceOp", {"resource"}}};
}

// What a collective does with a device's memory is its executor's matter.
std::vector<OnGpu> CollectiveKernels() {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64};
  std::vector<OnGpu> kernels = {{"CollectiveReduce", {}, "T", types},
                                {"CollectiveGather", {}, "T", types},
                                {"CollectiveBcastSend", {}, "T", types},
                                {"CollectiveBcastRecv", {}, "T", types}};
  for (const char* op : {"CollectiveReduceV2", "CollectiveGatherV2", "CollectiveAllToAllV2",
                         "CollectiveReduceScatterV2", "CollectiveBcastSendV2"}) {
    kernels.push_back({op, {"group_size", "group_key", "instance_key"}, "T", types});
  }
  kernels.push_back({"CollectiveBcastRecvV2", {"group_size", "group_key", "instance_key", "shape"}, "T", types});
  kernels.push_back({"CollectiveInitializeCommunicator", {"group_key", "rank", "group_size", "communicator"}});
  kernels.push_back({"CollectiveReduceV3", {"communicator", "group_assignment"}, "T", types});
  kernels.push_back({"CollectiveAllToAllV3", {"communicator", "group_assignment"}, "T", types});
  return kernels;
}

std::vector<OnGpu> ShapeKernels() {
  std::vector<OnGpu> kernels;
  for (const char* op : {"Shape", "ShapeN", "Size", "Rank", "_AttentionScoresShape"})
    kernels.push_back({op, {kAllOutputs}});
  for (const char* op : {"BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset", "Range",
                         "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomGetAlg"}) {
    kernels.push_back({op, {kAllArguments}});
  }
  return kernels;
}

std::vector<OnGpu> Int32Kernels() {
  std::vector<OnGpu> kernels;
  for (const char* op : {"Add",
                         "AddV2",
                         "Sub",
                         "Mul",
                         "FloorDiv",
                         "FloorMod",
                         "Maximum",
                         "Minimum",
                         "Neg",
                         "Abs",
                         "Sign",
                         "Square",
                         "Less",
                         "Greater",
                         "GreaterEqual",
                         "Equal",
                         "Sum",
                         "Prod",
                         "Max",
                         "Min",
                         "LessEqual",
                         "Pack",
                         "Unpack",
                         "Concat",
                         "ConcatV2",
                         "Split",
                         "SplitV",
                         "Slice",
                         "NotEqual",
                         "StridedSlice",
                         "Fill",
                         "Tile",
                         "Transpose",
                         "ZerosLike",
                         "OnesLike",
                         "GatherV2",
                         "Mod",
                         "Div",
                         "TruncateDiv",
                         "TruncateMod",
                         "BitwiseAnd",
                         "BitwiseOr",
                         "BitwiseXor",
                         "LeftShift",
                         "RightShift",
                         "Invert",
                         "ClipByValue",
                         "Roll",
                         "ReverseV2",
                         "Cumsum",
                         "SelectV2",
                         "Select",
                         "BroadcastTo",
                         "Gather",
                         "GatherNd",
                         "Pad",
                         "Snapshot",
                         "DynamicStitch",
                         "ParallelDynamicStitch"}) {
    const bool has_other_name = absl::StartsWith(op, "Gather");
    kernels.push_back({op, {kAllArguments}, has_other_name ? "Tparams" : "T", {DT_INT32}});
  }
  return kernels;
}

// Of few numbers, which TensorFlow too computes on the host, or once did.
std::vector<OnGpu> SmallKernels() {
  std::vector<OnGpu> kernels = {{"LinSpace", {kAllArguments}}, {"CudnnRNNParamsSize", {kAllArguments}}};
  // Unique: beside the table that an optimizer updates by rows.
  for (const char* op : {"InvertPermutation", "DataFormatDimMap", "DataFormatVecPermute", "Unique", "UniqueV2",
                         "UniqueWithCounts", "UniqueWithCountsV2"}) {
    kernels.push_back({op, {kAllArguments}, "T", {DT_INT32, DT_INT64}});
  }
  return kernels;
}

}  // namespace

absl::Status RegisterGpuHostKernels(KernelRegistry& kernels) {
  for (const std::vector<OnGpu>& family :
       {PassingKernels(), CollectiveKernels(), ShapeKernels(), Int32Kernels(), SmallKernels()}) {
    for (const OnGpu& on_gpu : family) RETURN_IF_ERROR(Register(kernels, on_gpu));
  }
  return absl::OkStatus();
}

}  // namespace weir
