#include "distribute/collective/collective_group.h"

#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/fingerprint.h"

namespace weir {
namespace {

// In DeviceAttributes.physical_device_desc, which is empty for other CPUs.
constexpr char kMark[] = "weir-collectives-1";

// The same for all processes of a running host, and for them alone.
const std::string& HostId() {
  static const std::string* const id = [] {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return new std::string(absl::StrCat(absl::Hex(Fingerprint64(boot))));
  }();
  return *id;
}

struct Mark {
  bool is_there = false;
  std::string host;
  int rank = -1;
  GpuMembership gpu;
};

Mark ParseMark(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ';');
  Mark mark;
  if ((parts.size() != 3 && parts.size() != 5) || parts[0] != kMark) return mark;
  mark.is_there = absl::SimpleAtoi(parts[2], &mark.rank);
  mark.host = parts[1];
  if (parts.size() == 3) return mark;
  mark.gpu.library = parts[3];
  if (!parts[4].empty()) mark.gpu.place = absl::StrCat(mark.host, "/", parts[4]);
  return mark;
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
    if (!is_new) return errors::Unavailable(member.device, " and ", known->second->device, " are of one GPU");
  }
  return absl::OkStatus();
}

tensorflow::DeviceAttributes MemberAttributes(const Device& device, int rank, const GpuMembership& gpu) {
  tensorflow::DeviceAttributes attributes;
  device.ToProto(&attributes);
  std::string mark = absl::StrCat(kMark, ";", HostId(), ";", rank);
  if (!gpu.library.empty()) absl::StrAppend(&mark, ";", gpu.library, ";", gpu.place);
  attributes.set_physical_device_desc(mark);
  return attributes;
}

int WantedRank(const tensorflow::DeviceAttributes& member) { return ParseMark(member.physical_device_desc()).rank; }

absl::StatusOr<std::shared_ptr<const FormedGroup>> GroupFromResponse(
    const tensorflow::CompleteGroupResponse& response) {
  auto group = std::make_shared<FormedGroup>();
  group->key = response.group_key();
  group->formation = Fingerprint64(response.communicator_key());
  if (response.device_attributes_size() != response.group_size() || response.group_size() == 0) {
    return errors::Internal("Collective group ", response.group_key(), " of ", response.group_size(), " has ",
                            response.device_attributes_size(), " members");
  }
  std::vector<std::string> strangers;
  std::vector<int> host_of;
  absl::flat_hash_map<std::string, int> hosts;
  for (const auto& attributes : response.device_attributes()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::ParseFull(attributes.name()));
    const Mark mark = ParseMark(attributes.physical_device_desc());
    if (!mark.is_there) strangers.push_back(attributes.name());
    const int host = static_cast<int>(hosts.size());
    host_of.push_back(hosts.try_emplace(mark.host, host).first->second);
    const int rank = static_cast<int>(group->members.size());
    if (!group->rank_of.try_emplace(attributes.name(), rank).second) {
      return errors::Internal("Collective group ", response.group_key(), " has ", attributes.name(), " twice");
    }
    group->members.push_back({attributes.name(), name.TaskName(), attributes.incarnation(), mark.gpu});
  }
  if (!strangers.empty()) {
    return errors::Unimplemented("Collective group ", response.group_key(),
                                 " has members on tasks that are not Weir's: ", absl::StrJoin(strangers, ", "));
  }
  group->topology = std::make_shared<const Topology>(host_of);
  return std::shared_ptr<const FormedGroup>(std::move(group));
}

}  // namespace weir
