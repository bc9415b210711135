// Checkpoints of a graph's variables, in TensorFlow's V2 format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/saveable.h"
#include "client/session.h"
#include "client/variables.h"
#include "core/api.h"
#include "core/files/file_system.h"

namespace WEIR_API weir {

class CheckpointLease;

struct SaverOptions {
  int max_to_keep = 5;  // 0: all
  // Of the checkpoints beyond max_to_keep, one in this time is kept for good.
  absl::Duration keep_every = absl::InfiniteDuration();
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
  std::vector<Saveable> saveables;  // additional state to save and restore
  bool no_variables = false;        // only the saveables
  bool snapshots = false;           // allows TakeSnapshot
  // A checkpoint for each task, of its part of the state, instead of one: for SaveShards and RestoreShards only.
  bool separate_tasks = false;
};

// Adds save and restore ops to a graph, one shard per device with saved state: every task writes its state to a
// temporary directory, one of them merges the shards there, then the client moves the files to their final names, so
// that readers find the old checkpoint or the new one. The tasks and the client must share a file system. Thread-safe
// once built, except that saves must not overlap.
class Saver {
 public:
  // The values of one moment, kept by their tasks for the session. Taking it copies nothing large (variables on GPUs
  // are copied there): while it exists, updates of all elements write to another buffer, updates of rows copy the rows.
  struct Snapshot {
    std::vector<tstring> handles;  // one an entry
  };
  struct SaveOptions {
    const CheckpointLease* lease = nullptr;  // of the directory; null: none
    std::vector<std::string> beside;         // checkpoints in the same directory or below that this one builds on
    // To write, at low priority, because steps run meanwhile; is released. Null: the variables as they are; no step may
    // run, unless values of different steps are acceptable.
    const Snapshot* snapshot = nullptr;
  };

  // `variables` empty: all variables of the scope.
  explicit Saver(const Scope& scope, std::vector<ResourceVariable> variables = {}, SaverOptions options = {});

  // Writes "<dir>/<base>-<step>" with its manifest, makes it the latest in <dir>/checkpoint, deletes the oldest beyond
  // max_to_keep. Nothing in <dir> changes once the lease is lost (IsLeaseLost). Returns the prefix.
  absl::StatusOr<std::string> Save(Session& session, const std::string& prefix, int64_t step,
                                   const SaveOptions& options) const;
  absl::StatusOr<std::string> Save(Session& session, const std::string& prefix, int64_t step) const {
    return Save(session, prefix, step, SaveOptions());
  }
  // With SaverOptions::snapshots; writes nothing. No step may run.
  absl::StatusOr<Snapshot> TakeSnapshot(Session& session) const;
  // Makes tasks hold memory for the next snapshot ready, so that no step waits for it: a second buffer for each
  // variable whose elements were all updated at once. May run beside steps, at low priority. RESOURCE_EXHAUSTED names a
  // task that has too little.
  absl::Status ReserveSnapshot(Session& session) const;
  // The most bytes that a snapshot may take on one device: all variables there.
  int64_t snapshot_bytes() const { return snapshot_bytes_; }
  // Writes `path` only.
  absl::Status SaveTo(Session& session, const std::string& path) const;
  // NotFound or DataLoss names the file; FailedPrecondition or InvalidArgument a variable whose shape or type differs.
  // No variable has changed after NotFound or DataLoss.
  absl::Status Restore(Session& session, const std::string& prefix) const;
  // Whether the checkpoint has an entry for everything that Restore reads.
  absl::StatusOr<bool> HasAll(const std::string& prefix) const;
  // The newest complete checkpoint of `dir`; NotFound if there is none.
  absl::StatusOr<std::string> Latest(const std::string& dir) const;
  // All complete checkpoints of `dir`, newest first; none in an empty directory. DataLoss if there are checkpoints, but
  // none is complete.
  absl::StatusOr<std::vector<std::string>> Complete(const std::string& dir) const;
  // Removes what saves to `prefix` left behind when their processes were killed. No save of this process may be in
  // progress; one of a process that has lost the lease fails.
  absl::Status RemoveUnfinished(const std::string& prefix, const CheckpointLease* lease = nullptr) const;

  // The part of the state that one task saves with SaverOptions::separate_tasks.
  struct TaskShard {
    std::string task;                // "/job:ps/replica:0/task:1"
    std::vector<std::string> names;  // of its tensors in checkpoints
  };
  const std::vector<TaskShard>& task_shards() const { return task_shards_; }
  // The task of a device, or of a partial name, in that form.
  static std::string TaskOf(const std::string& device);
  // Each shard's task writes it to its prefix, as that task sees it; of `snapshot` if it is not null, which is not
  // released.
  absl::Status SaveShards(Session& session, const std::vector<std::string>& prefixes, const Snapshot* snapshot) const;
  // Each shard's task reads it from its prefix, a checkpoint that may have more. No variable has changed after NotFound
  // or DataLoss.
  absl::Status RestoreShards(Session& session, const std::vector<std::string>& prefixes) const;
  // Drops a snapshot that need not be written.
  absl::Status Release(Session& session, const Snapshot& snapshot) const;

  // Restores from the checkpoint whose prefix is fed to prefix().
  const Output& prefix() const { return prefix_; }
  const Operation& restore() const { return restore_; }

 private:
  struct Shard {
    std::string device;
    std::vector<ResourceVariable> variables;
    std::vector<Saveable> saveables;
  };
  // Writes a checkpoint to `temporary`, a directory that it creates; returns its prefix.
  absl::StatusOr<std::string> Stage(Session& session, FileSystem* files, const std::string& temporary,
                                    const Snapshot* snapshot) const;
  absl::Status StageAndPublish(Session& session, const std::string& path, const SaveOptions& options,
                               std::optional<int64_t> step) const;
  FeedList ShardFeeds(const std::vector<std::string>& prefixes, const Snapshot* snapshot) const;
  // Adds ops that keep the present value of a variable; returns what SaveV2 then writes.
  Output KeepVariable(const Scope& on_device, const ResourceVariable& variable);
  // Adds ops that keep `value`, which is copied if it is `shared` with updates in place.
  Output Keep(const Scope& on_device, const Output& value, bool shared);
  std::vector<Shard> MakeShards(const std::vector<ResourceVariable>& variables) const;
  void AddPrefixes(const Scope& scope, const std::vector<Shard>& shards);
  // Adds ops that write all entries, or their values in a snapshot.
  Operation AddSave(const Scope& scope, const std::vector<Shard>& shards, bool of_snapshot);
  void AddReserve(const Scope& scope, const std::vector<Shard>& shards);
  void AddRestore(const Scope& scope, const std::vector<Shard>& shards);

  const SaverOptions options_;
  int num_shards_ = 0;
  std::vector<std::string> names_;  // of the entries
  std::vector<TaskShard> task_shards_;
  // Ops of one entry's part in a snapshot.
  struct Kept {
    Output capture;  // keeps the current value; its handle
    Output handle;   // fed
    Operation remove;
  };
  std::vector<Kept> kept_;
  Output prefix_;  // the checkpoint to read or write
  std::vector<Output> shard_prefixes_;
  Output all_shard_prefixes_;
  Operation save_, save_snapshot_, reserve_, restore_;
  int64_t snapshot_bytes_ = 0;
};

}  // namespace weir
