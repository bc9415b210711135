#include "master/fail_over.h"

#include <optional>

#include "core/clock.h"
#include "core/threads/blocking_call.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/lost_graph.h"
#include "distribute/transport/membership/membership_client.h"
#include "master/client_graph.h"

namespace weir {
namespace {

// The change comes as a new view, by itself.
constexpr absl::Duration kPoll = absl::Milliseconds(1);
// The registrar has asked the task by then; one that hangs is found lost within this time.
constexpr absl::Duration kHangPatience = absl::Seconds(4);
// Between questions whether the step is committed, while the answer is in doubt.
constexpr absl::Duration kPause = absl::Milliseconds(20);
constexpr absl::Duration kCallTimeout = absl::Seconds(1);

// Reports the loss to the registrar, which checks it.
void ReportLoss(const ClusterView& view, const std::string& task, absl::Time deadline) {
  const Member* const registrar = FindMember(view, view.registrar());
  if (registrar == nullptr) return;
  MoveStateRequest request;
  request.set_lost(task);
  MembershipClient(registrar->address())
      .MoveState({.deadline = std::min(deadline, MonotonicNow() + kCallTimeout)}, request)
      .status()
      .IgnoreError();  // it finds out by itself
}

// nullopt: the task does not answer, or does not know yet.
std::optional<bool> AskIfCommitted(const ClientGraph::Part& part, const Step& step, absl::Time deadline) {
  ResolveStepRequest request;
  const ClientGraph::Part* const relay = step.graph().relay();
  // What the standby has decided counts once its task knows it, or has been replaced.
  if (relay != nullptr && &part != relay) request.set_relay(relay->task);
  ResolveStepResponse response;
  request.set_session_handle(step.session_handle());
  request.set_step_id(step.step_id());
  const CallOptions call{.deadline = std::min(deadline, MonotonicNow() + kCallTimeout)};
  const absl::Status status = Await([&](auto done) { part.worker->ResolveStepAsync(call, &request, &response, done); });
  if (!status.ok() || response.incarnation() != part.incarnation) return std::nullopt;
  return response.committed();
}

}  // namespace

bool MayFailOver(const absl::Status& status, const ClusterMembership& membership) {
  if (IsGraphLost(status) || IsWorkerSessionLost(status)) return true;
  if (!absl::IsUnavailable(status)) return false;
  const std::optional<ErrorOrigin> origin = OriginOf(status);
  const auto known = membership.Get();
  return origin && (known->state.HasStandbyRelation(origin->task) || !known->state.SuccessorOf(origin->task).empty());
}

bool AwaitFailOver(const absl::Status& status, int64_t epoch, const ClusterMembership& membership, absl::Time deadline,
                   CancellationManager* cancellation) {
  const std::optional<ErrorOrigin> origin = OriginOf(status);
  if (absl::IsUnavailable(status) && origin) {
    ReportLoss(membership.Get()->view, origin->task, deadline);
    deadline = std::min(deadline, MonotonicNow() + kHangPatience);
  }
  // The task that took the graph for stale may know a newer view than this one, or an older one.
  const bool knows_tasks = IsGraphLost(status) || IsWorkerSessionLost(status);
  if (knows_tasks) deadline = std::min(deadline, MonotonicNow() + kPause);
  while (membership.Get()->state.standby_epoch() == epoch) {
    const absl::Time next = MonotonicNow() + kPoll;
    if (next > deadline || !SleepUntil(next, cancellation).ok()) return knows_tasks;
  }
  return true;
}

Step::Updates AskForOutcome(const Step& step, const ClusterMembership& membership, absl::Time deadline,
                            CancellationManager* cancellation) {
  const ClientGraph::Part* const coordinator = step.graph().coordinator();
  if (coordinator == nullptr) return step.graph().has_updates() ? Step::Updates::kUnknown : Step::Updates::kAborted;
  const ClientGraph::Part* const relay = step.graph().relay();
  if (step.updates() == Step::Updates::kAborted || (step.updates() == Step::Updates::kCommitted && relay == nullptr)) {
    return step.updates();
  }
  while (true) {
    for (const ClientGraph::Part* part : {relay, coordinator}) {
      if (part == nullptr) continue;
      // A standby that was removed may still hold a decision that its task never heard, and has given up.
      const auto known = membership.Get();
      const bool counts = part == relay || relay == nullptr || known->state.StandsBy(part->task, relay->task) ||
                          !known->state.SuccessorOf(relay->task).empty();
      if (!counts) continue;
      const std::optional<bool> committed = AskIfCommitted(*part, step, deadline);
      if (committed) return *committed ? Step::Updates::kCommitted : Step::Updates::kAborted;
    }
    const absl::Time next = MonotonicNow() + kPause;
    if (next > deadline || !SleepUntil(next, cancellation).ok()) return Step::Updates::kUnknown;
  }
}

}  // namespace weir
