// Gives parameter servers standbys.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/state_moves/state_mover.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "weir/membership.pb.h"

namespace weir {

struct StandbyOptions {
  std::string job = "ps";                       // each of its tasks is to have standbys
  int count = 1;                                // how many
  CancellationManager* cancellation = nullptr;  // ends it between two copies, with its status; may be null
  StateMoveOptions move;
  // Called after each copy.
  std::function<void(const std::string& task, const std::string& standby, const StateMoveReport& report)> added;
};

// {task, standby} for each standby that is missing: of the tasks of the job that serve, but those in `unfit`, the one
// that stands by for fewest others, then the next one after the task.
std::vector<std::pair<std::string, std::string>> MissingStandbys(const ClusterView& view, const std::string& job,
                                                                 int count, const std::vector<std::string>& unfit = {});

// Copies what the tasks of the job hold to standbys until each has `count` of them (CopyToStandby). A copy that fails
// does not keep others from being made; the first error is returned. FAILED_PRECONDITION if the job has too few tasks.
// `address` is that of any task of the cluster. Blocks.
absl::Status AddStandbys(const std::string& address, const StandbyOptions& options = {});

// The standby makes no more updates of the task, and deletes its copies. Does nothing if it is none.
absl::Status RemoveStandby(const std::string& address, const std::string& task, const std::string& standby);

}  // namespace weir
