// The families of ops that RegisterAllOps registers, one source file each.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterUnaryOps(OpRegistry& ops);
absl::Status RegisterBinaryOps(OpRegistry& ops);
absl::Status RegisterReductionOps(OpRegistry& ops);
absl::Status RegisterLinearAlgebraOps(OpRegistry& ops);
absl::Status RegisterSegmentOps(OpRegistry& ops);
absl::Status RegisterArrayOps(OpRegistry& ops);
absl::Status RegisterIndexingOps(OpRegistry& ops);
absl::Status RegisterDiagonalOps(OpRegistry& ops);
absl::Status RegisterRandomOps(OpRegistry& ops);
absl::Status RegisterStateOps(OpRegistry& ops);
absl::Status RegisterTrainingOps(OpRegistry& ops);
absl::Status RegisterNnOps(OpRegistry& ops);
absl::Status RegisterOptimizerOps(OpRegistry& ops);
absl::Status RegisterIoOps(OpRegistry& ops);
absl::Status RegisterTensorArrayOps(OpRegistry& ops);
absl::Status RegisterTensorListOps(OpRegistry& ops);
absl::Status RegisterQueueOps(OpRegistry& ops);
absl::Status RegisterLookupOps(OpRegistry& ops);
absl::Status RegisterStringOps(OpRegistry& ops);
absl::Status RegisterDatasetOps(OpRegistry& ops);
absl::Status RegisterIteratorOps(OpRegistry& ops);

}  // namespace weir
