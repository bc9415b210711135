// Checkpoints on the tasks that own the data, with a copy of each task's part on another: no shared file system.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/checkpoint/store_copy.h"
#include "client/checkpoint/task_store.h"
#include "client/saver.h"

namespace weir {

struct CheckpointStoresOptions {
  // Tasks with stores (weir server --checkpoint-store), such as "/job:ps/task:0": all that have saved state, and at
  // least two. The peer of each is the next one, that of the last is the first.
  std::vector<std::string> tasks;
  std::string model;   // its name: a relative path in each store
  std::string holder;  // the name of this process's task, for errors of others
  int max_to_keep = 5;
  std::vector<Saveable> saveables;
  bool snapshots = false;  // see SaverOptions
};

// Saves generations (core/checkpoint/stored_generations.h) and restores the newest one that can be read.
// - A shard is in the store of its owner and of the owner's peer. Manifests are written when all shards and copies of
//   the generation are on disk.
// - Only whole generations are restored: of each shard a copy is left that matches its manifest. Shards of two
//   generations are never combined.
// - A restore accepts generations of other tasks, or of another number of them, if their shards are in these stores.
// - A restore first gives stores that were lost their shards back.
// - The last process to start holds the lease: another one's next save or restore fails (IsLeaseLost).
// Blocks. Not thread-safe: one call at a time. Save may run beside steps, RestoreNewest not. Errors of tasks keep their
// names.
class CheckpointStores {
 public:
  // Adds ops to `scope`'s graph. InvalidArgument, recorded in the scope, for bad tasks or a bad name.
  CheckpointStores(const Scope& scope, CheckpointStoresOptions options);

  // Writes a generation; of `snapshot`, which is released, if it is not null. Then deletes generations beyond
  // max_to_keep and what failed saves left. An error leaves all whole generations as they are.
  absl::Status Save(Session& session, int64_t step, const Saver::Snapshot* snapshot);
  struct Restored {
    std::string checkpoint;  // "MODEL/NAME"; empty: there are none
    int64_t generation = 0;
  };
  // DATA_LOSS if there are generations, but none can be restored. May add ops to the graph.
  absl::StatusOr<Restored> RestoreNewest(Session& session);
  const Saver& saver() const { return *saver_; }

 private:
  // By shard of a generation: the store that it is read from.
  using Sources = std::map<int, int>;

  int PeerOf(int store) const { return (store + 1) % static_cast<int>(stores_.size()); }
  std::string Directory(const std::string& name) const { return GenerationDirectory(options_.model, name); }
  std::string Prefix(const StoredGeneration& generation, int shard) const {
    return ShardPrefix(options_.model, generation.name, shard, generation.num_shards);
  }
  const StoreCopy& Copy(int from, int to);
  absl::StatusOr<std::vector<StoreContents>> Contents(Session& session) const;

  // The contents of stores, when this process has the lease; takes it the first time.
  absl::StatusOr<std::vector<StoreContents>> ContentsUnderLease(Session& session);
  absl::Status TakeLease(Session& session, const std::vector<StoreContents>& contents);
  absl::Status CheckLease(Session& session, const std::vector<StoreContents>& contents) const;
  absl::Status WriteLease(Session& session, const TaskStore& store) const;

  absl::Status Write(Session& session, const StoredGeneration& generation, const Saver::Snapshot* snapshot);
  // Describes a shard that was just written, and copies it to the peer.
  absl::StatusOr<CheckpointManifest> Secure(Session& session, const StoredGeneration& generation, int shard) const;
  absl::Status WriteManifest(Session& session, const StoredGeneration& generation, int shard,
                             const CheckpointManifest& manifest, int store) const;
  absl::Status Delete(Session& session, const std::string& name) const;
  absl::Status Prune(Session& session);

  // For each shard a store with intact files; drops the others from `generation`. With `thorough` reads all bytes.
  absl::StatusOr<Sources> FindIntact(Session& session, StoredGeneration* generation, bool thorough) const;
  // Copies shards to the stores that have lost them.
  absl::Status Replenish(Session& session, StoredGeneration* generation, const Sources& sources);
  absl::Status Restore(Session& session, const StoredGeneration& generation);
  absl::Status RestoreFrom(Session& session, const StoredGeneration& generation, const Sources& sources);
  // Shards that have tensors which the store's task needs, in one checkpoint there; may be in `staging`.
  absl::StatusOr<std::string> Gather(Session& session, const StoredGeneration& generation, const Sources& sources,
                                     int shard, const std::string& staging);

  const Scope scope_;
  const CheckpointStoresOptions options_;
  std::unique_ptr<Saver> saver_;
  std::vector<TaskStore> stores_;
  std::vector<std::string> tasks_;  // full names
  std::vector<int> owners_;         // by shard: a store
  std::map<std::pair<int, int>, std::unique_ptr<StoreCopy>> copies_;
  CheckpointLeaseRecord lease_;  // token 0: not taken yet
  int64_t last_generation_ = 0;
};

}  // namespace weir
