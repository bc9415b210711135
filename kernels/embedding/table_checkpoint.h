// Embedding tables in checkpoints.
#pragma once

#include <string>
#include <vector>

#include "core/checkpoint/bundle_writer.h"
#include "core/files/file_system.h"
#include "kernels/embedding/embedding_table.h"

namespace weir {

struct SaveOptions {
  bool with_slots = true;  // false: for tables without an optimizer, which serve
  // Whether others can still ask for what changed since before `since`.
  bool keep_removals = false;
};

// Writes all rows (since -1), or what changed after that version, as ordinary tensors, those of each shard by
// themselves, so that no more than one is in memory twice:
//   NAME-info                    int64: format, width, slots, version, since, shards
//   NAME/shard_12-keys           int64 [n];  -values float [n, width];  -slots float [n, slots * width]
//   NAME/shard_12-versions, -freqs, -used   int64 [n]
//   NAME/shard_12-removed        int64 [m], in checkpoints of changes
// NAME is "TABLE/part_0". A task that saves all parts also writes TABLE-partitions (int64), their number, and of a
// table whose parts move TABLE-owners (int32 [shards]): which of them has the rows of each shard, where several have
// some. Gives the version to name as `since` next time. Pushes may go on meanwhile: each row is as it was at some
// moment of the save.
absl::StatusOr<int64_t> SaveTable(EmbeddingTable& table, FileSystem* files, const std::string& prefix,
                                  const std::string& name, int64_t since, const SaveOptions& options,
                                  OpKernelContext& ctx);

// Which keys a table takes: those of part `self` of `count`, or of a table whose parts move, those of the parts that
// `owners` gives to `self`.
struct RestoredParts {
  int32_t self = 0, count = 1;
  absl::Span<const int32_t> owners;
  bool moves() const { return !owners.empty(); }
};

// Puts the rows of the checkpoints `prefixes`, a whole one and then those of changes since, each from the one before,
// in the place of the table's: those of table `name` that belong here by `parts`, which need not be as it was saved.
// DataLoss when the checkpoints do not follow each other, or parts are missing: then, and when one cannot be opened,
// the table stays as it was. Gives the version.
absl::StatusOr<int64_t> RestoreTable(EmbeddingTable& table, FileSystemRegistry* file_systems,
                                     const std::vector<std::string>& prefixes, const std::string& name,
                                     const RestoredParts& parts, OpKernelContext& ctx);

}  // namespace weir
