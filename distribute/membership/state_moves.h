// Decides where variables are.
#pragma once

#include <string>

#include "absl/container/flat_hash_set.h"
#include "core/status.h"
#include "weir/membership.pb.h"

namespace weir {

// Of a view.
inline constexpr int kMaxStateHomes = 10'000;

// Changes of a view's `home` and `move`; the caller makes them a view of the next epoch, `epoch`. INVALID_ARGUMENT for
// malformed names, FAILED_PRECONDITION while another move is in progress, for a target that does not serve, and for
// the end of a move that is not in progress, ABORTED for variables that are not on their source; the view is then as it
// was.
absl::Status BeginMove(const StateMove& move, int64_t epoch, ClusterView* view);
absl::Status FinishMove(int64_t move_epoch, int64_t epoch, ClusterView* view);
// False if that move is not in progress.
bool CancelMove(int64_t move_epoch, ClusterView* view);
// The tasks that have the variables of the move in progress.
absl::flat_hash_set<std::string> SourcesOfMove(const ClusterView& view);
// The task has left the view: what it held is where graphs place it, not initialised. A move from it or to it ends.
void ForgetTask(const std::string& task, int64_t epoch, ClusterView* view);
// Nodes that name `task`, which drains, run on `successor` from now on, and so do those that ran on `task` for others.
// FAILED_PRECONDITION if that does not serve.
absl::Status SetSuccessor(const std::string& task, const std::string& successor, int64_t epoch, ClusterView* view);
// `task` is lost, and `successor` has copies of all that it held: nodes that name it, and its variables, go there. A
// move from it or to it ends.
void TakeOver(const std::string& task, const std::string& successor, int64_t epoch, ClusterView* view);
// Removes successions to a task that has left.
void ForgetSuccessor(const std::string& task, ClusterView* view);
// INVALID_ARGUMENT for a view that no registrar makes.
absl::Status CheckState(const ClusterView& view);

}  // namespace weir
