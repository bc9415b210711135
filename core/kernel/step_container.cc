#include "absl/strings/str_cat.h"
#include "core/device/device.h"
#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"

namespace weir {

StepContainer::StepContainer(int64_t step_id, Device* device)
    : name_(absl::StrCat("__per_step_", step_id)), device_(device) {}

StepContainer::~StepContainer() { device_->resources()->ClearContainer(name_); }

}  // namespace weir
