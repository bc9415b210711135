// Families of ops that few programs use, one source file each.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

// All of them.
absl::Status RegisterRareOps(OpRegistry& ops);

absl::Status RegisterMatrixFunctionOps(OpRegistry& ops);
absl::Status RegisterProbeOps(OpRegistry& ops);
absl::Status RegisterDebugOps(OpRegistry& ops);
absl::Status RegisterSearchOps(OpRegistry& ops);
absl::Status RegisterQuantizedOps(OpRegistry& ops);
absl::Status RegisterQuantizedElementOps(OpRegistry& ops);
absl::Status RegisterUniformQuantizedOps(OpRegistry& ops);
absl::Status RegisterBatchingOps(OpRegistry& ops);
absl::Status RegisterRareDatasetOps(OpRegistry& ops);
absl::Status RegisterTensorMapOps(OpRegistry& ops);

}  // namespace weir
