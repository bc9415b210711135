#include <set>

#include "core/checkpoint/bundle_writer.h"

namespace weir {
namespace {

absl::Status Clash(const std::string& prefix, const std::string& key, absl::string_view reason) {
  return errors::InvalidArgument("Cannot merge checkpoint ", prefix, ": tensor '", key, "' ", reason);
}

// Adds the entries of `part`, whose first shard becomes shard `first_shard`.
absl::Status MergeIndex(const std::string& prefix, const BundleIndex& part, int first_shard, BundleIndex* merged) {
  for (const auto& [key, entry] : part.entries) {
    BundleEntry moved = entry;
    moved.shard += first_shard;
    auto [found, is_new] = merged->entries.try_emplace(key, moved);
    if (is_new) continue;
    BundleEntry& whole = found->second;
    if (whole.slices.empty() || entry.slices.empty()) return Clash(prefix, key, "is also in another checkpoint");
    if (whole.dtype != entry.dtype || whole.shape != entry.shape) {
      return Clash(prefix, key, "has a different dtype or shape in another checkpoint");
    }
    for (const TensorSlice& slice : entry.slices) {
      const TensorSlice resolved = slice.Resolved(whole.shape);
      for (const TensorSlice& other : whole.slices) {
        if (other.Resolved(whole.shape).Intersect(resolved)) return Clash(prefix, key, "has overlapping slices");
      }
    }
    whole.slices.insert(whole.slices.end(), entry.slices.begin(), entry.slices.end());
  }
  return absl::OkStatus();
}

absl::Status MoveData(FileSystem* file_system, const std::string& prefix, int shards, int first_shard,
                      const std::string& destination, int total) {
  for (int shard = 0; shard < shards; ++shard) {
    const std::string from = BundleDataPath(prefix, shard, shards);
    const std::string to = BundleDataPath(destination, first_shard + shard, total);
    if (from != to) RETURN_IF_ERROR(file_system->Rename(from, to));
  }
  return absl::OkStatus();
}

// Removes what is left of the merged bundles. The result is already complete, so a failure here loses nothing.
void RemoveRemains(FileSystem* file_system, absl::Span<const std::string> prefixes, const std::string& destination,
                   bool delete_dirs) {
  std::set<std::string> dirs;
  for (const std::string& prefix : prefixes) {
    if (prefix == destination) continue;
    file_system->DeleteFile(BundleIndexPath(prefix)).IgnoreError();
    if (DirectoryOf(prefix) != DirectoryOf(destination)) dirs.insert(DirectoryOf(prefix));
  }
  if (!delete_dirs) return;
  for (const std::string& dir : dirs) {
    auto left = file_system->List(dir);
    if (left.ok() && left->empty()) file_system->DeleteRecursively(dir).IgnoreError();
  }
}

}  // namespace

absl::Status MergeBundles(FileSystem* file_system, absl::Span<const std::string> prefixes,
                          const std::string& destination, MergeBundlesOptions options) {
  if (prefixes.empty()) return errors::InvalidArgument("No checkpoints to merge into ", destination);
  BundleIndex merged;
  merged.num_shards = 0;
  std::vector<int> shards;
  for (const std::string& prefix : prefixes) {
    ASSIGN_OR_RETURN(const BundleIndex part, ReadBundleIndex(file_system, prefix));
    RETURN_IF_ERROR(CheckBundleData(file_system, prefix, part));
    RETURN_IF_ERROR(MergeIndex(prefix, part, merged.num_shards, &merged));
    shards.push_back(part.num_shards);
    merged.num_shards += part.num_shards;
  }
  RETURN_IF_ERROR(file_system->CreateDir(DirectoryOf(destination)));
  const std::string index = BundleIndexPath(destination), temporary = index + ".merging";
  const bool is_renamed = !file_system->PublishesOnClose();
  if (is_renamed) RETURN_IF_ERROR(WriteBundleIndex(file_system, temporary, merged, options.sync));
  RETURN_IF_ERROR(file_system->DeleteIfExists(index));
  int first_shard = 0;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    RETURN_IF_ERROR(MoveData(file_system, prefixes[i], shards[i], first_shard, destination, merged.num_shards));
    first_shard += shards[i];
  }
  RETURN_IF_ERROR(is_renamed ? file_system->Rename(temporary, index)
                             : WriteBundleIndex(file_system, index, merged, options.sync));
  if (options.sync) RETURN_IF_ERROR(file_system->SyncDir(DirectoryOf(destination)));
  RemoveRemains(file_system, prefixes, destination, options.delete_old_dirs);
  return absl::OkStatus();
}

}  // namespace weir
