// The sessions that a journal's records describe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "master/journal/journal_store.h"
#include "weir/journal.pb.h"

namespace weir {

// The sessions of a journal, and where their records are: a pure state machine, whose input is the records in order.
// It holds no graphs. A value; not thread-safe.
class JournalIndex {
 public:
  static constexpr int kVersion = 1;

  // `extent` is where the record is. An error says why the record cannot follow those before it, and changes nothing:
  // Unimplemented for an unknown format version, else DataLoss.
  absl::Status Apply(const JournalRecord& record, JournalExtent extent);

  // Of the first record; all unset before that.
  const JournalRecord::Header& header() const { return header_; }
  bool Has(const std::string& handle) const { return sessions_.count(handle) > 0; }
  std::vector<std::string> Handles() const;
  // The records that make up a session, in order: the session, its extensions and its callables. Empty if unknown.
  std::vector<JournalExtent> RecordsOf(const std::string& handle) const;
  // Those of all sessions, in order.
  std::vector<JournalExtent> Live() const;
  uint64_t live_bytes() const { return live_bytes_; }
  // The index of a file that has a header of `header_bytes` and then only the live records.
  JournalIndex Compacted(const JournalRecord::Header& header, uint64_t header_bytes) const;

 private:
  struct Session {
    std::vector<JournalExtent> graphs;  // the session's record, then those of its extensions
    std::map<int64_t, JournalExtent> callables;
  };
  absl::StatusOr<Session*> Find(const std::string& handle);
  absl::Status ApplyHeader(const JournalRecord::Header& header);
  absl::Status ApplySession(const JournalRecord::Session& session, JournalExtent extent);
  absl::Status ApplyExtension(const JournalRecord::Extension& extension, JournalExtent extent);
  absl::Status ApplyCallable(const JournalRecord::Callable& callable, JournalExtent extent);
  absl::Status ApplyRelease(const JournalRecord::CallableRelease& release);
  absl::Status ApplyEnd(const JournalRecord::SessionEnd& end);

  JournalRecord::Header header_;
  std::map<std::string, Session> sessions_;
  uint64_t live_bytes_ = 0;
};

}  // namespace weir
