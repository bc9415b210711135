// A master's session while variables move between its tasks.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "graph/state_homes.h"
#include "master/fail_over.h"
#include "master/master_session.h"
#include "master/step_options.h"

namespace weir {
namespace {

// The end of a move is a new view of the cluster, which comes by itself.
constexpr absl::Duration kPoll = absl::Milliseconds(1);
// Longer than the registrar lets a move last.
constexpr absl::Duration kMovePatience = absl::Seconds(30);

}  // namespace

std::shared_ptr<const ClusterMembership::Snapshot> MasterSession::MovedVariables() const {
  const SessionTasks::Options& tasks = options_.tasks;
  if (tasks.membership == nullptr || tasks.isolate_session_state || moves_state_) return nullptr;
  return tasks.membership->Get();
}

absl::StatusOr<bool> MasterSession::AwaitMove(const CallOptions& call, const tensorflow::RunOptions& options,
                                              const ClientGraph& graph) {
  const absl::Time patience = MonotonicNow() + kMovePatience;
  const absl::Time deadline = StepDeadline(call, options, options_.config);
  while (true) {
    if (tasks_.cluster_version() == 0) return true;
    const auto moved = MovedVariables();
    if (moved == nullptr) return true;
    if (!graph.UsesMoving(moved->state)) return graph.IsCurrent(moved->state);
    const absl::Time next = MonotonicNow() + kPoll;
    if (next > deadline) {
      return errors::DeadlineExceeded(
          "Timed out waiting for notification: variables of the step are being moved to "
          "another task (since epoch ",
          moved->state.move_epoch(), ")");
    }
    if (next > patience) {
      return errors::Unavailable("Variables of the step are being moved to another task (since epoch ",
                                 moved->state.move_epoch(), "), and ", moved->view.registrar(),
                                 ", the cluster's registrar, has not reported its end");
    }
    RETURN_IF_ERROR(SleepUntil(next, call.cancellation));
  }
}

int64_t MasterSession::StandbyEpoch() const {
  const auto known = tasks_.cluster_version() == 0 ? nullptr : MovedVariables();
  return known == nullptr ? 0 : known->state.standby_epoch();
}

bool MasterSession::UsesStandbys(const ClientGraph& graph) const {
  return graph.UsesStandbys(options_.tasks.membership->Get()->state);
}

bool MasterSession::IsToRunAgain(const CallOptions& call, absl::Time deadline, Step& step,
                                 absl::StatusOr<RunStepResult>* result) {
  switch (AskForOutcome(step, *options_.tasks.membership, deadline, call.cancellation)) {
    case Step::Updates::kAborted:
      if (step.graph().is_repeatable()) Forget(step.graph());
      return step.graph().is_repeatable();
    case Step::Updates::kCommitted:
      if (std::optional<RunStepResult> fetched =
              step.TakeResult(step.graph().LostTask(options_.tasks.membership->Get()->state))) {
        *result = *std::move(fetched);
      } else {
        *result = Annotate(result->status(),
                           "The step's updates are committed, but some of its results are lost, or not every task that "
                           "remains has confirmed them");
      }
      return false;
    case Step::Updates::kUnknown:
      return false;
  }
  return false;
}

absl::Status MasterSession::HoldMove(absl::Time deadline) {
  const auto moved = MovedVariables();
  if (moved == nullptr) return absl::OkStatus();
  const auto running = [&] {
    return std::count_if(steps_.begin(), steps_.end(),
                         [&](const auto& step) { return step.second->graph().UsesMoving(moved->state); });
  };
  MutexLock lock(steps_mu_);
  while (running() > 0) {
    if (lock.WaitUntil(step_ended_, ToSteady(deadline)) == std::cv_status::timeout && running() > 0) {
      return errors::Aborted(running(), " steps of session ", options_.number,
                             " still use variables that are to be moved");
    }
  }
  return absl::OkStatus();
}

absl::flat_hash_map<StateKey, int64_t> MasterSession::StepsByVariable() const {
  MutexLock lock(mu_);
  absl::flat_hash_map<StateKey, int64_t> steps = earlier_steps_;
  const auto count = [&](const ClientGraph& graph) {
    for (const StateKey& key : graph.state_keys()) steps[key] += graph.num_steps();
  };
  for (const auto& [signature, graph] : client_graphs_) count(*graph);
  for (const auto& [handle, callable] : callables_) {
    const std::shared_ptr<ClientGraph>& graph = callable->graph;
    const bool is_counted = std::any_of(client_graphs_.begin(), client_graphs_.end(),
                                        [&graph](const auto& known) { return known.second == graph; });
    if (graph != nullptr && !is_counted) count(*graph);
  }
  return steps;
}

void MasterSession::ListState(ListStateResponse* response) const {
  if (MovedVariables() == nullptr) return;
  const std::shared_ptr<const Graph> graph = this->graph();
  if (graph == nullptr) return;
  const absl::flat_hash_map<StateKey, int64_t> steps = StepsByVariable();
  const std::unique_ptr<Graph> copy = graph->Clone();
  for (const SharedState& shared : FindSharedState(copy.get())) {
    StateGroup* const group = response->add_group();
    group->set_obstacle(shared.obstacle);
    group->set_function(shared.function);
    group->mutable_device_filter()->Assign(options_.tasks.device_filters.begin(), options_.tasks.device_filters.end());
    absl::flat_hash_set<StateKey> listed;
    for (const Node* node : shared.variables) {
      const StateKey key = *StateKeyOf(*node);
      if (!listed.insert(key).second) continue;
      *group->add_use() = DescribeState(key, *node);
      const auto counted = steps.find(key);
      if (counted != steps.end()) group->set_steps(std::max(group->steps(), counted->second));
    }
  }
}

}  // namespace weir
