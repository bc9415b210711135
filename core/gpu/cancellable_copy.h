// Copies to the host that a step can abandon.
#pragma once

#include <functional>

#include "core/gpu/gpu_device.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"

namespace weir {

// Copies a tensor of `gpu` to host memory; for variants, the tensors in them. `done` runs once: with the copy, with the
// device's error, or, as soon as `cancellation` starts, with its status. In every case the device memory is held until
// the copy is over. `cancellation` may be null; otherwise it lives until `done` has run.
void CopyToHost(GpuDevice& gpu, CancellationManager* cancellation, Tensor device,
                std::function<void(absl::StatusOr<Tensor>)> done);

}  // namespace weir
