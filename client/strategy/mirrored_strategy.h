// Copies of every variable, one for each replica, kept equal: on one device or on several of one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/communication_options.h"
#include "client/strategy/strategy.h"

namespace weir {

// One replica on `device` (empty: where the session puts it).
absl::StatusOr<std::unique_ptr<Strategy>> OneDeviceStrategy(const Scope& root, const std::string& device);

// How gradients are added up.
enum class CrossDevice {
  kAuto,           // collectives among GPUs, on one device otherwise
  kOneDevice,      // each variable's on one of the devices, in turn
  kCollectiveOps,  // CollectiveReduceV2, CollectiveGatherV2; devices are named in full
};

struct MirroredOptions {
  // One replica on each; of one task. "/device:CPU:0", say.
  std::vector<std::string> devices;
  CrossDevice cross_device = CrossDevice::kAuto;
  // Of the collectives; no other strategy of the cluster may have the same.
  int group_key = 1;
  CommunicationOptions communication;  // of the collectives
};

// Each variable has a copy on each device; each copy gets the same updates. InvalidArgument without devices, for one
// that is named twice, and for devices of several tasks.
absl::StatusOr<std::unique_ptr<Strategy>> MirroredStrategy(const Scope& root, MirroredOptions options);

}  // namespace weir
