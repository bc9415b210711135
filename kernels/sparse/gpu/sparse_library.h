// Libraries that multiply with sparse matrices on GPUs, as kernels see them: cuSPARSE, and a simulated one for tests on
// any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/gpu/gpu_device.h"
#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"

namespace weir {

// c[rows, columns] = a b, where a [rows, inner] has `entries` at [entry_rows, entry_columns], which may name a place
// more than once. b is [inner, columns], or lies as [columns, inner]. Sizes are in [1, 2^31), and so are indices below
// them; the rows of entries ascend. Pointers are aligned for plans (kPlanAlignment). It is computed in float, double in
// double.
struct SparseProduct {
  DataType dtype = DT_INVALID;
  int64_t rows = 0, inner = 0, columns = 0, entries = 0;
  bool transpose_b = false;
  const int32_t* entry_rows = nullptr;
  const int32_t* entry_columns = nullptr;
  const void* values = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

// One library for one device. Thread-safe. Where deterministic ops are asked for it adds up in one order.
class SparseLibrary {
 public:
  virtual ~SparseLibrary() = default;
  // UNIMPLEMENTED where the library cannot do it.
  virtual absl::StatusOr<size_t> WorkspaceBytes(const SparseProduct& product) = 0;
  // `workspace` has as much of this stream's memory. UNIMPLEMENTED as above: nothing has been enqueued.
  virtual absl::Status Enqueue(GpuStream& stream, const SparseProduct& product, void* workspace) = 0;
};

// cuSPARSE for a device of CUDA's. UNAVAILABLE, with the reason, for others, where it cannot be loaded, and in a build
// without CUDA.
absl::StatusOr<std::unique_ptr<SparseLibrary>> CudaSparse(GpuRuntime& gpu, const GpuMathSettings& settings);
// Loops on a simulated device, which want workspace. As other libraries it has a gap: no bfloat16 times a b that lies
// the other way round.
std::unique_ptr<SparseLibrary> NewSimulatedSparse();

// The one of a device; nullptr where there is none: the log says why.
absl::StatusOr<std::shared_ptr<SparseLibrary>> SparseLibraryOf(GpuDevice& gpu);

}  // namespace weir
