// Variables in one place, used by replicas on several devices of one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/strategy.h"

namespace weir {

struct CentralStorageOptions {
  // One replica on each; of one task.
  std::vector<std::string> devices;
  // Where all variables live and are updated.
  std::string variable_device = "/device:CPU:0";
};

// Each step reads the variables from their device, adds gradients up there and updates once. InvalidArgument as for
// MirroredStrategy.
absl::StatusOr<std::unique_ptr<Strategy>> CentralStorageStrategy(const Scope& root, CentralStorageOptions options);

}  // namespace weir
