// Manifests: which files make up a checkpoint, with their checksums.
#pragma once

#include <string>
#include <vector>

#include "core/files/file_system.h"
#include "core/status.h"
#include "weir/checkpoint.pb.h"

namespace weir {

std::string ManifestPath(absl::string_view prefix);

// Prints the manifest with its own checksum.
absl::StatusOr<std::string> PrintManifest(CheckpointManifest manifest);
// DataLoss, naming `path`, if the text is damaged.
absl::StatusOr<CheckpointManifest> ParseManifest(const std::string& text, const std::string& path);
// NotFound if there is none (checkpoints of TensorFlow have none); DataLoss if it is damaged.
absl::StatusOr<CheckpointManifest> ReadManifest(FileSystem* files, const std::string& prefix);
// Whether the files are those of the manifest: their sizes, and the checksums of indexes, which have the checksums of
// all tensors. OK without a manifest; DataLoss, naming the file, otherwise.
absl::Status CheckManifest(FileSystem* files, const std::string& prefix);
absl::Status CheckManifest(FileSystem* files, const std::string& prefix, const CheckpointManifest& manifest);
// Checks the checksums of all files; reads them entirely.
absl::Status VerifyManifest(FileSystem* files, const std::string& prefix, const CheckpointManifest& manifest);

// The files of the checkpoint at `prefix`, as they will be called with the prefix `name`. Computes the checksums from
// those of the tensors, which come from memory, and reads only what these do not cover.
absl::StatusOr<std::vector<CheckpointManifest::File>> BundleFiles(FileSystem* files, const std::string& prefix,
                                                                  const std::string& name);

// Gives `staged`, a complete checkpoint elsewhere on the file system, its final name: data first, then the manifest,
// then the index, which makes it visible. Replaces a checkpoint of that name. Sets the manifest's generation. The
// caller holds the directory's lease, if there is one.
absl::Status PublishCheckpoint(FileSystem* files, const std::string& staged, const std::string& prefix,
                               CheckpointManifest manifest);

}  // namespace weir
