// What a step left behind on a GPU when its nodes had run.
#pragma once

#include <functional>

#include "core/cancellation.h"
#include "core/gpu/gpu_device.h"
#include "worker/plan.h"

namespace weir {

// `done` runs once, on a thread of the work queue, when all is over that has been enqueued on `gpu`'s compute stream,
// or when `cancellation` fires. The device's error names the nodes of `plan`, which lives until then, that enqueue work
// there: which of them it was only the device knew. Does not block.
void AwaitDeviceWork(GpuDevice& gpu, const Plan& plan, CancellationManager& cancellation,
                     std::function<void(absl::Status)> done);

}  // namespace weir
