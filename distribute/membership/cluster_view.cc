#include "distribute/membership/cluster_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/fingerprint.h"
#include "distribute/membership/state_moves.h"

namespace weir {

std::string RegistrarOf(const ClusterSpec& cluster) {
  for (const char* const job : {"chief", "master", "worker"}) {
    const auto found = cluster.jobs().find(job);
    if (found != cluster.jobs().end()) return TaskName(job, found->second.begin()->first);
  }
  if (cluster.empty()) return "";
  const auto& [job, tasks] = *cluster.jobs().begin();
  return TaskName(job, tasks.begin()->first);
}

ClusterView ViewOf(const ClusterSpec& cluster) {
  ClusterView view;
  view.set_registrar(RegistrarOf(cluster));
  uint64_t id = Fingerprint64("");
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      Member* const member = view.add_member();
      member->set_job(job);
      member->set_index(index);
      member->set_address(address);
      id = FingerprintCat64(id, Fingerprint64(absl::StrCat(TaskName(job, index), "=", address)));
    }
  }
  view.set_cluster_id(id);
  return view;
}

std::string TaskNameOf(const Member& member) { return TaskName(member.job(), member.index()); }

const Member* FindMember(const ClusterView& view, absl::string_view task) {
  for (const Member& member : view.member()) {
    if (TaskNameOf(member) == task) return &member;
  }
  return nullptr;
}

bool WasRemoved(const ClusterView& view, uint64_t incarnation) {
  return std::find(view.removed().begin(), view.removed().end(), incarnation) != view.removed().end();
}

bool IsNewerView(const ClusterView& a, const ClusterView& b) {
  return a.cluster_id() == b.cluster_id() &&
         std::make_pair(a.epoch(), a.registrar_incarnation()) > std::make_pair(b.epoch(), b.registrar_incarnation());
}

absl::StatusOr<ClusterSpec> ClusterOf(const ClusterView& view, absl::string_view self) {
  if (view.member_size() > kMaxMembers) {
    return errors::InvalidArgument("The view of the cluster has ", view.member_size(), " members; the limit is ",
                                   kMaxMembers);
  }
  constexpr int64_t kMaxEpoch = int64_t{1} << 53;
  if (view.epoch() < 0 || view.epoch() > kMaxEpoch) {
    return errors::InvalidArgument("The view of the cluster has the epoch ", view.epoch());
  }
  if (FindMember(view, view.registrar()) == nullptr) {
    return errors::InvalidArgument("The view of the cluster has no task '", absl::CEscape(view.registrar()),
                                   "', which it names as the registrar");
  }
  ClusterSpec all, serving;
  for (const Member& member : view.member()) {
    RETURN_IF_ERROR(
        Annotate(all.AddTask(member.job(), member.index(), member.address()), "In the view of the cluster"));
    if (member.state() == Member::JOINING && TaskNameOf(member) != self) continue;
    RETURN_IF_ERROR(serving.AddTask(member.job(), member.index(), member.address()));
  }
  RETURN_IF_ERROR(CheckState(view));
  return serving;
}

}  // namespace weir
