// Copies to the host that a step may give up.
#pragma once

#include <functional>

#include "core/cancellation.h"
#include "core/gpu/gpu_device.h"
#include "core/tensor.h"

namespace weir {

// A tensor of `gpu` in host memory; of variants, their tensors. `done` runs once: with the copy, with the device's
// error, or, as soon as `cancellation` starts, with its status. Either way the device's memory is held until the copy
// is over. `cancellation` may be null, and else lives until `done` has run.
void CopyToHost(GpuDevice& gpu, CancellationManager* cancellation, Tensor device,
                std::function<void(absl::StatusOr<Tensor>)> done);

}  // namespace weir
