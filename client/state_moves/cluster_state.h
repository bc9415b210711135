// The variables of a cluster, and where they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "distribute/membership/moved_state.h"
#include "weir/membership.pb.h"

namespace weir {

// Variables that the graphs of some sessions use together, a weight and its momentum for example. They can only move
// together.
struct VariableGroup {
  std::vector<StateUse> variables;  // by name
  std::vector<HeldTable> tables;    // of all that a task holds; else empty
  std::string task;                 // that holds them: "/job:ps/replica:0/task:0"
  int64_t bytes = 0;                // of those with a static shape
  int64_t steps = 0;                // of the sessions that use them, since these began
  std::string obstacle;             // why they cannot be moved; empty: they can
  std::string function;             // that may use one of them by name; empty: none does
  // Each a session's, which reaches only tasks that match one of them; empty: all.
  std::vector<std::vector<std::string>> device_filters;

  // Whether all sessions reach the task.
  bool IsReachedOn(const std::string& task) const;
};

struct ClusterState {
  ClusterView view;
  std::vector<VariableGroup> groups;                     // by the name of their first variable
  std::map<std::string, std::vector<HeldTable>> tables;  // that exist, by task
  std::vector<std::string> down;  // tasks that cannot be reached: their masters' sessions have ended
  // Tasks whose sessions are unknown, because they hang; tasks of another runtime, whose sessions do not follow moves.
  std::vector<std::string> hung, foreign;

  // FAILED_PRECONDITION, naming them, if there are such tasks.
  absl::Status CheckSessionsFollow() const;
};

// Asks all tasks of the cluster, `address` being one of them, for the variables in the graphs of their sessions.
// Blocks, for six seconds at most.
absl::StatusOr<ClusterState> LookAtCluster(const std::string& address);

// Whether "/job:ps/replica:0/task:1" is a task of the job "ps", for example.
bool IsOfJob(const std::string& task, const std::string& job);

// Groups that share a variable become one. A variable that no open session uses is a group of its own, or belongs to
// the variable whose slot it is by its name.
std::vector<VariableGroup> JoinGroups(const std::vector<ListStateResponse>& answers, const MovedState& moved);

}  // namespace weir
