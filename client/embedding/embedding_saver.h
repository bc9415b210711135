// Embedding checkpoints: full ones from time to time, deltas in between.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/embedding/embedding_bundle.h"
#include "client/embedding/embedding_variable.h"
#include "client/training_state.h"
#include "core/api.h"
#include "core/files/file_system.h"

namespace WEIR_API weir {

struct EmbeddingSaverOptions {
  // Every so many checkpoints all rows are saved; the others have the rows changed since the previous one.
  int full_every = 10;
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};

// Saves embeddings with the checkpoints of variables. The tasks and the client must share a file system.
// - Beside the variables' checkpoint "dir/model.ckpt-100", the rows are "dir/embeddings/model.ckpt-100"; the tensor
//   "embedding_chain" has the names of the checkpoints that it builds on.
// - Each task writes its rows; then the parts are merged under the final name, so that readers find all of it or
//   nothing.
// - An embedding with movable parts includes its map, and the checkpoint after a move has all rows. It is restored to
//   the tasks that had the parts, or evenly if some of those do not exist.
// - Checkpoints that no checkpoint of variables in the directory needs are deleted, unless one of those cannot be read.
class EmbeddingSaver : public TrainingState {
 public:
  // Adds ops to the scope's graph.
  EmbeddingSaver(const Scope& scope, std::vector<EmbeddingVariable> variables, EmbeddingSaverOptions options = {});

  absl::Status Initialize(Session& session) override;
  absl::StatusOr<bool> IsWhole(Session& session) override;
  absl::Status Save(Session& session, const std::string& checkpoint, const CheckpointLease* lease) override;
  absl::Status Save(Session& session, const std::string& checkpoint) { return Save(session, checkpoint, nullptr); }
  absl::StatusOr<std::vector<std::string>> SavedAs(const std::string& checkpoint) override;
  // Restores all parts from the checkpoint and those that it builds on. The number of parts may differ from the saved
  // one.
  absl::Status Restore(Session& session, const std::string& checkpoint) override;

  // Whether the last checkpoint was a delta, and its size.
  bool last_was_delta() const { return last_was_delta_; }

 private:
  struct Part {
    Output prefix;  // fed
    Output restored;
  };

  // For an embedding with movable parts.
  struct Map {
    EmbeddingVariable variable;
    Output owners, tasks, epoch;  // current values
    Output fed;                   // owners to set, or to restore
    Operation set;
  };
  struct MapState {
    std::vector<int32_t> owners;  // indices into the variable's devices
    int64_t epoch = 0;
    friend bool operator==(const MapState&, const MapState&) = default;
  };

  const Map* FindMap(const EmbeddingVariable& variable) const;
  void AddMap(const Scope& scope, const EmbeddingVariable& variable);
  absl::StatusOr<std::vector<MapState>> ReadMaps(Session& session) const;
  absl::Status SetMaps(Session& session, const std::vector<std::vector<int32_t>>& owners) const;
  void AddPart(const Scope& scope, const EmbeddingVariable& variable, int part);
  struct Target {
    std::string path;
    const CheckpointLease* lease;
  };
  absl::Status SaveOnce(Session& session, const Target& target, const std::vector<MapState>& maps);
  absl::Status SaveSince(Session& session, const Target& target, const std::vector<std::string>& chain,
                         const std::vector<int64_t>& since, const std::vector<MapState>& maps);
  absl::StatusOr<std::vector<std::string>> ReadChain(FileSystem* files, const std::string& path) const;
  absl::Status DeleteUnneeded(FileSystem* files, const std::string& dir) const;

  const EmbeddingSaverOptions options_;
  EmbeddingBundleWriter writer_;
  std::vector<Part> parts_;
  std::vector<Map> maps_;
  std::map<std::string, int64_t> partitions_;  // by embedding
  Operation initialize_;
  Output is_whole_;
  std::vector<std::string> chain_;  // bases of the next delta; empty: the next one is full
  std::vector<int64_t> versions_;   // per part, in the last of them
  std::vector<MapState> saved_maps_;
  bool last_was_delta_ = false;
};

}  // namespace weir
