// A copy of every variable per replica, kept equal, on one device or on several of one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/communication_options.h"
#include "client/strategy/strategy.h"
#include "core/api.h"

namespace WEIR_API weir {

// One replica on `device` (empty: chosen by the session).
absl::StatusOr<std::unique_ptr<Strategy>> OneDeviceStrategy(const Scope& root, const std::string& device);

// How gradients are summed.
enum class CrossDevice {
  kAuto,           // collectives among GPUs, otherwise on one device
  kOneDevice,      // each variable's on one of the devices, in turn
  kCollectiveOps,  // CollectiveReduceV2, CollectiveGatherV2; devices are named in full
};

struct MirroredOptions {
  // One replica on each; all of one task. For example "/device:CPU:0".
  std::vector<std::string> devices;
  CrossDevice cross_device = CrossDevice::kAuto;
  // For the collectives; must be unique among the cluster's strategies.
  int group_key = 1;
  CommunicationOptions communication;  // of the collectives
};

// Each device has a copy of each variable, and each copy gets the same updates. InvalidArgument for no devices,
// duplicates, or devices of several tasks.
absl::StatusOr<std::unique_ptr<Strategy>> MirroredStrategy(const Scope& root, MirroredOptions options);

}  // namespace weir
