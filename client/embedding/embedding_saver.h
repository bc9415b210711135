// Checkpoints of embeddings: all rows now and then, and in between what changed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/embedding/embedding_variable.h"
#include "client/training_state.h"
#include "core/file_system.h"

namespace weir {

struct EmbeddingSaverOptions {
  // Every so many checkpoints all rows are written, in the others those that changed since the one before.
  int full_every = 10;
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};

// Beside the checkpoint "dir/model.ckpt-100" of the variables, the embeddings' rows are
// "dir/embeddings/model.ckpt-100", with the names of the checkpoints that it follows in the tensor "embedding_chain".
// Each task writes what it holds; then the parts are merged under the final name, so that a reader finds all of it or
// nothing. Of an embedding whose parts move, the map is in it, and the checkpoint after a move has all rows; it is
// restored to the tasks that had its parts, or evenly where not all of those are there. The tasks and the client must
// see the same files. Checkpoints that none of the variables' needs are deleted,
// unless one of these cannot be read now.
class EmbeddingSaver : public TrainingState {
 public:
  // Adds ops to the scope's graph.
  EmbeddingSaver(const Scope& scope, std::vector<EmbeddingVariable> variables, EmbeddingSaverOptions options = {});

  absl::Status Initialize(Session& session) override;
  absl::StatusOr<bool> IsWhole(Session& session) override;
  absl::Status Save(Session& session, const std::string& checkpoint) override;
  // All parts, from the checkpoint and those that it follows. The number of parts may differ from the one saved.
  absl::Status Restore(Session& session, const std::string& checkpoint) override;

  // Whether the last checkpoint has changes alone, and its size.
  bool last_was_delta() const { return last_was_delta_; }

 private:
  struct Part {
    Output prefix, since;  // fed
    Output saved;          // the version
    Output restored;
  };

  // Of an embedding whose parts move.
  struct Map {
    EmbeddingVariable variable;
    Output owners, tasks, epoch;  // as they are now
    Output fed;                   // owners to set, or to restore to
    Operation set;
  };
  struct MapState {
    std::vector<int32_t> owners;  // in the variable's devices
    int64_t epoch = 0;
    friend bool operator==(const MapState&, const MapState&) = default;
  };

  const Map* FindMap(const EmbeddingVariable& variable) const;
  void AddMap(const Scope& scope, const EmbeddingVariable& variable);
  absl::StatusOr<std::vector<MapState>> ReadMaps(Session& session) const;
  absl::Status SetMaps(Session& session, const std::vector<std::vector<int32_t>>& owners) const;
  void AddPart(const Scope& scope, const EmbeddingVariable& variable, int part);
  absl::Status SaveOnce(Session& session, const std::string& path, const std::vector<MapState>& maps);
  absl::Status SaveSince(Session& session, const std::string& path, const std::vector<std::string>& chain,
                         const std::vector<int64_t>& since, const std::vector<MapState>& maps);
  absl::StatusOr<std::vector<std::string>> ReadChain(FileSystem* files, const std::string& path) const;
  absl::Status DeleteUnneeded(FileSystem* files, const std::string& dir) const;

  const EmbeddingSaverOptions options_;
  std::vector<Part> parts_;
  std::vector<Map> maps_;
  std::map<std::string, int64_t> partitions_;  // by embedding
  Operation initialize_;
  Output is_whole_;
  std::vector<std::string> chain_;  // names of what the next delta follows; empty: the next has all rows
  std::vector<int64_t> versions_;   // of the parts, in the last of them
  std::vector<MapState> saved_maps_;
  bool last_was_delta_ = false;
};

}  // namespace weir
