// Waits for the work that a step has enqueued on a GPU.
#pragma once

#include <functional>

#include "core/gpu/gpu_device.h"
#include "core/threads/cancellation.h"
#include "worker/executor/plan.h"

namespace weir {

// `done` runs once, on a work-queue thread, when everything enqueued on `gpu`'s compute stream has finished, or when
// `cancellation` fires. A device error names the nodes of `plan` that enqueue work there, because the device does not
// report which one failed. `plan` lives until then. Does not block.
void AwaitDeviceWork(GpuDevice& gpu, const Plan& plan, CancellationManager& cancellation,
                     std::function<void(absl::Status)> done);

}  // namespace weir
