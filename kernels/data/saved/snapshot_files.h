// The files of saved datasets and snapshots, as TensorFlow writes them:
//
//   DIR/snapshot.metadata                          which run is to be read
//   DIR/RUN/00000000.shard/00000000.snapshot       elements of one shard; the next file where an iterator was saved
//
// Everything here blocks. Nothing is thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/files/file_system.h"
#include "kernels/data/dataset.h"
#include "kernels/data/saved/record_sink.h"

namespace tensorflow::data::experimental {
class SnapshotMetadataRecord;
}

namespace weir {

// The format that is written: each component a TensorProto, each of these a TFRecord.
inline constexpr int64_t kSnapshotVersion = 2;

// "", "NONE", "GZIP", "ZLIB", "SNAPPY", or "AUTO", which is none: for SnapshotDatasetV2 it is Snappy, but that says so
// itself. InvalidArgument otherwise.
absl::StatusOr<Compression> ParseSnapshotCompression(absl::string_view name);

using SnapshotMetadata = tensorflow::data::experimental::SnapshotMetadataRecord;
// Readers of the metadata see the old record or the new one.
absl::Status WriteSnapshotMetadata(FileSystem* files, const std::string& dir, const SnapshotMetadata& metadata);
// False where there is none.
absl::StatusOr<bool> ReadSnapshotMetadata(FileSystem* files, const std::string& dir, SnapshotMetadata* metadata);

std::string SnapshotFile(const std::string& shard_dir, int64_t number);
// The directories of a run's shards, in order.
absl::StatusOr<std::vector<std::string>> SnapshotShards(FileSystem* files, const std::string& run_dir);
// A unique name of a run.
std::string NewSnapshotRun();

// Writes elements to the shards of one run.
class SnapshotWriter {
 public:
  SnapshotWriter(FileSystem* files, std::string run_dir, Compression compression)
      : files_(files), run_dir_(std::move(run_dir)), compression_(compression) {}

  const std::string& run_dir() const { return run_dir_; }
  int64_t file_number() const { return file_number_; }
  absl::Status Write(int64_t shard, const Element& element);
  // Ends the files; what is written afterwards goes to files of the next number.
  absl::Status EndFiles();
  // The same, where a restored iterator goes on.
  void set_file_number(int64_t number) { file_number_ = number; }

 private:
  FileSystem* const files_;
  const std::string run_dir_;
  const Compression compression_;
  int64_t file_number_ = 0;
  std::map<int64_t, std::unique_ptr<RecordSink>> shards_;
};

// Reads the elements of one file.
class SnapshotReader {
 public:
  // InvalidArgument for versions other than 0, 1 and 2.
  static absl::StatusOr<std::unique_ptr<SnapshotReader>> Open(FileSystem* files, const std::string& path,
                                                              Compression compression, int64_t version,
                                                              const DataTypeVector& types);
  virtual ~SnapshotReader() = default;
  // False at the end of the file.
  virtual absl::StatusOr<bool> Read(Element* element) = 0;
};

// The shards of a run, each as a dataset, as one dataset. `start` elements are passed over, taken from the shards in
// turn.
absl::StatusOr<DatasetPtr> SnapshotShardDatasets(FileSystem* files, const std::string& run_dir, Compression compression,
                                                 int64_t version, int64_t start, const DataTypeVector& types,
                                                 const std::vector<PartialTensorShape>& shapes);

}  // namespace weir
