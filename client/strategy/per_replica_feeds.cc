#include "client/strategy/per_replica_feeds.h"

#include "client/ops.h"

namespace weir {

PerReplica Placeholders(const Strategy& strategy, DataType dtype, const PartialTensorShape& shape) {
  OutputList placeholders;
  for (const std::string& device : strategy.replica_devices()) {
    placeholders.push_back(ops::Placeholder(strategy.Scope().WithDevice(device), dtype, {.shape = shape}));
  }
  return PerReplica(std::move(placeholders));
}

absl::StatusOr<FeedList> SplitBatch(const PerReplica& placeholders, const Tensor& batch) {
  const int64_t replicas = placeholders.size();
  if (batch.dims() < 1 || batch.dim_size(0) < replicas) {
    return errors::InvalidArgument("A batch of shape ", batch.shape().ToString(), " has no row for each of ", replicas,
                                   " replicas");
  }
  FeedList feeds;
  int64_t first = 0;
  for (int i = 0; i < replicas; ++i) {
    const int64_t rows = batch.dim_size(0) / replicas + (i < batch.dim_size(0) % replicas ? 1 : 0);
    feeds.emplace_back(placeholders[i], batch.Slice(first, first + rows));
    first += rows;
  }
  return feeds;
}

}  // namespace weir
