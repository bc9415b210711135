// Copies variants between the host and a GPU: the objects stay on the host, the tensors in them are copied.
#pragma once

#include <functional>

#include "core/gpu/gpu_device.h"
#include "core/tensor/tensor.h"

namespace weir {

// `variants` with their tensors in the memory of `gpu`, copied as by GpuDevice::ToDevice.
absl::StatusOr<Tensor> VariantsToDevice(GpuDevice& gpu, const Tensor& variants);
// `variants` with their tensors in host memory. `done` runs once, when the last copy has arrived, or inline if there
// are none; an error is the first that GpuDevice::ToHost returned.
void VariantsToHost(GpuDevice& gpu, const Tensor& variants, std::function<void(absl::StatusOr<Tensor>)> done);

}  // namespace weir
