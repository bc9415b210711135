// A collective group whose members are all known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device.h"
#include "core/status.h"
#include "distribute/collective/topology.h"
#include "weir/peer.pb.h"

namespace weir {

// How a GPU exchanges tensors with others; empty for other devices, and if there is no library.
struct GpuMembership {
  std::string library;  // GpuCollectiveLibrary::name()
  std::string place;    // GpuCollectiveLibrary::PlaceOf, unique among hosts
};

// Immutable.
struct FormedGroup {
  struct Member {
    std::string device;
    std::string task;
    uint64_t incarnation = 0;
    GpuMembership gpu;
  };
  int32_t key = 0;
  uint64_t formation = 0;                         // new each time the leader forms the group
  std::vector<Member> members;                    // by rank
  absl::flat_hash_map<std::string, int> rank_of;  // by device
  std::shared_ptr<const Topology> topology;

  std::vector<std::string> MemberNames() const;
  // OK if one GPU library can serve all members; otherwise the reason why not.
  absl::Status CheckGpuLibrary() const;
};

// Describes a device of this process to the leader. `rank` is the requested one; -1: any.
GroupMember DescribeMember(int rank, const GpuMembership& gpu = {});

// Unimplemented, with the names of members that do not use Weir's messages; Internal for a contradictory response.
absl::StatusOr<std::shared_ptr<const FormedGroup>> GroupFromResponse(const JoinGroupResponse& response);

}  // namespace weir
