// Ops of objects by which parts of a graph, and steps, coordinate.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterAccumulatorOps(OpRegistry& ops);
absl::Status RegisterBarrierOps(OpRegistry& ops);
absl::Status RegisterCollectiveOps(OpRegistry& ops);
absl::Status RegisterStagingOps(OpRegistry& ops);  // mutexes too
absl::Status RegisterReaderOps(OpRegistry& ops);
absl::Status RegisterLegacySequenceOps(OpRegistry& ops);
absl::Status RegisterUpdateOps(OpRegistry& ops);
absl::Status RegisterSummaryOps(OpRegistry& ops);
absl::Status RegisterSliceTableOps(OpRegistry& ops);

}  // namespace weir
