// Exports the rows of training embeddings for processes that serve them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/embedding/embedding_bundle.h"
#include "client/embedding/embedding_variable.h"
#include "client/session.h"
#include "client/training_hook.h"
#include "core/api.h"
#include "core/clock.h"
#include "core/files/file_system.h"

namespace WEIR_API weir {

struct EmbeddingExporterOptions {
  // ExportIfDue exports this long after the last attempt began.
  absl::Duration interval = absl::Seconds(10);
  // Every so many exports, all rows are exported too: for followers that start, and those that missed a delta.
  int full_every = 60;
  // Exports before this many full ones are deleted.
  int keep_fulls = 2;
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
  // For `interval`, and the wall clock that followers compare with their own.
  std::function<absl::Time()> now = MonotonicNow;
  std::function<absl::Time()> wall_clock;  // null: the machine's
};

// Writes, to a folder or an object store, the rows that changed since the last export, without slots: an
// EmbeddingFollower applies them. Training goes on meanwhile, as during checkpoints; those are not affected. The tasks
// and the client must share the file system. Not thread-safe; blocks.
// - One exporter at a time writes to a folder. A new one continues the numbers, with all rows.
// - After rows were restored or initialised, call Reset: changes since an export of before would not have what went
//   back. EmbeddingExportHook does.
class EmbeddingExporter {
 public:
  // Adds ops to the scope's graph.
  EmbeddingExporter(const Scope& scope, const std::vector<EmbeddingVariable>& variables, std::string dir,
                    EmbeddingExporterOptions options = {});

  // ABORTED if parts moved meanwhile. After an error, the next export has what this one would have had.
  absl::Status Export(Session& session);
  // Returns whether it was due.
  absl::StatusOr<bool> ExportIfDue(Session& session);
  // The next export has all rows, and no delta.
  void Reset() { versions_.clear(); }

  // Of the last export; -1 before the first.
  int64_t number() const { return next_ - 1; }
  bool last_was_full() const { return last_was_full_; }

 private:
  absl::StatusOr<std::vector<int64_t>> ReadEpochs(Session& session) const;
  absl::StatusOr<std::vector<int64_t>> Write(Session& session, bool full, const std::vector<int64_t>& epochs,
                                             absl::Time began);
  absl::Status DeleteOld(FileSystem* files) const;

  const std::string dir_;
  const EmbeddingExporterOptions options_;
  EmbeddingBundleWriter writer_;
  EmbeddingBundleWriter::Entries partitions_;
  std::vector<Output> epochs_of_maps_;
  std::vector<std::pair<std::string, Output>> owners_;  // of the parts of embeddings that move, by entry
  int64_t next_ = 0;
  bool knows_next_ = false, last_was_full_ = false;
  int deltas_ = 0;                 // since the last full export
  std::vector<int64_t> versions_;  // of the parts in the last export; empty: the next one is full
  std::vector<int64_t> epochs_;    // of the maps then
  absl::Time last_attempt_ = absl::InfinitePast();
};

// Exports when it is due after a step, in the loop that owns the variables. A failed export is logged and made up for
// by the next one; training goes on.
std::unique_ptr<TrainingHook> EmbeddingExportHook(std::shared_ptr<EmbeddingExporter> exporter);

}  // namespace weir
