// Makes the updates of a step wait for a decision, so that all of them take effect or none.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// Of these nodes and of what their tasks say to each other; see GetCapabilitiesResponse.commit_version.
// Version 2 has deciders that are standbys.
inline constexpr int32_t kCommitVersion = 2;

// The most steps of one FenceSteps call.
inline constexpr int kMaxFencedSteps = 1024;

// The name in RewriterConfig's custom_optimizers that turns the commit off for a session; it has no parameters.
inline constexpr char kUncommittedStepsOptimizer[] = "UncommittedSteps";

struct StepCommitOptions {
  // The task of a placed node.
  std::function<std::string(const Node&)> task;
  // The CPU of a task, by full name, which runs the nodes of the commit.
  std::function<std::string(const std::string& task)> cpu;
  // As in PartitionOptions.
  std::function<uint64_t(absl::string_view device)> incarnation;
  // The master's own task. A graph that lies on it alone has no commit: it fails as a whole with its process.
  std::string local_task;
  // The task that takes over the state of `task` if that is lost; empty: none. An empty function: no task has one.
  std::function<std::string(const std::string& task)> standby_of = nullptr;
};

// For a whole graph, placed but not yet partitioned. Nodes whose op writes state (Op::WritesState), or calls a function
// that does, are its updates. They and everything that depends on them run once every task has computed everything
// else:
//
//   task T:              ControlTrigger  <- everything on T that no update precedes
//   the coordinator C:   _CommitDecide   <- those of all tasks; then the updates on C
//   another task P with updates:  _CommitReady, between P's ControlTrigger and C's decision
//                                 _CommitWait, which waits for C's decision; then the updates on P
//
// - Updates receive their inputs from other tasks before the decision, and wait for updates on other tasks only if they
//   use their values (update_order.h).
// - The coordinator is the task with most updates, so that the decision is lost only with updated state.
// - If tasks with updates have standbys (standby_updates.h), losing one task loses no state, and must not leave the
//   decision open. The standby of the task with most updates then decides, and only that task hears the decision from
//   it: it relays the decision (_CommitRelay) to the others. So both know any decision that another task has heard, and
//   the one that remains answers for it.
// - A loop with an update waits as a whole.
// - Returns the coordinator's task; empty if the graph needs no commit or cannot have one, because ops that may block
//   stand on both sides of the decision and may wait for each other.
absl::StatusOr<std::string> AddStepCommit(const StepCommitOptions& options, Graph* graph);

}  // namespace weir
