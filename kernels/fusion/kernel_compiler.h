// The compiler of a fused kernel's source.
#pragma once

#include <memory>
#include <string>

#include "core/gpu/gpu_runtime.h"

namespace weir {

// Of one device. Thread-safe.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  // Names the compiler and its target. Equal names mean equal code for equal source.
  virtual const std::string& identity() const = 0;
  // Code of `source`, which has a kernel of kFusedKernelName. Takes as long as a compiler takes. INTERNAL, with what
  // the compiler says, for source that it does not accept.
  virtual absl::StatusOr<std::string> Compile(const std::string& source) = 0;
  // What FusedArgs.function takes, of what Compile gave, or another process's: DATA_LOSS, or the runtime's error, for
  // what is no code. It stays loaded as long as it is held.
  virtual absl::StatusOr<std::shared_ptr<const void>> Load(const std::string& code) = 0;
};

// By NVRTC, for the device of that runtime. UNAVAILABLE, with the reason, without the library, in a build without CUDA,
// or for another kind of device.
absl::StatusOr<std::shared_ptr<KernelCompiler>> CudaKernelCompiler(GpuRuntime& gpu);
// A GpuKernel's `launch` for FusedArgs; null in a build without CUDA.
using FusedLaunch = int (*)(void* native_stream, const void* args);
FusedLaunch CudaFusedLaunch();

}  // namespace weir
