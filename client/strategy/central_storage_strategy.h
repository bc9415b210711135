// Variables on one device, used by replicas on several devices of one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/strategy.h"
#include "core/api.h"

namespace WEIR_API weir {

struct CentralStorageOptions {
  // One replica on each; all of one task.
  std::vector<std::string> devices;
  // The device of all variables and their updates.
  std::string variable_device = "/device:CPU:0";
};

// Each step reads the variables from their device, sums gradients there and updates once. InvalidArgument as for
// MirroredStrategy.
absl::StatusOr<std::unique_ptr<Strategy>> CentralStorageStrategy(const Scope& root, CentralStorageOptions options);

}  // namespace weir
