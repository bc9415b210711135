#include "kernels/recurrent/gpu/rnn_library.h"

#include "core/gpu/simulated_gpu.h"

namespace weir {

absl::StatusOr<std::shared_ptr<RnnLibrary>> RnnLibraryOf(GpuDevice& gpu) {
  const auto make = [&gpu]() -> absl::StatusOr<std::shared_ptr<RnnLibrary>> {
    if (dynamic_cast<SimulatedGpu*>(&gpu.runtime()) != nullptr) return NewSimulatedRnns();
    return CudaRnns(gpu.runtime(), gpu.math_settings());
  };
  return gpu.resources()->LookupOrCreate<RnnLibrary>("weir_gpu_libraries", "recurrent networks", make);
}

}  // namespace weir
