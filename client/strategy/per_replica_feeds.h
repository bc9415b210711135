// Feeding replicas from the client: a placeholder for each, and a global batch cut into their parts.
#pragma once

#include "client/session.h"
#include "client/strategy/strategy.h"

namespace weir {

// One on the device of each replica of this graph.
PerReplica Placeholders(const Strategy& strategy, DataType dtype, const PartialTensorShape& shape = {});

// Consecutive rows of `batch` for each replica, in order; the first ones get a row more where it does not go up.
// InvalidArgument for a scalar, and for fewer rows than replicas.
absl::StatusOr<FeedList> SplitBatch(const PerReplica& placeholders, const Tensor& batch);

}  // namespace weir
