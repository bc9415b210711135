#include "core/checkpoint/manifest.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/crc32c.h"
#include "core/checkpoint/text_record.h"

namespace weir {
namespace {

constexpr char kManifest[] = ".manifest", kIndex[] = ".index";
constexpr uint64_t kPiece = 1 << 20;

uint32_t SumOf(CheckpointManifest manifest) {
  manifest.clear_manifest_crc32c();
  return crc32c::Value(manifest.SerializeAsString());
}

absl::Status CheckOwnSum(const CheckpointManifest& manifest, const std::string& path) {
  if (!manifest.has_manifest_crc32c() || manifest.manifest_crc32c() == SumOf(manifest)) return absl::OkStatus();
  return errors::DataLoss(path, ": its checksum does not match; the file is damaged");
}

// Extends `crc` by a part of a file.
absl::Status ExtendByFile(const ReadableFile& file, uint64_t begin, uint64_t end, uint32_t* crc) {
  std::string piece(std::min(kPiece, end - begin), '\0');
  while (begin < end) {
    const uint64_t size = std::min<uint64_t>(piece.size(), end - begin);
    RETURN_IF_ERROR(file.ReadFully(begin, size, piece.data()));
    *crc = crc32c::Extend(*crc, piece.data(), size);
    begin += size;
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckpointManifest::File> SummedFile(FileSystem* files, const std::string& path,
                                                    const std::string& name) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->NewReadableFile(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  uint32_t crc = 0;
  RETURN_IF_ERROR(ExtendByFile(*file, 0, size, &crc));
  CheckpointManifest::File result;
  result.set_name(name);
  result.set_size(size);
  result.set_crc32c(crc);
  return result;
}

// Whether the entry's checksum is that of its bytes in the file; those of strings and variants cover other bytes.
bool SumsItsBytes(const BundleEntry& entry) { return entry.dtype != DT_STRING && entry.dtype != DT_VARIANT; }

// `entries` in the order of their offsets.
absl::StatusOr<CheckpointManifest::File> DataFile(FileSystem* files, const std::string& path, const std::string& name,
                                                  const std::vector<const BundleEntry*>& entries) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->NewReadableFile(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  uint64_t done = 0;
  uint32_t crc = 0;
  for (const BundleEntry* entry : entries) {
    if (entry->offset < done || !SumsItsBytes(*entry)) continue;  // overlapping ones are read
    RETURN_IF_ERROR(ExtendByFile(*file, done, entry->offset, &crc));
    crc = crc32c::Combine(crc, crc32c::Unmask(entry->masked_crc), entry->size);
    done = entry->offset + entry->size;
  }
  if (done > size) return errors::DataLoss(path, ": it has ", size, " bytes instead of ", done, "; it is truncated");
  RETURN_IF_ERROR(ExtendByFile(*file, done, size, &crc));
  CheckpointManifest::File result;
  result.set_name(name);
  result.set_size(size);
  result.set_crc32c(crc);
  return result;
}

std::string PathOf(const std::string& prefix, const CheckpointManifest::File& file) {
  return JoinPath(DirName(prefix), file.name());
}

absl::Status Differs(const std::string& prefix, const std::string& path, absl::string_view reason) {
  return errors::DataLoss(path, ": ", reason, ", unlike in ", ManifestPath(prefix),
                          ". If another program wrote the checkpoint since, delete the manifest");
}

absl::Status CheckSize(FileSystem* files, const std::string& prefix, const CheckpointManifest::File& file) {
  const std::string path = PathOf(prefix, file);
  const absl::StatusOr<FileStat> stat = files->Stat(path);
  if (absl::IsNotFound(stat.status())) return Differs(prefix, path, "it does not exist");
  RETURN_IF_ERROR(stat.status());
  if (stat->size == file.size()) return absl::OkStatus();
  return Differs(prefix, path, absl::StrCat("it has ", stat->size, " bytes instead of ", file.size()));
}

absl::Status CheckSum(FileSystem* files, const std::string& prefix, const CheckpointManifest::File& file) {
  const std::string path = PathOf(prefix, file);
  ASSIGN_OR_RETURN(const CheckpointManifest::File found, SummedFile(files, path, file.name()));
  if (found.crc32c() == file.crc32c()) return absl::OkStatus();
  return Differs(prefix, path, absl::StrFormat("its checksum is %08x instead of %08x", found.crc32c(), file.crc32c()));
}

// An error after which nothing is known of the file, such as that of a store that does not answer.
absl::Status UnlessAbsentOrDamaged(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status) ? absl::OkStatus() : status;
}

// One more than the newest generation. Of the listed checkpoints only the latest is read, if it has a manifest.
absl::StatusOr<int64_t> NextGeneration(FileSystem* files, const std::string& dir) {
  int64_t newest = 0;
  std::set<std::string> older;
  const auto state = ReadCheckpointState(files, dir);
  RETURN_IF_ERROR(UnlessAbsentOrDamaged(state.status()));
  if (state.ok() && !state->latest.empty()) {
    const auto latest = ReadManifest(files, state->latest);
    RETURN_IF_ERROR(UnlessAbsentOrDamaged(latest.status()));
    if (latest.ok()) {
      newest = latest->generation();
      older.insert(state->all.begin(), state->all.end());
    }
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(dir));
  for (absl::string_view name : names) {
    if (!absl::ConsumeSuffix(&name, kManifest) || older.count(JoinPath(dir, name)) > 0) continue;
    const auto manifest = ReadManifest(files, JoinPath(dir, name));
    RETURN_IF_ERROR(UnlessAbsentOrDamaged(manifest.status()));
    if (manifest.ok()) newest = std::max(newest, manifest->generation());
  }
  return newest + 1;
}

}  // namespace

std::string ManifestPath(absl::string_view prefix) { return absl::StrCat(prefix, kManifest); }

absl::StatusOr<std::string> PrintManifest(CheckpointManifest manifest) {
  manifest.set_manifest_crc32c(SumOf(manifest));
  return PrintTextRecord(manifest);
}

absl::StatusOr<CheckpointManifest> ParseManifest(const std::string& text, const std::string& path) {
  CheckpointManifest manifest;
  RETURN_IF_ERROR(ParseTextRecord(text, path, &manifest));
  RETURN_IF_ERROR(CheckOwnSum(manifest, path));
  return manifest;
}

absl::StatusOr<CheckpointManifest> ReadManifest(FileSystem* files, const std::string& prefix) {
  CheckpointManifest manifest;
  RETURN_IF_ERROR(ReadTextRecord(files, ManifestPath(prefix), &manifest));
  RETURN_IF_ERROR(CheckOwnSum(manifest, ManifestPath(prefix)));
  return manifest;
}

absl::Status CheckManifest(FileSystem* files, const std::string& prefix) {
  const absl::StatusOr<CheckpointManifest> manifest = ReadManifest(files, prefix);
  if (absl::IsNotFound(manifest.status())) return absl::OkStatus();
  RETURN_IF_ERROR(manifest.status());
  return CheckManifest(files, prefix, *manifest);
}

absl::Status CheckManifest(FileSystem* files, const std::string& prefix, const CheckpointManifest& manifest) {
  for (const CheckpointManifest::File& file : manifest.file()) {
    RETURN_IF_ERROR(CheckSize(files, prefix, file));
    if (absl::EndsWith(file.name(), kIndex)) RETURN_IF_ERROR(CheckSum(files, prefix, file));
  }
  return absl::OkStatus();
}

absl::Status VerifyManifest(FileSystem* files, const std::string& prefix, const CheckpointManifest& manifest) {
  for (const CheckpointManifest::File& file : manifest.file()) {
    RETURN_IF_ERROR(CheckSize(files, prefix, file));
    RETURN_IF_ERROR(CheckSum(files, prefix, file));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointManifest::File>> BundleFiles(FileSystem* files, const std::string& prefix,
                                                                  const std::string& name) {
  ASSIGN_OR_RETURN(const BundleIndex index, ReadBundleIndex(files, prefix));
  std::vector<std::vector<const BundleEntry*>> shards(index.num_shards);
  for (const auto& [key, entry] : index.entries) {
    if (entry.slices.empty()) shards[entry.shard].push_back(&entry);
  }
  std::vector<CheckpointManifest::File> result;
  ASSIGN_OR_RETURN(result.emplace_back(), SummedFile(files, BundleIndexPath(prefix), BundleIndexPath(name)));
  for (int i = 0; i < index.num_shards; ++i) {
    std::sort(shards[i].begin(), shards[i].end(),
              [](const BundleEntry* a, const BundleEntry* b) { return a->offset < b->offset; });
    ASSIGN_OR_RETURN(result.emplace_back(), DataFile(files, BundleDataPath(prefix, i, index.num_shards),
                                                     BundleDataPath(name, i, index.num_shards), shards[i]));
  }
  return result;
}

absl::Status PublishCheckpoint(FileSystem* files, const std::string& staged, const std::string& prefix,
                               CheckpointManifest manifest) {
  const std::string dir = DirectoryOf(prefix);
  ASSIGN_OR_RETURN(const BundleIndex index, ReadBundleIndex(files, staged));
  ASSIGN_OR_RETURN(const int64_t generation, NextGeneration(files, dir));
  manifest.set_generation(generation);
  ASSIGN_OR_RETURN(const std::string text, PrintManifest(std::move(manifest)));
  RETURN_IF_ERROR(WriteStringToFile(files, ManifestPath(staged), text));
  // Without its index, an earlier checkpoint of this name is not read with the new data.
  RETURN_IF_ERROR(DeleteCheckpoint(files, prefix));
  for (int i = 0; i < index.num_shards; ++i) {
    RETURN_IF_ERROR(
        files->Rename(BundleDataPath(staged, i, index.num_shards), BundleDataPath(prefix, i, index.num_shards)));
  }
  RETURN_IF_ERROR(files->Rename(ManifestPath(staged), ManifestPath(prefix)));
  RETURN_IF_ERROR(files->Rename(BundleIndexPath(staged), BundleIndexPath(prefix)));
  return files->SyncDir(dir);
}

}  // namespace weir
