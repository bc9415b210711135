#include "tests/gpu/gpu_agreement_elsewhere_testing.h"

namespace weir {

const std::vector<CheckedElsewhere>& KernelsCheckedElsewhere() {
  static const auto* const elsewhere = new std::vector<CheckedElsewhere>{
      {"clients cannot create these nodes, only passes and workers can; tested by "
       "kernels/device/gpu/kernel_conformance_testing.h, kernels/fusion/fused_conformance_testing.h and the sessions "
       "of this folder",
       {"_AttentionScoresShape", "_FusedAttention", "_FusedAttentionGrad", "_FusedBatchNormEx", "_FusedBatchNormGradEx",
        "_FusedElementwise", "_FusedMatMul", "_FusedResourceApply"}},
      {"the executor's and the partition's own nodes: every session on a GPU has them",
       {"_Arg", "_CopyFromPeer", "_CopyToDevice", "_CopyToHost", "_HostRecv", "_HostSend", "_Recv", "_Retval",
        "_Send"}},
      {"the CPU's kernel, which hands tensors on and looks at none; gpu_session_test.cc and tests/session",
       {"ControlTrigger", "DebugGradientIdentity", "EnsureShape", "GuaranteeConst", "HostConst", "IdentityN", "NoOp",
        "Placeholder", "PlaceholderWithDefault", "PreventGradient", "StopGradient"}},
      {"control flow and calls, which the executor sees to; tests/session",
       {"Case", "Enter", "Exit", "If", "LoopCond", "Merge", "NextIteration", "PartitionedCall",
        "StatefulPartitionedCall", "StatelessCase", "StatelessIf", "StatelessWhile", "Switch", "While", "_SwitchN"}},
      {"references that are handed on; reference_variables_test.cc",
       {"DebugGradientRefIdentity", "DestroyTemporaryVariable", "IsVariableInitialized", "RefEnter", "RefExit",
        "RefIdentity", "RefMerge", "RefNextIteration", "RefSwitch", "TemporaryVariable", "Variable"}},
      {"what variables are asked besides their values; gpu_session_test.cc and tests/session",
       {"DestroyResourceOp", "VarIsInitializedOp", "VariableShape"}},
      {"snapshots of variables; variable_snapshot_test.cc", {"ReserveVariableSnapshot", "SnapshotVariable"}},
      {"several devices are needed; gpu_collective_session_test.cc",
       {"CollectiveAllToAllV2", "CollectiveAllToAllV3", "CollectiveBcastRecv", "CollectiveBcastRecvV2",
        "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveGather", "CollectiveGatherV2",
        "CollectiveInitializeCommunicator", "CollectiveReduce", "CollectiveReduceScatterV2", "CollectiveReduceV2",
        "CollectiveReduceV3"}},
      {"types that GPUs have alone, as in TensorFlow; kernels/elementwise/elementwise_conformance_testing.h",
       {"Rint of T=bfloat16", "Rint of T=half"}}};
  return *elsewhere;
}

}  // namespace weir
