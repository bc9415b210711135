#include "client/embedding/embedding_exporter.h"

#include <utility>

#include "absl/time/clock.h"
#include "client/embedding/embedding_export_files.h"
#include "client/ops.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/logging.h"

namespace weir {
namespace {

class ExportHook : public TrainingHook {
 public:
  explicit ExportHook(std::shared_ptr<EmbeddingExporter> exporter) : exporter_(std::move(exporter)) {}

  bool RunsAs(TrainingRole role) const override { return role == TrainingRole::kOnly || role == TrainingRole::kChief; }
  absl::Status Begin(Session& session, int64_t global_step) override {
    exporter_->Reset();
    return absl::OkStatus();
  }
  void Recovered(const RecoveryReport& report) override { exporter_->Reset(); }
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override {
    if (const auto exported = exporter_->ExportIfDue(session); !exported.ok()) {
      WEIR_LOG(WARNING) << "An export of embeddings failed; the next one makes up for it: "
                        << exported.status().message();
    }
    return false;
  }

 private:
  const std::shared_ptr<EmbeddingExporter> exporter_;
};

}  // namespace

EmbeddingExporter::EmbeddingExporter(const Scope& scope, const std::vector<EmbeddingVariable>& variables,
                                     std::string dir, EmbeddingExporterOptions options)
    : dir_(std::move(dir)),
      options_(std::move(options)),
      writer_({.with_slots = false, .keep_removals = true, .files = options_.files}) {
  const Scope inner = scope.Root().SubScope("export_embeddings");
  for (const EmbeddingVariable& variable : variables) {
    writer_.AddParts(inner, variable);
    partitions_.emplace_back(variable.name() + "-partitions", Tensor::Scalar<int64_t>(variable.num_parts()));
    if (!variable.moves()) continue;
    const Scope beside = inner.WithDevice("").ColocateWith(variable.map().op());
    const auto map = ops::EmbeddingMapRead(beside, variable.map());
    epochs_of_maps_.push_back(map.epoch);
    owners_.emplace_back(variable.name() + "-owners", map.owners);
  }
  if (variables.empty()) {
    scope.UpdateStatus(errors::InvalidArgument("An EmbeddingExporter needs at least one embedding"));
  }
}

absl::StatusOr<std::vector<int64_t>> EmbeddingExporter::ReadEpochs(Session& session) const {
  std::vector<int64_t> epochs;
  if (epochs_of_maps_.empty()) return epochs;
  ASSIGN_OR_RETURN(const std::vector<Tensor> now, session.Run(epochs_of_maps_));
  for (const Tensor& epoch : now) epochs.push_back(epoch.scalar<int64_t>());
  return epochs;
}

absl::StatusOr<std::vector<int64_t>> EmbeddingExporter::Write(Session& session, bool full,
                                                              const std::vector<int64_t>& epochs, absl::Time began) {
  const EmbeddingExportFile file{.number = next_, .is_full = full};
  EmbeddingBundleWriter::Entries entries = partitions_;
  entries.emplace_back(EmbeddingExportFile::kEntry, file.EntryOf(began));
  // Which file's part has which rows.
  for (const auto& [name, owners] : owners_) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> now, session.Run({owners}));
    entries.emplace_back(name, now[0]);
  }
  const std::vector<int64_t> everything(writer_.num_parts(), -1);
  // A part that moved in the meantime may be missing in the files of both tasks.
  bool publishing = false;
  const auto unless_moved = [&](absl::FunctionRef<absl::Status()> publish) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<int64_t> now, ReadEpochs(session));
    if (now != epochs) return errors::Aborted("Parts of the embeddings moved during the export");
    publishing = true;
    return publish();
  };
  const std::string path = file.Path(dir_);
  absl::StatusOr<std::vector<int64_t>> versions =
      writer_.Write(session, path, full ? everything : versions_, entries, unless_moved);
  if (!versions.ok() && publishing) {
    // A follower may have seen it or not: the next export, under another number, has all rows.
    ++next_;
    Reset();
  }
  RETURN_IF_ERROR(Annotate(versions.status(), absl::StrCat("Exporting the embeddings to ", path)));
  return versions;
}

absl::Status EmbeddingExporter::Export(Session& session) {
  last_attempt_ = options_.now();
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(dir_));
  if (!knows_next_) {
    RETURN_IF_ERROR(files->CreateDir(dir_));
    ASSIGN_OR_RETURN(const std::vector<EmbeddingExportFile> before, EmbeddingExportFile::List(files, dir_));
    next_ = before.empty() ? 0 : before.back().number + 1;
    knows_next_ = true;
  }
  // Before any row is read: nothing that changed before this moment is left out.
  const absl::Time began = options_.wall_clock ? options_.wall_clock() : absl::Now();
  ASSIGN_OR_RETURN(const std::vector<int64_t> epochs, ReadEpochs(session));
  bool has_delta = false;
  if (!versions_.empty() && epochs == epochs_) {
    absl::StatusOr<std::vector<int64_t>> delta = Write(session, /*full=*/false, epochs, began);
    // A table that no longer has all removals, or was recreated, has no delta.
    has_delta = !absl::IsFailedPrecondition(delta.status()) && !absl::IsInvalidArgument(delta.status());
    if (has_delta) {
      RETURN_IF_ERROR(delta.status());
      versions_ = *std::move(delta);
      ++deltas_;
    }
  }
  last_was_full_ = !has_delta || deltas_ >= options_.full_every;
  absl::Status status;
  if (last_was_full_) {
    absl::StatusOr<std::vector<int64_t>> full = Write(session, /*full=*/true, epochs, began);
    status = full.status();
    if (!status.ok() && !has_delta) return status;
    // A delta follows the delta before it, which has less than the full export of its number.
    if (!has_delta) versions_ = *std::move(full);
    if (status.ok()) deltas_ = 0;
  }
  epochs_ = epochs;
  ++next_;
  if (last_was_full_) {
    // What stays is deleted after a later export.
    if (const absl::Status deleted = DeleteOld(files); !deleted.ok()) {
      WEIR_LOG(WARNING) << "Old exports of embeddings stay in " << dir_ << ": " << deleted.message();
    }
  }
  return status;
}

absl::StatusOr<bool> EmbeddingExporter::ExportIfDue(Session& session) {
  if (options_.now() - last_attempt_ < options_.interval) return false;
  RETURN_IF_ERROR(Export(session));
  return true;
}

absl::Status EmbeddingExporter::DeleteOld(FileSystem* files) const {
  ASSIGN_OR_RETURN(const std::vector<EmbeddingExportFile> all, EmbeddingExportFile::List(files, dir_));
  int fulls = 0;
  int64_t first_kept = 0;
  for (auto file = all.rbegin(); file != all.rend() && fulls < options_.keep_fulls; ++file) {
    if (!file->is_full) continue;
    ++fulls;
    first_kept = file->number;
  }
  if (fulls < options_.keep_fulls) return absl::OkStatus();
  for (const EmbeddingExportFile& file : all) {
    if (file.number < first_kept) RETURN_IF_ERROR(DeleteCheckpoint(files, file.Path(dir_)));
  }
  return absl::OkStatus();
}

std::unique_ptr<TrainingHook> EmbeddingExportHook(std::shared_ptr<EmbeddingExporter> exporter) {
  return std::make_unique<ExportHook>(std::move(exporter));
}

}  // namespace weir
