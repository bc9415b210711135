// Rows on their way out of a table and back.
#include <algorithm>

#include "kernels/embedding/embedding_table.h"

namespace weir {
namespace {

// More batches than anybody pushes; later versions would leave no room to count on.
constexpr int64_t kMaxVersion = int64_t{1} << 56;
// Rows that are pushed during a save have later versions than the save: not so many.
constexpr uint64_t kMaxPushesDuringSave = uint64_t{1} << 32;

absl::Status CheckVector(const Tensor& tensor, absl::string_view name, int64_t size, int64_t most) {
  if (tensor.dtype() != DT_INT64 || !tensor.shape().IsVector() || tensor.NumElements() != size) {
    return errors::InvalidArgument(name, " must be int64 and have shape [", size, "], got ", tensor.DebugString());
  }
  for (const int64_t value : tensor.flat<int64_t>()) {
    if (value < 0 || value > most) return errors::InvalidArgument(name, " has the value ", value);
  }
  return absl::OkStatus();
}

absl::Status CheckMatrix(const Tensor& tensor, absl::string_view name, int64_t rows, int64_t columns) {
  if (tensor.dtype() == DT_FLOAT && tensor.shape() == TensorShape({rows, columns})) return absl::OkStatus();
  return errors::InvalidArgument(name, " must be float and have shape [", rows, ",", columns, "], got ",
                                 DataTypeName(tensor.dtype()), " ", tensor.shape().ToString());
}

}  // namespace

uint64_t EmbeddingRows::LatestVersion() const {
  int64_t latest = 0;
  for (const int64_t version : versions.flat<int64_t>()) latest = std::max(latest, version);
  return static_cast<uint64_t>(latest);
}

absl::Status EmbeddingTable::CheckRows(const EmbeddingRows& rows) const {
  if (rows.keys.dtype() != DT_INT64 || !rows.keys.shape().IsVector()) {
    return errors::InvalidArgument("keys must be a vector of int64, got shape ", rows.keys.shape().ToString());
  }
  const int64_t n = rows.keys.NumElements();
  RETURN_IF_ERROR(CheckMatrix(rows.values, "values", n, options_.width));
  RETURN_IF_ERROR(CheckMatrix(rows.slots, "slots", n, options_.width * options_.slots()));
  RETURN_IF_ERROR(CheckVector(rows.versions, "versions", n, kMaxVersion));
  RETURN_IF_ERROR(CheckVector(rows.freqs, "freqs", n, UINT32_MAX));
  return CheckVector(rows.used, "used", n, UINT32_MAX);
}

void EmbeddingTable::Raise(std::atomic<uint64_t>& to_raise, uint64_t version) {
  uint64_t now = to_raise.load();
  while (now < version && !to_raise.compare_exchange_weak(now, version)) {
  }
}

absl::StatusOr<int64_t> EmbeddingTable::BeginExport(int64_t since) {
  ASSIGN_OR_RETURN(const auto use, Use());
  if (since < -1) return errors::InvalidArgument("since must be a version, or -1 for all rows, got ", since);
  const uint64_t now = version_.load();
  if (since >= 0 && static_cast<uint64_t>(since) >= now) {
    return errors::InvalidArgument("Embedding table ", options_.name, " is at version ", now,
                                   "; there are no changes since version ", since);
  }
  for (const auto& shard : shards_) {
    if (since < 0 || shard->KnowsRemovalsSince(since)) continue;
    return errors::FailedPrecondition("Embedding table ", options_.name,
                                      " does not know what was removed since version ", since,
                                      "; the next checkpoint has to have all rows");
  }
  return static_cast<int64_t>(version_.fetch_add(1));
}

absl::StatusOr<EmbeddingRows> EmbeddingTable::ExportShard(int shard, int64_t since, int64_t version, bool keep_removals,
                                                          Allocator* allocator) {
  ASSIGN_OR_RETURN(const auto use, Use());
  return shards_[shard]->Export(since, static_cast<uint64_t>(version), keep_removals, allocator);
}

absl::Status EmbeddingTable::ImportRows(OpKernelContext& ctx, const EmbeddingRows& rows, int partition,
                                        int partitions) {
  const absl::Span<const int64_t> keys = rows.keys.flat<int64_t>();
  ASSIGN_OR_RETURN(Grouping groups, Group(keys));
  const auto import = [&](int shard) -> absl::StatusOr<int64_t> {
    const absl::Span<uint32_t> all = groups.of(shard);
    const auto is_here = [&](uint32_t i) { return PartitionOf(KeyHash(keys[i]), partitions) == partition; };
    const auto end = partitions == 1 ? all.end() : std::stable_partition(all.begin(), all.end(), is_here);
    const absl::Span<uint32_t> here = all.subspan(0, end - all.begin());
    RETURN_IF_ERROR(shards_[shard]->Import(rows, here));
    return 0;
  };
  return ForShards(ctx, static_cast<int64_t>(keys.size()), import).status();
}

absl::Status EmbeddingTable::Import(OpKernelContext& ctx, const EmbeddingRows& rows) {
  RETURN_IF_ERROR(CheckRows(rows));
  ASSIGN_OR_RETURN(const auto use, Use());
  Raise(version_, std::max(version_.load(), rows.LatestVersion()) + 1);
  return ImportRows(ctx, rows, 0, 1);
}

absl::Status EmbeddingTable::BeginRestore() {
  if (is_restoring_.exchange(true)) {
    return errors::Aborted("Embedding table ", options_.name, " is being restored already");
  }
  is_initialized_.store(false);  // sends readers away, who would keep the gate
  barrier_->Abort(errors::Aborted("Embedding table ", options_.name, " is being restored"));
  std::unique_lock lock(gate_);
  is_initialized_.store(false);  // an Initialize may have come between
  latest_restored_.store(0);
  for (const auto& shard : shards_) shard->Clear();
  return absl::OkStatus();
}

absl::Status EmbeddingTable::RestoreRows(OpKernelContext& ctx, const EmbeddingRows& rows, int partition,
                                         int partitions) {
  RETURN_IF_ERROR(CheckRows(rows));
  Raise(latest_restored_, rows.LatestVersion());
  ASSIGN_OR_RETURN(Grouping removed, Group(rows.removed));
  for (int i = 0; i < num_shards(); ++i) {
    RETURN_IF_ERROR(shards_[i]->Remove(rows.removed, removed.of(i)).status());
  }
  return ImportRows(ctx, rows, partition, partitions);
}

absl::Status EmbeddingTable::EndRestore(absl::Status status, int64_t version, bool whole) {
  std::unique_lock lock(gate_);
  if (status.ok() && (version < 0 || version > kMaxVersion)) {
    status = errors::DataLoss("An embedding table was saved with the version ", version);
  }
  const uint64_t latest = std::max(static_cast<uint64_t>(std::max<int64_t>(version, 0)), latest_restored_.load());
  if (status.ok() && latest - static_cast<uint64_t>(version) > kMaxPushesDuringSave) {
    status = errors::DataLoss("An embedding table was saved with the version ", version, ", a row of it with ", latest);
  }
  if (status.ok()) {
    // Were it behind its rows, a gradient could not be as new as they are.
    version_.store(latest + 1);
    for (const auto& shard : shards_) {
      if (whole) shard->RememberRemovals(static_cast<uint64_t>(version));
    }
    is_initialized_.store(true);
  } else {
    for (const auto& shard : shards_) shard->Clear();
  }
  is_restoring_.store(false);
  return status;
}

}  // namespace weir
