// Copies files from one task's store to another's.
#pragma once

#include <string>

#include "client/scope.h"
#include "client/session.h"
#include "weir/checkpoint.pb.h"

namespace weir {

// Ops in a graph that read files on one task and write them on another. The bytes travel like any tensor, in pieces, at
// low priority on both sides. For checkpoints and their copies; a standby of a parameter server can be filled by it
// too. Thread-safe. Run blocks.
class StoreCopy {
 public:
  // `from` and `to`: tasks with stores, "/job:ps/task:0"; may be the same.
  StoreCopy(const Scope& scope, const std::string& from, const std::string& to);

  // Copies the files of the manifest from one directory to another, "store://…", and syncs them. The manifest itself is
  // not copied.
  absl::Status Run(Session& session, const std::string& from_directory, const std::string& to_directory,
                   const CheckpointManifest& manifest) const;

 private:
  absl::Status CopyFile(Session& session, const std::string& from, const std::string& to, int64_t size) const;

  Output from_, to_, offset_, size_, sync_;  // fed
  Operation write_;
};

}  // namespace weir
