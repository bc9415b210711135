#include "client/strategy/variable_placers.h"

#include <algorithm>
#include <memory>

#include "core/device/device_name.h"

namespace weir {
namespace {

class Spread {
 public:
  Spread(PlaceVariables how, std::vector<std::string> devices)
      : how_(how), devices_(std::move(devices)), bytes_(devices_.size()) {}

  Scope Place(const Scope& scope, const TensorShape& shape, DataType dtype) {
    if (scope.is_colocated()) return scope;
    const int chosen = Asked(scope.device());
    const size_t device = chosen >= 0                           ? chosen
                          : how_ == PlaceVariables::kRoundRobin ? next_++ % devices_.size()
                                                                : Lightest();
    // Empty variables have a small weight, so that they are spread too.
    bytes_[device] += std::max<int64_t>(1, shape.num_elements() * static_cast<int64_t>(DataTypeSize(dtype)));
    return scope.WithDevice(devices_[device]);
  }

 private:
  size_t Lightest() const { return std::min_element(bytes_.begin(), bytes_.end()) - bytes_.begin(); }

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

  const PlaceVariables how_;
  const std::vector<std::string> devices_;
  std::vector<int64_t> bytes_;
  size_t next_ = 0;
};

}  // namespace

VariablePlacement SpreadVariables(PlaceVariables how, std::vector<std::string> devices) {
  return [spread = std::make_shared<Spread>(how, std::move(devices))](const Scope& scope, const TensorShape& shape,
                                                                      DataType dtype, VariableOptions*) {
    return spread->Place(scope, shape, dtype);
  };
}

}  // namespace weir
