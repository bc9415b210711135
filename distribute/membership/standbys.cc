#include "distribute/membership/standbys.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/membership/state_moves.h"

namespace weir {
namespace {

absl::Status CheckServes(const std::string& task, const ClusterView& view) {
  const Member* const member = FindMember(view, task);
  if (member == nullptr) return errors::FailedPrecondition("Task '", absl::CEscape(task), "' is not in the cluster");
  if (member->state() == Member::SERVING) return absl::OkStatus();
  return errors::FailedPrecondition("Task ", task,
                                    " is joining or draining: it can neither stand by nor be stood by "
                                    "for");
}

// True if some were removed.
template <typename Condition>
bool RemoveIf(Condition condition, int64_t epoch, ClusterView* view) {
  auto* const standbys = view->mutable_standby();
  const auto end = std::remove_if(standbys->begin(), standbys->end(), condition);
  if (end == standbys->end()) return false;
  standbys->erase(end, standbys->end());
  view->set_standby_epoch(epoch);
  return true;
}

}  // namespace

absl::Status CheckNewStandby(const Standby& standby, const ClusterView& view) {
  if (standby.task() == standby.standby()) {
    return errors::InvalidArgument("Task '", absl::CEscape(standby.task()), "' cannot stand by for itself");
  }
  RETURN_IF_ERROR(CheckServes(standby.task(), view));
  RETURN_IF_ERROR(CheckServes(standby.standby(), view));
  int count = 0;
  for (const Standby& known : view.standby()) {
    if (known.task() != standby.task()) continue;
    ++count;
    if (known.standby() == standby.standby()) {
      return errors::FailedPrecondition("Task ", standby.standby(), " stands by for ", standby.task(), " already");
    }
  }
  if (count < kMaxStandbysOfTask) return absl::OkStatus();
  return errors::ResourceExhausted("Task ", standby.task(), " has ", count, " standbys, which is the limit");
}

void AddStandby(const Standby& standby, int64_t epoch, ClusterView* view) {
  Standby* const added = view->add_standby();
  *added = standby;
  added->set_epoch(epoch);
  view->set_standby_epoch(epoch);
}

bool RemoveStandby(const std::string& task, const std::string& standby, int64_t epoch, ClusterView* view) {
  return RemoveIf([&](const Standby& known) { return known.task() == task && known.standby() == standby; }, epoch,
                  view);
}

void ForgetStandbysOf(const std::string& task, int64_t epoch, ClusterView* view) {
  RemoveIf([&](const Standby& known) { return known.task() == task; }, epoch, view);
}

std::string FailOver(const std::string& task, const std::function<bool(const std::string&)>& serves, int64_t epoch,
                     ClusterView* view) {
  std::string successor;
  absl::flat_hash_set<std::string> copies;
  for (const Standby& known : view->standby()) {
    if (known.task() != task) continue;
    copies.insert(known.standby());
    if (successor.empty() && serves(known.standby())) successor = known.standby();
  }
  RemoveIf(
      [&](const Standby& known) {
        const bool lacks_state = known.task() == successor && !copies.contains(known.standby());
        return known.task() == task || known.standby() == task || lacks_state;
      },
      epoch, view);
  if (successor.empty()) return successor;
  TakeOver(task, successor, epoch, view);
  view->set_loss_epoch(epoch);
  return successor;
}

absl::Status CheckStandbys(const ClusterView& view) {
  absl::flat_hash_set<std::string> tasks;
  for (const Member& member : view.member()) tasks.insert(TaskNameOf(member));
  if (view.standby_size() > kMaxMembers * kMaxStandbysOfTask) {
    return errors::InvalidArgument("The view of the cluster has ", view.standby_size(), " standbys; the limit is ",
                                   kMaxMembers * kMaxStandbysOfTask);
  }
  const auto check = [&](const Standby& standby) -> absl::Status {
    if (standby.task() != standby.standby() && tasks.contains(standby.task()) && tasks.contains(standby.standby())) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("In the view of the cluster, '", absl::CEscape(standby.standby()),
                                   "' stands by for '", absl::CEscape(standby.task()),
                                   "': two tasks of the cluster are needed");
  };
  for (const Standby& standby : view.standby()) RETURN_IF_ERROR(check(standby));
  return view.move().has_standby() ? check(view.move().standby()) : absl::OkStatus();
}

}  // namespace weir
