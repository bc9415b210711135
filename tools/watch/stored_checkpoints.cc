#include "tools/watch/stored_checkpoints.h"

#include <memory>
#include <vector>

#include "core/checkpoint/stored_generations.h"
#include "core/files/file_system.h"

namespace weir {
namespace {

constexpr size_t kMaxModels = 20, kMaxGenerations = 5;

}  // namespace

void AddStoredCheckpoints(const std::string& directory, TaskReport* report) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const absl::StatusOr<std::vector<std::string>> models = files->List(directory);
  if (!models.ok()) return;
  for (size_t i = 0; i < models->size() && i < kMaxModels; ++i) {
    const std::string& model = (*models)[i];
    absl::StatusOr<StoreContents> contents = ReadStoreContents(files.get(), JoinPath(directory, model));
    if (!contents.ok()) continue;
    const StoredGenerations found = FindGenerations({*std::move(contents)});
    for (size_t k = 0; k < found.newest_first.size() && k < kMaxGenerations; ++k) {
      const StoredGeneration& generation = found.newest_first[k];
      TaskReport::Checkpoint* const out = report->add_checkpoint();
      out->set_model(model);
      out->set_generation(generation.generation);
      out->set_step(generation.step);
      out->set_shards_here(static_cast<int64_t>(generation.shards.size()));
      out->set_shards(generation.num_shards);
    }
  }
}

}  // namespace weir
