// The kept choices of a device, which all its planners share.
#pragma once

#include <memory>
#include <string>

#include "core/gpu/gpu_device.h"
#include "kernels/device/plans/plan_cache.h"

namespace weir {

// Of the directory that the device's settings name; nullptr where they name none. May block when it is first asked for.
absl::StatusOr<std::shared_ptr<PlanCache>> PlanCacheOf(GpuDevice& gpu, const std::string& identity);

}  // namespace weir
