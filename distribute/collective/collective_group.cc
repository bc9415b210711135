#include "distribute/collective/collective_group.h"

#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "core/fingerprint.h"

namespace weir {
namespace {

// Equal for all processes of a running host, and for them alone.
const std::string& HostId() {
  static const std::string* const id = [] {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return new std::string(absl::StrCat(absl::Hex(Fingerprint64(boot))));
  }();
  return *id;
}

}  // namespace

std::vector<std::string> FormedGroup::MemberNames() const {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.device);
  return names;
}

absl::Status FormedGroup::CheckGpuLibrary() const {
  absl::flat_hash_map<std::string, const Member*> places;
  for (const Member& member : members) {
    if (member.gpu.library.empty()) return errors::Unavailable(member.device, " has no library for them");
    if (member.gpu.library != members[0].gpu.library) {
      return errors::Unavailable(member.device, " has ", member.gpu.library, " and ", members[0].device, " has ",
                                 members[0].gpu.library);
    }
    if (member.gpu.place.empty()) continue;
    const auto [known, is_new] = places.try_emplace(member.gpu.place, &member);
    if (!is_new) return errors::Unavailable(member.device, " and ", known->second->device, " share one GPU");
  }
  return absl::OkStatus();
}

GroupMember DescribeMember(int rank, const GpuMembership& gpu) {
  GroupMember member;
  member.set_host(HostId());
  if (rank >= 0) member.set_rank(rank);
  member.set_gpu_library(gpu.library);
  member.set_gpu_place(gpu.place);
  return member;
}

absl::StatusOr<std::shared_ptr<const FormedGroup>> GroupFromResponse(const JoinGroupResponse& joined) {
  const tensorflow::CompleteGroupResponse& response = joined.group();
  auto group = std::make_shared<FormedGroup>();
  group->key = response.group_key();
  group->formation = Fingerprint64(response.communicator_key());
  if (response.device_attributes_size() != response.group_size() || response.group_size() == 0) {
    return errors::Internal("Collective group ", response.group_key(), " of ", response.group_size(), " has ",
                            response.device_attributes_size(), " members");
  }
  if (joined.member_size() > response.group_size()) {
    return errors::Internal("Collective group ", response.group_key(), " of ", response.group_size(), " describes ",
                            joined.member_size(), " members");
  }
  std::vector<std::string> strangers;
  std::vector<int> host_of;
  absl::flat_hash_map<std::string, int> hosts;
  for (const auto& attributes : response.device_attributes()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::ParseFull(attributes.name()));
    const int rank = static_cast<int>(group->members.size());
    const GroupMember& member = rank < joined.member_size() ? joined.member(rank) : GroupMember::default_instance();
    if (member.host().empty()) strangers.push_back(attributes.name());
    const int host = static_cast<int>(hosts.size());
    host_of.push_back(hosts.try_emplace(member.host(), host).first->second);
    GpuMembership gpu{.library = member.gpu_library()};
    if (!member.gpu_place().empty()) gpu.place = absl::StrCat(member.host(), "/", member.gpu_place());
    if (!group->rank_of.try_emplace(attributes.name(), rank).second) {
      return errors::Internal("Collective group ", response.group_key(), " has ", attributes.name(), " twice");
    }
    group->members.push_back({attributes.name(), name.TaskName(), attributes.incarnation(), std::move(gpu)});
  }
  if (!strangers.empty()) {
    return errors::Unimplemented("Collective group ", response.group_key(),
                                 " has members on tasks that are not Weir's: ", absl::StrJoin(strangers, ", "));
  }
  group->topology = std::make_shared<const Topology>(host_of);
  return std::shared_ptr<const FormedGroup>(std::move(group));
}

}  // namespace weir
