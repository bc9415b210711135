// Tables in parts, and the parts that move.
#include "core/memory/out_of_memory.h"
#include "kernels/embedding/embedding_table.h"

namespace weir {

absl::Status EmbeddingTable::CheckParts(absl::Span<const int32_t> parts) const {
  if (options_.parts == 0) {
    return errors::FailedPrecondition("Embedding table ", options_.name, " has no parts that move");
  }
  int32_t last = -1;
  for (const int32_t part : parts) {
    if (part <= last || part >= options_.parts) {
      return errors::InvalidArgument("Parts must be in [0, ", options_.parts, ") and in order, got ", part, " after ",
                                     last);
    }
    last = part;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EmbeddingRows>> EmbeddingTable::Send(absl::Span<const int32_t> parts,
                                                                absl::Span<const int64_t> since,
                                                                std::optional<int64_t> freeze, Allocator* allocator,
                                                                int64_t* version) {
  RETURN_IF_ERROR(CheckParts(parts));
  ASSIGN_OR_RETURN(const auto use, Use());
  *version = static_cast<int64_t>(version_.fetch_add(1));
  std::vector<EmbeddingRows> rows;
  absl::Status status;
  for (size_t i = 0; status.ok() && i < parts.size(); ++i) {
    absl::StatusOr<EmbeddingRows> part =
        shards_[parts[i]]->Send(since[i], static_cast<uint64_t>(*version), freeze, allocator);
    status = part.status();
    if (part.ok()) rows.push_back(*std::move(part));
  }
  if (!status.ok() && freeze.has_value()) Stay(parts, *freeze);
  RETURN_IF_ERROR(status);
  return rows;
}

void EmbeddingTable::Stay(absl::Span<const int32_t> parts, int64_t move) {
  for (const int32_t part : parts) shards_[part]->Stay(move);
}

absl::Status EmbeddingTable::Receive(absl::Span<const int32_t> parts, absl::Span<const int64_t> since, int64_t move,
                                     const EmbeddingRows& rows) {
  RETURN_IF_ERROR(CheckParts(parts));
  RETURN_IF_ERROR(CheckRows(rows));
  ASSIGN_OR_RETURN(const auto use, Use());
  ASSIGN_OR_RETURN(Grouping groups, Group(rows.keys.flat<int64_t>()));
  ASSIGN_OR_RETURN(Grouping removed, Group(rows.removed));
  size_t here = 0;
  for (const int32_t part : parts) here += groups.of(part).size();
  if (here != static_cast<size_t>(rows.keys.NumElements())) {
    return errors::InvalidArgument("Embedding table ", options_.name, " got rows of other parts than it was told of");
  }
  // Were the clock behind its rows, a gradient could not be as new as they are.
  Raise(version_, std::max(version_.load(), rows.LatestVersion()) + 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    const int32_t part = parts[i];
    RETURN_IF_ERROR(shards_[part]->Receive(move, since[i] < 0, rows, groups.of(part), removed.of(part)));
  }
  // The parts that were here have less memory now.
  DivideMemory();
  for (const auto& shard : shards_) RETURN_IF_ERROR(shard->FitMemory());
  return absl::OkStatus();
}

absl::Status EmbeddingTable::Adopt(absl::Span<const int32_t> parts, int64_t move) {
  RETURN_IF_ERROR(CheckParts(parts));
  ASSIGN_OR_RETURN(const auto use, Use());
  for (const int32_t part : parts) RETURN_IF_ERROR(shards_[part]->Adopt(move));
  return absl::OkStatus();
}

absl::Status EmbeddingTable::Own(absl::Span<const int32_t> owners, int32_t self, bool create) {
  RETURN_IF_ERROR(CheckParts({}));
  if (static_cast<int64_t>(owners.size()) != options_.parts) {
    return errors::InvalidArgument("Embedding table ", options_.name, " has ", options_.parts, " parts, got owners of ",
                                   owners.size());
  }
  for (int i = 0; i < num_shards(); ++i) RETURN_IF_ERROR(shards_[i]->Own(owners[i] == self, create));
  DivideMemory();
  return absl::OkStatus();
}

absl::Status EmbeddingTable::RestoreRows(OpKernelContext& ctx, const EmbeddingRows& rows) {
  RETURN_IF_ERROR(CheckRows(rows));
  Raise(latest_restored_, rows.LatestVersion());
  ASSIGN_OR_RETURN(Grouping removed, Group(rows.removed));
  ASSIGN_OR_RETURN(Grouping groups, Group(rows.keys.flat<int64_t>()));
  const auto restore = [&](int part) -> absl::StatusOr<int64_t> {
    if (shards_[part]->presence() != EmbeddingPresence::kHere) return 0;
    RETURN_IF_ERROR(shards_[part]->Remove(rows.removed, removed.of(part)).status());
    RETURN_IF_ERROR(shards_[part]->Import(rows, groups.of(part)));
    return 0;
  };
  return ForShards(ctx, rows.keys.NumElements(), restore).status();
}

}  // namespace weir
