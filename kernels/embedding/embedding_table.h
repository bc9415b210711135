// Rows of numbers by key, made when a key is first pushed: the object behind the EmbeddingTable ops.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/embedding/embedding_shard.h"
#include "kernels/embedding/push_barrier.h"

namespace weir {

// Thread-safe. A key is in one of up to 64 shards, each with its own lock: a batch takes each lock once. In a table
// that is divided into parts (EmbeddingOptions::parts) each part is a shard, and those that are elsewhere are empty; a
// batch that names a key of one is ABORTED. A row changes at once, a batch does not: a pull beside a push can see some
// of its rows. Memory is what AllocatorStats of the device count, and beside the rows some 13 % (of width 64).
//
// With a memory limit, its rows and indexes take up to that; other rows are in a file, and every call may wait for the
// disk. Nothing else depends on where a row is.
//
// The table has a version, which each batch of changes and each export moves on, and each row the one of its last
// change. Without Initialize, or Restore, rows can be neither read nor changed: a task that has lost its rows never
// gives out initial ones in their place.
class EmbeddingTable : public Resource {
 public:
  // FailedPrecondition where storage_path has no place for a file.
  static absl::StatusOr<std::shared_ptr<EmbeddingTable>> Create(EmbeddingOptions options, Allocator* allocator);
  const EmbeddingOptions& options() const { return options_; }
  std::string DebugString() const override;
  int64_t MemoryUsed() const override;

  // Whether rows may be on disk, so that calls may wait for it.
  bool has_storage() const { return file_ != nullptr; }
  bool is_initialized() const { return is_initialized_.load(); }
  // Removes all rows. Aborted while rows are being restored.
  absl::Status Initialize();

  // The values of `keys`, into out[keys.size(), width]; gives the table's version before that.
  absl::StatusOr<int64_t> Gather(OpKernelContext& ctx, absl::Span<const int64_t> keys, float* out);
  // Returns the number of keys that the policy rejected.
  absl::StatusOr<int64_t> Update(OpKernelContext& ctx, const EmbeddingUpdate& update);
  absl::StatusOr<int64_t> Remove(OpKernelContext& ctx, absl::Span<const int64_t> keys);
  absl::StatusOr<int64_t> EvictExpired(OpKernelContext& ctx, uint32_t now);
  // The time by which rows age: seconds, or the step. InvalidArgument for a step that cannot be.
  absl::StatusOr<uint32_t> Now(int64_t step) const;
  // The same for what does not come with a step: the latest that a push had.
  absl::StatusOr<uint32_t> Now() const { return Now(latest_step_.load()); }

  int num_shards() const { return static_cast<int>(shards_.size()); }
  // Begins an export of all rows (-1) or of what changed after version `since`: gives the version to ask for next time.
  // FailedPrecondition when not all removals since then are known; then all rows have to be exported. InvalidArgument
  // for a version that the table has not had yet.
  absl::StatusOr<int64_t> BeginExport(int64_t since);
  // With `keep_removals`, exports of somebody else can still be of what changed since an earlier version.
  absl::StatusOr<EmbeddingRows> ExportShard(int shard, int64_t since, int64_t version, bool keep_removals,
                                            Allocator* allocator);
  // Overwrites rows. The next export has to be of all rows. InvalidArgument where the tensors do not fit together.
  absl::Status Import(OpKernelContext& ctx, const EmbeddingRows& rows);

  // Puts other rows in the place of all: nothing can be read or changed between Begin, which waits for what is under
  // way, and End, which says what version the rows have. `whole`: they are what an export of that version had, so that
  // the next one may be of changes since. One at a time; Aborted when another is under way. After an error the table is
  // empty and not initialized.
  absl::Status BeginRestore();
  absl::Status EndRestore(absl::Status status, int64_t version, bool whole);
  // In between. Removes rows.removed, then takes the rows whose keys are in `partition` of `partitions`.
  absl::Status RestoreRows(OpKernelContext& ctx, const EmbeddingRows& rows, int partition, int partitions);
  // The same for a table in parts: takes the rows whose parts are here.
  absl::Status RestoreRows(OpKernelContext& ctx, const EmbeddingRows& rows);

  // Parts that move. Each is named by `move`, a random number, so that what is left of one never counts for another.

  // The rows of `parts` that changed since[i] (-1: all rows), as one; gives what to ask for next time in *version. The
  // last time, of `freeze`, nothing changes in them any more until Own or Stay.
  absl::StatusOr<std::vector<EmbeddingRows>> Send(absl::Span<const int32_t> parts, absl::Span<const int64_t> since,
                                                  std::optional<int64_t> freeze, Allocator* allocator,
                                                  int64_t* version);
  void Stay(absl::Span<const int32_t> parts, int64_t move);
  // What Send gave. Nobody sees it before Adopt. ABORTED where something came between, AlreadyExists where a part is
  // here, until Own says that it is not.
  absl::Status Receive(absl::Span<const int32_t> parts, absl::Span<const int64_t> since, int64_t move,
                       const EmbeddingRows& rows);
  absl::Status Adopt(absl::Span<const int32_t> parts, int64_t move);
  // Of all parts, this table has those whose owner is `self`: it drops the others, and makes what it lacks where
  // `create`.
  absl::Status Own(absl::Span<const int32_t> owners, int32_t self, bool create);
  EmbeddingShard& shard(int i) { return *shards_[i]; }

  EmbeddingCounts counts() const;
  // Of rows, read from disk and written there.
  int64_t bytes_read() const { return file_ == nullptr ? 0 : file_->bytes_read(); }
  int64_t bytes_written() const { return file_ == nullptr ? 0 : file_->bytes_written(); }
  // For pushes that are applied together. Those that wait are ABORTED when the rows go: by Initialize, by BeginRestore.
  PushBarrier& barrier() { return *barrier_; }

 private:
  // The positions of keys, those of one shard after the other.
  struct Grouping {
    std::vector<uint32_t> positions;
    std::vector<size_t> begin;  // of each shard, and the end
    absl::Span<uint32_t> of(int shard) {
      return absl::MakeSpan(positions).subspan(begin[shard], begin[shard + 1] - begin[shard]);
    }
  };

  EmbeddingTable(EmbeddingOptions options, Allocator* allocator, std::unique_ptr<ColdFile> file);
  // Divides the memory limit among the shards that have rows.
  void DivideMemory();
  // Holds off BeginRestore and Initialize; FailedPrecondition unless the table is initialized.
  absl::StatusOr<std::shared_lock<std::shared_mutex>> Use() const;
  absl::StatusOr<Grouping> Group(absl::Span<const int64_t> keys) const;
  absl::Status CheckParts(absl::Span<const int32_t> parts) const;
  // Calls work(shard) for each shard, in parallel where `keys` are many or shards wait for the disk; gives the sum.
  absl::StatusOr<int64_t> ForShards(OpKernelContext& ctx, int64_t keys,
                                    const std::function<absl::StatusOr<int64_t>(int)>& work) const;
  absl::Status CheckRows(const EmbeddingRows& rows) const;
  absl::Status ImportRows(OpKernelContext& ctx, const EmbeddingRows& rows, int partition, int partitions);
  static void Raise(std::atomic<uint64_t>& to_raise, uint64_t version);

  const EmbeddingOptions options_;
  std::atomic<uint64_t> version_{1};
  std::atomic<uint32_t> latest_step_{0};
  mutable std::shared_mutex gate_;  // shared by what reads and changes rows
  std::atomic<bool> is_initialized_{false};
  std::atomic<bool> is_restoring_{false};
  std::atomic<uint64_t> latest_restored_{0};  // version of a row
  const std::shared_ptr<PushBarrier> barrier_ = std::make_shared<PushBarrier>();
  int shard_bits_ = 0;
  const std::unique_ptr<ColdFile> file_;  // or nullptr
  std::atomic<int64_t> shard_bytes_{0};   // of the memory limit
  std::vector<std::unique_ptr<EmbeddingShard>> shards_;
};

}  // namespace weir
