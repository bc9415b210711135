#include "client/strategy/central_storage_strategy.h"

#include "client/strategy/device_checks.h"
#include "client/strategy/shared_variables_strategy.h"

namespace weir {

absl::StatusOr<std::unique_ptr<Strategy>> CentralStorageStrategy(const Scope& root, CentralStorageOptions options) {
  constexpr char kName[] = "CentralStorageStrategy";
  RETURN_IF_ERROR(CheckOneTask(kName, options.devices));
  RETURN_IF_ERROR(CheckDevices(kName, {options.variable_device}));
  const auto placement = [device = options.variable_device](const Scope& scope, const TensorShape&, DataType,
                                                            VariableOptions*) {
    return scope.is_colocated() ? scope : scope.WithDevice(device);
  };
  return std::make_unique<SharedVariablesStrategy>(root, SharedVariablesStrategy::LayoutOf(kName, options.devices),
                                                   placement);
}

}  // namespace weir
