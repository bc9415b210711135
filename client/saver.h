// Checkpoints of a graph's variables, in TensorFlow's V2 format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/saveable.h"
#include "client/session.h"
#include "client/variables.h"
#include "core/files/file_system.h"

namespace weir {

struct SaverOptions {
  int max_to_keep = 5;  // 0: all
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
  std::vector<Saveable> saveables;  // additional state to save and restore
  bool no_variables = false;        // only the saveables
};

// Adds save and restore ops to a graph, one shard per device with saved state: every task writes its state, then one of
// them merges the shards under the final name, so that readers find the old checkpoint or the new one. The tasks and
// the client must share a file system. Thread-safe once built, except that saves must not overlap.
class Saver {
 public:
  // `variables` empty: all variables of the scope.
  explicit Saver(const Scope& scope, std::vector<ResourceVariable> variables = {}, SaverOptions options = {});

  // Writes "<dir>/<base>-<step>", makes it the latest in <dir>/checkpoint, deletes the oldest beyond max_to_keep.
  // Returns the prefix.
  absl::StatusOr<std::string> Save(Session& session, const std::string& prefix, int64_t step) const;
  // Writes `path` only.
  absl::Status SaveTo(Session& session, const std::string& path) const;
  // NotFound or DataLoss names the file; FailedPrecondition or InvalidArgument a variable whose shape or type differs.
  // No variable has changed after NotFound or DataLoss.
  absl::Status Restore(Session& session, const std::string& prefix) const;
  // The newest complete checkpoint of `dir`; NotFound if there is none.
  absl::StatusOr<std::string> Latest(const std::string& dir) const;
  // All complete checkpoints of `dir`, newest first; none in an empty directory. DataLoss if there are checkpoints, but
  // none is complete.
  absl::StatusOr<std::vector<std::string>> Complete(const std::string& dir) const;
  // Removes what a Save to `prefix` left behind when its process was killed. No save may be in progress.
  absl::Status RemoveUnfinished(const std::string& prefix) const;

  // Restores from the checkpoint whose prefix is fed to prefix().
  const Output& prefix() const { return prefix_; }
  const Operation& restore() const { return restore_; }

 private:
  struct Shard {
    std::string device;
    std::vector<ResourceVariable> variables;
    std::vector<Saveable> saveables;
  };
  std::vector<Shard> MakeShards(const std::vector<ResourceVariable>& variables) const;
  void AddSave(const Scope& scope, const std::vector<Shard>& shards);
  void AddRestore(const Scope& scope, const std::vector<Shard>& shards);

  const SaverOptions options_;
  int num_shards_ = 0;
  Output prefix_;  // the checkpoint to read or write
  std::vector<Output> shard_prefixes_;
  Output all_shard_prefixes_;
  Operation save_, restore_;
};

}  // namespace weir
