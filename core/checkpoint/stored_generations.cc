#include "core/checkpoint/stored_generations.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/manifest.h"
#include "core/files/store_file_system.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr absl::string_view kShard = "shard-", kOf = "-of-";
constexpr int kDigits = 5;

bool ConsumeNumber(absl::string_view* text, int* number) {
  const bool is_number =
      text->size() >= size_t{kDigits} && absl::SimpleAtoi(text->substr(0, kDigits), number) && *number >= 0;
  text->remove_prefix(is_number ? kDigits : 0);
  return is_number;
}

// Of "shard-00001-of-00003.manifest".
bool ParseShardManifest(absl::string_view file, int* shard, int* num_shards) {
  return absl::ConsumePrefix(&file, kShard) && ConsumeNumber(&file, shard) && absl::ConsumePrefix(&file, kOf) &&
         ConsumeNumber(&file, num_shards) && file == ManifestPath("") && *shard < *num_shards;
}

absl::StatusOr<std::vector<std::string>> ListOrNone(FileSystem* files, const std::string& directory) {
  auto names = files->List(directory);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

}  // namespace

std::string NewGenerationName(int64_t generation, int64_t step) {
  return absl::StrFormat("%d-%016x-%d", generation, RandomBits(), step);
}

std::string GenerationDirectory(const std::string& model, const std::string& name) {
  return absl::StrCat(kStoreScheme, "://", model, "/", name);
}

std::string ShardPrefix(const std::string& model, const std::string& name, int shard, int num_shards) {
  return absl::StrFormat("%s/%s%0*d%s%0*d", GenerationDirectory(model, name), kShard, kDigits, shard, kOf, kDigits,
                         num_shards);
}

absl::StatusOr<StoreContents> ReadStoreContents(FileSystem* files, const std::string& directory) {
  StoreContents contents;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListOrNone(files, directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    if (name == kCheckpointLeaseFile) {
      ASSIGN_OR_RETURN(contents.lease, ReadFileToString(files, path));
      continue;
    }
    ASSIGN_OR_RETURN(const FileStat stat, files->Stat(path));
    if (!stat.is_directory) continue;
    contents.directories.push_back(name);
    ASSIGN_OR_RETURN(const std::vector<std::string> in_it, ListOrNone(files, path));
    for (const std::string& file : in_it) {
      if (int shard = 0, of = 0; !ParseShardManifest(file, &shard, &of)) continue;
      ASSIGN_OR_RETURN(std::string text, ReadFileToString(files, JoinPath(path, file)));
      contents.manifests.push_back({JoinPath(name, file), std::move(text)});
    }
  }
  return contents;
}

StoredGenerations FindGenerations(const std::vector<StoreContents>& stores) {
  StoredGenerations result;
  std::map<std::string, StoredGeneration> by_name;
  for (size_t k = 0; k < stores.size(); ++k) {
    for (const auto& [path, text] : stores[k].manifests) {
      const std::string name(DirName(path));
      absl::StatusOr<CheckpointManifest> manifest = ParseManifest(text, path);
      int shard = 0, num_shards = 0;
      if (!ParseShardManifest(BaseName(path), &shard, &num_shards) || !manifest.ok() ||
          manifest->generation_name() != name) {
        result.damaged.push_back(path);
        continue;
      }
      StoredGeneration& generation = by_name[name];
      if (generation.shards.empty()) {
        generation.name = name;
        generation.token = manifest->token();
        generation.generation = manifest->generation();
        generation.step = manifest->global_step();
        generation.num_shards = num_shards;
      } else if (num_shards != generation.num_shards) {
        result.damaged.push_back(path);
        continue;
      }
      StoredGeneration::Shard& found = generation.shards[shard];
      found.manifest = *std::move(manifest);
      found.stores.push_back(static_cast<int>(k));
    }
  }
  for (auto& [name, generation] : by_name) result.newest_first.push_back(std::move(generation));
  std::sort(result.newest_first.begin(), result.newest_first.end(), [](const auto& a, const auto& b) {
    return std::tie(a.token, a.generation, a.name) > std::tie(b.token, b.generation, b.name);
  });
  return result;
}

}  // namespace weir
