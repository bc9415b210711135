// Checkpoints that are spread over the stores of several tasks: which are there, and what is left of each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/files/file_system.h"
#include "core/status.h"
#include "weir/checkpoint.pb.h"

namespace weir {

// A save is a generation: in each store a directory MODEL/NAME, with NAME = GENERATION-NONCE-STEP, of bundles, each a
// shard with the state of one task, and its manifest.
std::string NewGenerationName(int64_t generation, int64_t step);
// "store://MODEL/NAME".
std::string GenerationDirectory(const std::string& model, const std::string& name);
// "store://MODEL/NAME/shard-00001-of-00003".
std::string ShardPrefix(const std::string& model, const std::string& name, int shard, int num_shards);

// One store's part of a model.
struct StoreContents {
  std::string lease;                     // the text of its lease; empty: none
  std::vector<std::string> directories;  // names: of generations, and of what interrupted calls left
  struct Manifest {
    std::string path;  // relative to the model: "NAME/shard-00001-of-00003.manifest"
    std::string text;
  };
  std::vector<Manifest> manifests;
};
// Of the model in `directory`, which may be absent. Errors of the disk are errors, never absence.
absl::StatusOr<StoreContents> ReadStoreContents(FileSystem* files, const std::string& directory);

// The remaining parts of one save.
struct StoredGeneration {
  struct Shard {
    CheckpointManifest manifest;
    std::vector<int> stores;  // that have it, by index; at least one
  };

  std::string name;
  uint64_t token = 0;  // of the lease that it was written under
  int64_t generation = 0, step = 0;
  int num_shards = 0;
  std::map<int, Shard> shards;  // by number

  // Nothing of it is missing.
  bool IsWhole() const { return static_cast<int>(shards.size()) == num_shards; }
};

struct StoredGenerations {
  std::vector<StoredGeneration> newest_first;  // by lease, then by number
  // Manifests that do not count: damaged, or of another generation than that of the directory they are in.
  std::vector<std::string> damaged;
};
// From the contents of all stores.
StoredGenerations FindGenerations(const std::vector<StoreContents>& stores);

}  // namespace weir
