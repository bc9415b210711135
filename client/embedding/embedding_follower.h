// Follows the exports of training embeddings in a process that serves them.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/embedding/embedding_variable.h"
#include "client/session.h"
#include "core/api.h"
#include "core/files/file_system.h"
#include "core/metrics/gauges.h"
#include "core/mutex.h"

namespace weir {
class BundleReader;
struct EmbeddingExportFile;
}  // namespace weir

namespace WEIR_API weir {

struct EmbeddingFollowerOptions {
  // Rows that one step writes into a table.
  int64_t batch_rows = 1 << 16;
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
  // Compared with the exporter's; null: the machine's.
  std::function<absl::Time()> wall_clock;
};

struct EmbeddingFollowerState {
  int64_t number = -1;                               // of the last export that was applied; -1: none, nothing is served
  absl::Time began = absl::InfinitePast();           // when it began: all changes before this moment are served
  absl::Duration behind = absl::InfiniteDuration();  // the age of that
  // Why exports after `number` are not applied: DATA_LOSS names the damaged or missing one, and the next full export
  // ends it; or the error of the last Poll.
  absl::Status problem;
  int64_t deltas = 0, fulls = 0, problems = 0;  // applied, and met
};

// Loads the newest full export of an EmbeddingExporter and then applies deltas while rows are served: a pull sees each
// row before or after a delta. Nothing is served before the first full export is loaded, nor after a server has lost
// its rows, until they are loaded again. Poll is called by one thread at a time, or by the thread of Start; the other
// functions are thread-safe.
class EmbeddingFollower : public GaugeSource {
 public:
  // The options of an embedding that serves what one with options `training` trains, on `devices`: without slots, and
  // with no eviction of its own. It has the same name.
  static EmbeddingVariableOptions ServingOptions(EmbeddingVariableOptions training, std::vector<std::string> devices);

  // Adds ops to the scope's graph. The variables were made with ServingOptions; nothing else changes their rows.
  EmbeddingFollower(const Scope& scope, const std::vector<EmbeddingVariable>& variables, std::string dir,
                    EmbeddingFollowerOptions options = {});
  ~EmbeddingFollower() override { Stop(); }

  // Applies what was exported since. The error is state().problem too; it is tried again by the next Poll, but for
  // damaged and missing exports, which wait for a full one.
  absl::Status Poll(Session& session);
  // Polls at an interval until Stop. The session outlives it.
  absl::Status Start(Session& session, absl::Duration interval);
  void Stop();

  EmbeddingFollowerState state() const;
  // weir_embedding_seconds_behind, weir_embedding_export_number and weir_embedding_follow_problems, of each embedding.
  // Before the first full export there are no seconds.
  void Collect(std::vector<GaugeSample>* samples) const override;

 private:
  struct Table {
    std::string variable;
    int part = 0, parts = 0;
    int64_t width = 0;
    // Fed.
    Output prefixes, removed, keys, values, slots, versions, freqs, used, now;
    Output restored;
    Operation import, remove, evict;
  };
  // Rows of one shard of an export.
  struct Rows {
    std::string variable;
    Tensor keys, values, versions, freqs, used;
    std::vector<int64_t> removed;
  };
  using Versions = std::map<std::string, int64_t>;  // by part of the training embedding

  void AddTable(const Scope& scope, const EmbeddingVariable& variable, int part);
  absl::Status PollOnce(Session& session);
  absl::Status Follow(Session& session, FileSystem* files, const std::vector<EmbeddingExportFile>& all);
  absl::Status LoadFull(Session& session, FileSystem* files, const EmbeddingExportFile& file);
  absl::Status ApplyDelta(Session& session, FileSystem* files, const EmbeddingExportFile& file);
  absl::Status Restore(Session& session, const std::string& path);
  absl::Status Reload(Session& session, const BundleReader& reader);
  // The versions that the parts have; checks that a delta follows what is served.
  absl::StatusOr<Versions> CheckParts(const BundleReader& reader, bool is_full) const;
  std::vector<std::pair<std::string, std::string>> ShardsOf(const BundleReader& reader) const;
  absl::StatusOr<Rows> ReadShard(const BundleReader& reader, const std::string& variable,
                                 const std::string& shard) const;
  absl::Status Apply(Session& session, const Rows& rows) const;
  absl::Status ApplyBatch(Session& session, const Table& table, const Rows& rows,
                          const std::vector<int64_t>& positions) const;
  absl::Time Now() const;
  void SetApplied(const EmbeddingExportFile& file, absl::Time began);
  void Loop(Session& session, absl::Duration interval);

  const std::string dir_;
  const EmbeddingFollowerOptions options_;
  std::vector<std::string> names_;
  std::vector<Table> tables_;
  Output is_whole_;
  Versions versions_;       // of the last applied export
  bool is_broken_ = false;  // the next export to apply is a full one
  // Time of last use that applied rows get: a reload evicts those that have an earlier one.
  int64_t generation_ = 0;

  mutable Mutex mu_;
  std::condition_variable wake_;
  EmbeddingFollowerState state_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir
