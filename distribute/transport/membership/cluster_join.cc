#include "distribute/transport/membership/cluster_join.h"

#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/device/incarnation.h"
#include "core/logging.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/membership/cluster_view.h"

namespace weir {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::unique_ptr<ClusterJoin>> ClusterJoin::Begin(const Options& options) {
  JoinRequest request;
  request.set_job(options.job);
  if (options.index.has_value()) request.set_index(*options.index);
  request.set_address(options.address);
  request.set_incarnation(NewIncarnation());
  std::unique_ptr<ClusterJoin> join(new ClusterJoin(options, std::move(request)));
  absl::StatusOr<JoinResponse> joined =
      join->client_.Join({.deadline = MonotonicNow() + options.timeout}, join->request_);
  if (!joined.ok()) return Annotate(joined.status(), absl::StrCat("Joining the cluster of ", options.cluster));
  join->joined_ = *std::move(joined);
  join->request_.set_index(join->joined_.member().index());
  join->request_.set_serves(true);
  return join;
}

absl::Status ClusterJoin::Complete(ClusterMembership* membership) {
  const absl::StatusOr<JoinResponse> joined = client_.Join({.deadline = MonotonicNow() + options_.timeout}, request_);
  if (!joined.ok()) return Annotate(joined.status(), absl::StrCat("Joining the cluster of ", options_.cluster));
  RETURN_IF_ERROR(membership->Adopt(joined->view()).status());
  membership_ = membership;
  try {
    thread_ = std::thread([this] { Check(); });
  } catch (const std::system_error& error) {
    return errors::ResourceExhausted("No thread for the task's membership: ", error.what());
  }
  return absl::OkStatus();
}

std::unique_ptr<MembershipClient> ClusterJoin::Registrar() const {
  const auto known = membership_->Get();
  const Member* const registrar = FindMember(known->view, known->view.registrar());
  return std::make_unique<MembershipClient>(registrar != nullptr ? registrar->address() : options_.cluster);
}

void ClusterJoin::Check() {
  while (SleepUntil(MonotonicNow() + options_.check_interval, &cancellation_).ok() && !is_over_) CheckOnce();
}

void ClusterJoin::CheckOnce() {
  const std::unique_ptr<MembershipClient> registrar = Registrar();
  const CallOptions call{.deadline = MonotonicNow() + options_.check_interval, .cancellation = &cancellation_};
  const absl::StatusOr<ClusterView> view = registrar->GetView(call, &membership_->Get()->view);
  if (!view.ok()) return;                            // it is awaited, and asks this task itself
  membership_->Adopt(*view).status().IgnoreError();  // the registrar tells it again
  const std::string task = TaskNameOf(joined_.member());
  if (WasRemoved(*view, request_.incarnation())) {
    is_over_ = true;
    WEIR_LOG(WARNING).With("task", task) << "this task was removed from the cluster: stop it";
    return;
  }
  const Member* const self = FindMember(*view, task);
  if (self != nullptr && self->incarnation() == request_.incarnation()) return;
  if (self != nullptr) {
    if (!std::exchange(is_replaced_, true)) {
      WEIR_LOG(ERROR).With("task", task).With("address", self->address())
          << "another process has taken this task's place in the cluster: stop this one";
    }
    return;
  }
  const absl::StatusOr<JoinResponse> joined = registrar->Join(call, request_);
  if (joined.ok()) {
    WEIR_LOG(WARNING).With("task", task) << "the registrar had removed this task as lost; it has joined again";
    membership_->Adopt(joined->view()).status().IgnoreError();  // the registrar tells it again
  }
}

void ClusterJoin::StopChecking() {
  cancellation_.StartCancel(errors::Cancelled("The task is stopping"));
  if (thread_.joinable()) thread_.join();
}

absl::Status ClusterJoin::Leave() {
  StopChecking();
  const CallOptions call{.deadline = MonotonicNow() + kLeaveTimeout};
  const std::unique_ptr<MembershipClient> registrar =
      membership_ != nullptr ? Registrar() : std::make_unique<MembershipClient>(options_.cluster);
  return registrar->Leave(call, TaskNameOf(joined_.member()), request_.incarnation()).status();
}

}  // namespace weir
