// Checkpoints of a graph's variables, in TensorFlow's V2 format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/saveable.h"
#include "client/session.h"
#include "client/variables.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/files/file_system.h"

namespace weir {

struct SaverOptions {
  int max_to_keep = 5;  // 0: all
  // Of the checkpoints beyond max_to_keep, one in this time is kept for good.
  absl::Duration keep_every = absl::InfiniteDuration();
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
  std::vector<Saveable> saveables;  // additional state to save and restore
  bool no_variables = false;        // only the saveables
  // Save writes a snapshot, so that steps may run meanwhile.
  bool snapshots = false;
};

// Adds save and restore ops to a graph, one shard per device with saved state: every task writes its state to a
// temporary directory, one of them merges the shards there, then the client moves the files to their final names, so
// that readers find the old checkpoint or the new one. The tasks and the client must share a file system. Thread-safe
// once built, except that saves must not overlap.
class Saver {
 public:
  // The values of one moment, kept by their tasks for the session. Updates of the variables copy what it still shares.
  struct Snapshot {
    std::vector<tstring> handles;  // one an entry
  };
  struct SaveOptions {
    const CheckpointLease* lease = nullptr;  // of the directory; null: none
    std::vector<std::string> beside;         // checkpoints in the same directory or below that this one builds on
    // To write, with SaverOptions::snapshots; is released. Null: one of this moment.
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
  // With SaverOptions::snapshots; takes references, and writes nothing. No step may run.
  absl::StatusOr<Snapshot> TakeSnapshot(Session& session) const;
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
  // Copies what the snapshot shares with variables, a tensor at a time: an update that comes later has nothing to copy.
  absl::Status Detach(Session& session, Snapshot* snapshot) const;
  absl::Status Release(Session& session, const Snapshot& snapshot) const;
  // Returns the kept value. `elements`: 0 if unknown.
  Output AddSnapshot(const Scope& on_device, const Output& value, int64_t elements);
  std::vector<Shard> MakeShards(const std::vector<ResourceVariable>& variables) const;
  void AddSave(const Scope& scope, const std::vector<Shard>& shards);
  void AddRestore(const Scope& scope, const std::vector<Shard>& shards);

  const SaverOptions options_;
  int num_shards_ = 0;
  std::vector<std::string> names_;  // of the entries
  // Ops of one entry's part in a snapshot.
  struct Kept {
    Output capture;  // keeps the current value; its handle
    Output handle;   // fed
    Output copy;     // keeps a copy of the kept value; its handle
    Operation remove;
    bool is_copied = false;  // at once
  };
  std::vector<Kept> kept_;
  Output prefix_;  // the checkpoint to read or write
  std::vector<Output> shard_prefixes_;
  Output all_shard_prefixes_;
  Operation save_, restore_;
};

}  // namespace weir
