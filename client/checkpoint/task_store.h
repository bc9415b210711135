// The checkpoint store of one task, seen from a client.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"
#include "core/checkpoint/stored_generations.h"

namespace weir {

// Ops in a graph that read and write files in a task's store (weir server --checkpoint-store). Paths are "store://…".
// Thread-safe. Calls block; FAILED_PRECONDITION names a task that has no store.
class TaskStore {
 public:
  // `task`: such as "/job:ps/task:0".
  TaskStore(const Scope& scope, std::string task);

  const std::string& task() const { return task_; }
  // Lists each store's files of the model in `directory`, in one step.
  static absl::StatusOr<std::vector<StoreContents>> Contents(Session& session, const std::vector<TaskStore>& stores,
                                                             const std::string& directory);
  // A manifest with the files and tensors of a checkpoint in the store.
  absl::StatusOr<CheckpointManifest> Describe(Session& session, const std::string& prefix) const;
  // DATA_LOSS unless the files are those of the manifest: sizes and indexes, or with `thorough` all bytes.
  absl::Status Verify(Session& session, const std::string& prefix, const CheckpointManifest& manifest,
                      bool thorough) const;
  // Replaces a file atomically.
  absl::Status Write(Session& session, const std::string& path, const std::string& text) const;
  // Deletes a file, or a directory with its contents, if it is there.
  absl::Status Delete(Session& session, const std::string& path) const;
  // Makes one checkpoint of several, which it removes.
  absl::Status Merge(Session& session, const std::vector<std::string>& prefixes, const std::string& prefix) const;

 private:
  const std::string task_;
  Output path_;  // fed to all of these
  std::vector<Output> contents_;
  Output description_;
  Output manifest_, thorough_;
  Operation verify_;
  Output text_;
  Operation write_, delete_;
  Output prefixes_;
  Operation merge_;
};

}  // namespace weir
