// Feeds replicas from the client: one placeholder each, and a global batch split among them.
#pragma once

#include "client/session.h"
#include "client/strategy/strategy.h"
#include "core/api.h"

namespace WEIR_API weir {

// One placeholder on the device of each replica of this graph.
PerReplica Placeholders(const Strategy& strategy, DataType dtype, const PartialTensorShape& shape = {});

// Assigns consecutive rows of `batch` to each replica, in order; if it does not divide evenly, the first ones get one
// row more. InvalidArgument for a scalar, or fewer rows than replicas.
absl::StatusOr<FeedList> SplitBatch(const PerReplica& placeholders, const Tensor& batch);

}  // namespace weir
