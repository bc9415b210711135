#include "client/strategy/variable_placers.h"

#include <memory>

#include "core/device/device_name.h"
#include "graph/placement/variable_spread.h"

namespace weir {
namespace {

class Spread {
 public:
  Spread(PlaceVariables how, std::vector<std::string> devices)
      : devices_(std::move(devices)),
        spread_(how == PlaceVariables::kRoundRobin ? SpreadBy::kTurns : SpreadBy::kBytes,
                static_cast<int>(devices_.size())) {}

  Scope Place(const Scope& scope, const TensorShape& shape, DataType dtype) {
    if (scope.is_colocated()) return scope;
    const int64_t bytes = shape.num_elements() * static_cast<int64_t>(DataTypeSize(dtype));
    const int asked = Asked(scope.device());
    if (asked >= 0) spread_.Count(asked, bytes);
    return scope.WithDevice(devices_[asked >= 0 ? asked : spread_.Next(bytes)]);
  }

 private:
  // The device that the model requests; -1 if it requests none.
  int Asked(const std::string& device) const {
    const auto name = DeviceName::Parse(device);
    if (!name.ok() || !name->job || !name->task) return -1;
    for (size_t i = 0; i < devices_.size(); ++i) {
      const auto own = DeviceName::Parse(devices_[i]);
      if (own.ok() && own->job == name->job && own->task == name->task) return static_cast<int>(i);
    }
    return -1;
  }

  const std::vector<std::string> devices_;
  VariableSpread spread_;
};

}  // namespace

VariablePlacement SpreadVariables(PlaceVariables how, std::vector<std::string> devices) {
  return [spread = std::make_shared<Spread>(how, std::move(devices))](const Scope& scope, const TensorShape& shape,
                                                                      DataType dtype, VariableOptions*) {
    return spread->Place(scope, shape, dtype);
  };
}

}  // namespace weir
