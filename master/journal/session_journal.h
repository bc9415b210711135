// A journal of a master's sessions, on disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"
#include "master/journal/journal_index.h"
#include "master/journal/journal_store.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {

// Everything that a restarted master needs to serve a session again.
struct RecordedSession {
  tensorflow::CreateSessionRequest request;
  std::vector<tensorflow::GraphDef> extensions;  // in order
  std::map<int64_t, tensorflow::CallableOptions> callables;
};

// Records sessions, so that the task's next master can serve them under the same handles. Nothing is recorded per step.
// - Thread-safe. Changes block until they are on the disk; they wait for each other.
// - If the disk fails, the journal stays as it was before the change; a later change repairs the file.
// - A session that could not be recorded is unknown to the journal: its changes succeed, but are not
//   recorded either.
// - Records that no session needs any more are dropped by rewriting the file, once they outweigh the others.
class SessionJournal {
 public:
  struct Options {
    std::string task;                      // a journal of another task is rejected
    uint64_t min_dropped_bytes = 4 << 20;  // the file is not rewritten for less
  };

  // Reads the journal, and begins the next epoch. FailedPrecondition for another task's journal; DataLoss for a damaged
  // one; a torn last record is cut off with a warning.
  static absl::StatusOr<std::unique_ptr<SessionJournal>> Open(std::unique_ptr<JournalStore> store, Options options);

  // Identifies the journal.
  uint64_t id() const { return header_.id(); }
  // Counts the masters that have used it, from 1.
  int64_t epoch() const { return header_.epoch(); }

  absl::Status AddSession(const std::string& handle, const tensorflow::CreateSessionRequest& request);
  // On an error the caller must not extend the session, nor make the callable.
  absl::Status AddExtension(const std::string& handle, int64_t graph_version, const tensorflow::GraphDef& graph);
  absl::Status AddCallable(const std::string& handle, int64_t callable, const tensorflow::CallableOptions& options);
  // Removals always succeed here. If the disk fails, a warning says that the next master may still know the object.
  void RemoveCallable(const std::string& handle, int64_t callable);
  void RemoveSession(const std::string& handle);

  bool Has(const std::string& handle) const;
  std::vector<std::string> Handles() const;
  // NotFound if there is no such session.
  absl::StatusOr<RecordedSession> Load(const std::string& handle) const;

 private:
  SessionJournal(std::unique_ptr<JournalStore> store, Options options)
      : store_(std::move(store)), options_(std::move(options)) {}
  absl::Status Read();
  absl::Status Write(const JournalRecord& record) REQUIRES(mu_);
  void Remove(const JournalRecord& record) REQUIRES(mu_);
  // Leaves only the live records.
  absl::Status Compact() REQUIRES(mu_);

  const std::unique_ptr<JournalStore> store_;
  const Options options_;
  JournalRecord::Header header_;  // set by Open

  mutable Mutex mu_;
  JournalIndex index_ GUARDED_BY(mu_);
  uint64_t size_ GUARDED_BY(mu_) = 0;  // of the whole records
  bool must_compact_ GUARDED_BY(mu_) =
      false;  // before the next record, because the end of the file is torn or lacks a change
};

}  // namespace weir
