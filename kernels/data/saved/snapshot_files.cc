#include "kernels/data/saved/snapshot_files.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "core/checkpoint/tf_record.h"
#include "core/random_bits.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {
namespace {

constexpr char kMetadataFile[] = "snapshot.metadata";
constexpr char kShardSuffix[] = ".shard";
// Each shard has an open file.
constexpr size_t kMaxShards = 1024;
constexpr int64_t kMaxFiles = 100000;

}  // namespace

absl::StatusOr<Compression> ParseSnapshotCompression(absl::string_view name) {
  if (name == "SNAPPY") return Compression::kSnappy;
  if (name == "NONE" || name == "AUTO") return Compression::kNone;
  return ParseCompression(name);
}

absl::Status WriteSnapshotMetadata(FileSystem* files, const std::string& dir, const SnapshotMetadata& metadata) {
  RETURN_IF_ERROR(files->CreateDir(dir));
  return WriteStringToFile(files, JoinPath(dir, kMetadataFile), metadata.SerializeAsString());
}

absl::StatusOr<bool> ReadSnapshotMetadata(FileSystem* files, const std::string& dir, SnapshotMetadata* metadata) {
  constexpr uint64_t kMaxMetadata = 1 << 20;
  const std::string path = JoinPath(dir, kMetadataFile);
  ASSIGN_OR_RETURN(const bool exists, files->CheckExists(path));
  if (!exists) return false;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files, path, kMaxMetadata));
  if (!metadata->ParseFromString(bytes)) return errors::DataLoss("Can't parse ", path, " as binary proto");
  return true;
}

std::string SnapshotFile(const std::string& shard_dir, int64_t number) {
  return JoinPath(shard_dir, absl::StrFormat("%08d.snapshot", number));
}

absl::StatusOr<std::vector<std::string>> SnapshotShards(FileSystem* files, const std::string& run_dir) {
  std::vector<std::string> shards;
  absl::StatusOr<std::vector<std::string>> names = files->List(run_dir);
  if (absl::IsNotFound(names.status())) return shards;
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, kShardSuffix)) shards.push_back(JoinPath(run_dir, name));
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

std::string NewSnapshotRun() { return absl::StrCat(RandomBits()); }

absl::Status SnapshotWriter::Write(int64_t shard, const Element& element) {
  std::unique_ptr<RecordSink>& sink = shards_[shard];
  if (sink == nullptr) {
    if (shards_.size() > kMaxShards || file_number_ > kMaxFiles) {
      return errors::ResourceExhausted("A snapshot has more than ", kMaxShards, " shards or ", kMaxFiles,
                                       " files each");
    }
    const std::string dir = JoinPath(run_dir_, absl::StrFormat("%08u%s", static_cast<uint64_t>(shard), kShardSuffix));
    RETURN_IF_ERROR(files_->CreateDir(dir));
    // Readers go from file to file, beginning with 0.
    for (int64_t before = 0; before < file_number_; ++before) {
      ASSIGN_OR_RETURN(const bool exists, files_->CheckExists(SnapshotFile(dir, before)));
      if (exists) continue;
      RETURN_IF_ERROR(WriteStringToFile(files_, SnapshotFile(dir, before), ""));
    }
    ASSIGN_OR_RETURN(sink, RecordSink::Open(files_, SnapshotFile(dir, file_number_), compression_));
  }
  for (const Tensor& component : element) {
    tensorflow::TensorProto proto;
    RETURN_IF_ERROR(TensorToProto(component, &proto));
    RETURN_IF_ERROR(sink->Append(TfRecord(proto.SerializeAsString())));
  }
  return absl::OkStatus();
}

absl::Status SnapshotWriter::EndFiles() {
  absl::Status status;
  for (auto& [shard, sink] : shards_) {
    if (sink != nullptr) status.Update(sink->Close());
  }
  shards_.clear();
  ++file_number_;
  return status;
}

}  // namespace weir
