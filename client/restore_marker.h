// Marks tasks whose state is being restored.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"

namespace weir {

// Adds ops to a graph that mark every task with state while a restore runs. A client that dies in the middle of a
// restore leaves variables of two generations, all initialised; the marks that it leaves too say so to its successor.
class RestoreMarker {
 public:
  // `devices` as nodes request them; each task is marked once. `training` tells apart programs that share tasks.
  RestoreMarker(const Scope& scope, const std::set<std::string>& devices, const std::string& training);

  absl::Status Begin(Session& session) const { return session.RunTargets({begin_}); }
  absl::Status End(Session& session) const { return session.RunTargets({end_}); }
  // For each task, whether no restore is in progress. A task that restarted has lost its mark with its variables.
  const std::vector<Output>& whole() const { return whole_; }

 private:
  Operation begin_, end_;
  std::vector<Output> whole_;
};

}  // namespace weir
