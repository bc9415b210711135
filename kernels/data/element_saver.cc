#include "kernels/data/element_saver.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {

absl::Status ElementSaver::Begin() {
  run_ = NewSnapshotRun();
  writer_.emplace(plan_.files, JoinPath(plan_.dir, run_), plan_.compression);
  RETURN_IF_ERROR(plan_.files->CreateDir(writer_->run_dir()));
  return WriteMetadata(0, false);
}

absl::StatusOr<int64_t> ElementSaver::ShardOf(IteratorContext& ctx, const Element& element) const {
  if (!plan_.shard.has_value()) return 0;
  ASSIGN_OR_RETURN(const Element shard, plan_.shard->Call(ctx, element));
  if (shard.size() != 1 || shard[0].dtype() != DT_INT64 || shard[0].NumElements() != 1) {
    return errors::InvalidArgument("`shard_func` must return a scalar int64.");
  }
  return shard[0].flat<int64_t>()[0];
}

absl::Status ElementSaver::Save(IteratorContext& ctx, const Element& element) {
  ASSIGN_OR_RETURN(const int64_t shard, ShardOf(ctx, element));
  return writer_->Write(shard, element);
}

absl::Status ElementSaver::Finish(int64_t elements) {
  RETURN_IF_ERROR(writer_->EndFiles());
  return WriteMetadata(elements, true);
}

absl::Status ElementSaver::WriteMetadata(int64_t elements, bool is_final) const {
  SnapshotMetadata metadata;
  metadata.set_creation_timestamp(absl::ToUnixMicros(absl::Now()));
  metadata.set_graph_hash(plan_.hash);
  metadata.set_run_id(run_);
  metadata.set_version(kSnapshotVersion);
  for (const DataType type : plan_.types) metadata.add_dtype(static_cast<tensorflow::DataType>(type));
  metadata.set_num_elements(elements);
  metadata.set_finalized(is_final);
  return WriteSnapshotMetadata(plan_.files, plan_.dir, metadata);
}

absl::Status ElementSaver::SaveState(StateWriter writer) {
  RETURN_IF_ERROR(writer_->EndFiles());
  writer.String("run", run_);
  writer.Int("file", writer_->file_number());
  return absl::OkStatus();
}

absl::Status ElementSaver::RestoreState(const StateReader& reader) {
  ASSIGN_OR_RETURN(const std::string run, reader.String("run"));
  ASSIGN_OR_RETURN(const int64_t file, reader.Int("file", 0, INT32_MAX));
  // A run is a number, no path.
  if (run.empty() || !std::all_of(run.begin(), run.end(), absl::ascii_isdigit)) {
    return errors::InvalidArgument("The saved state has no run of a snapshot");
  }
  run_ = run;
  writer_.emplace(plan_.files, JoinPath(plan_.dir, run_), plan_.compression);
  writer_->set_file_number(file);
  return absl::OkStatus();
}

}  // namespace weir
