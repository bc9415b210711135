// A group whose members are all known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device.h"
#include "core/status.h"
#include "distribute/collective/topology.h"
#include "tensorflow/core/protobuf/worker.pb.h"

namespace weir {

// Immutable.
struct FormedGroup {
  struct Member {
    std::string device;
    std::string task;
    uint64_t incarnation = 0;
  };
  int32_t key = 0;
  uint64_t formation = 0;                         // another one each time that the leader forms the group
  std::vector<Member> members;                    // by rank
  absl::flat_hash_map<std::string, int> rank_of;  // by device
  std::shared_ptr<const Topology> topology;

  std::vector<std::string> MemberNames() const;
};

// A device of this process as it announces itself to the leader. Beside what TensorFlow says of it: that it speaks
// Weir's messages, its host, and the rank that it is to have (-1: any).
tensorflow::DeviceAttributes MemberAttributes(const Device& device, int rank);
// The rank that a member asked for; -1: none.
int WantedRank(const tensorflow::DeviceAttributes& member);

// Unimplemented, naming them, when members do not speak Weir's messages; Internal when the answer contradicts itself.
absl::StatusOr<std::shared_ptr<const FormedGroup>> GroupFromResponse(const tensorflow::CompleteGroupResponse& response);

}  // namespace weir
