// Variants between the host and a GPU: the objects are the host's, the tensors that they hold are copied.
#pragma once

#include <functional>

#include "core/gpu/gpu_device.h"
#include "core/tensor.h"

namespace weir {

// `variants` with their tensors in the memory of `gpu`, as GpuDevice::ToDevice copies them.
absl::StatusOr<Tensor> VariantsToDevice(GpuDevice& gpu, const Tensor& variants);
// `variants` with their tensors in host memory. `done` runs once, when the last has arrived, or at once where there are
// none; an error is the first of GpuDevice::ToHost's.
void VariantsToHost(GpuDevice& gpu, const Tensor& variants, std::function<void(absl::StatusOr<Tensor>)> done);

}  // namespace weir
