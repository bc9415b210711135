// Saving elements as they pass: what SaveDataset and snapshots share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/data/captured_function.h"
#include "kernels/data/saved/snapshot_files.h"

namespace weir {

// What is saved, and where. Immutable.
struct SavePlan {
  FileSystem* files = nullptr;
  std::string dir;  // of the metadata
  Compression compression = Compression::kNone;
  std::optional<CapturedFunction> shard;  // gives an element's shard; without it there is one shard
  std::string hash;                       // of the dataset; may be empty
  DataTypeVector types;
};

// One run. Not thread-safe; blocks. The plan outlives it.
class ElementSaver {
 public:
  explicit ElementSaver(const SavePlan& plan) : plan_(plan) {}

  bool has_begun() const { return writer_.has_value(); }
  // A new run, which readers do not see before Finish.
  absl::Status Begin();
  absl::Status Save(IteratorContext& ctx, const Element& element);
  absl::Status Finish(int64_t elements);

  // The position, such that another saver goes on from there with files of its own.
  absl::Status SaveState(StateWriter writer);
  absl::Status RestoreState(const StateReader& reader);

 private:
  absl::StatusOr<int64_t> ShardOf(IteratorContext& ctx, const Element& element) const;
  absl::Status WriteMetadata(int64_t elements, bool is_final) const;

  const SavePlan& plan_;
  std::string run_;
  std::optional<SnapshotWriter> writer_;
};

}  // namespace weir
