// Marks tasks with the restore that their variables come from.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"

namespace weir {

// One restore or initialisation of all variables.
struct RestoredGeneration {
  std::string restore;     // unique
  int64_t generation = 0;  // of the checkpoint's manifest; 0: it has none
  std::string checkpoint;  // empty: initial values

  std::string ToString() const;
  friend bool operator==(const RestoredGeneration&, const RestoredGeneration&) = default;
};

// Adds ops to a graph that mark every task with state while a restore runs, and with its generation afterwards. A
// client that dies in the middle of a restore leaves variables of two generations, all initialised; the marks that it
// leaves too say so to its successor. Two clients that restore at once leave tasks of different generations.
class RestoreMarker {
 public:
  // `devices` as nodes request them; each task is marked once. `training` tells apart programs that share tasks.
  RestoreMarker(const Scope& scope, const std::set<std::string>& devices, const std::string& training);

  // Replaces the mark of any other restore.
  absl::Status Begin(Session& session, const std::string& restore) const;
  // Aborted, before anything changes, if another restore has begun since, or a task has lost its mark.
  absl::Status End(Session& session, const RestoredGeneration& restored) const;
  // For each task, whether no restore is in progress. A task that restarted has lost its mark with its variables.
  const std::vector<Output>& whole() const { return whole_; }
  // That of all tasks; empty if none has one. FailedPrecondition, naming two tasks, if they differ.
  absl::StatusOr<RestoredGeneration> Generation(Session& session) const;

 private:
  struct Mark {
    Output exists, value;
  };
  // The value on each host, "" without one.
  static absl::StatusOr<std::vector<std::string>> Read(Session& session, const std::vector<Mark>& marks);

  std::vector<std::string> hosts_;
  std::vector<Mark> in_progress_, generations_;
  Output fed_;
  Operation begin_, end_;
  std::vector<Output> whole_;
};

}  // namespace weir
