#include "kernels/sparse/gpu/sparse_library.h"

#include <utility>

#include "core/gpu/simulated_gpu.h"
#include "core/logging.h"

namespace weir {
namespace {

struct SharedSparseLibrary : Resource {
  explicit SharedSparseLibrary(std::unique_ptr<SparseLibrary> library_in) : library(std::move(library_in)) {}
  std::string DebugString() const override {
    return library == nullptr ? "no library of sparse products" : "a library of sparse products";
  }
  const std::shared_ptr<SparseLibrary> library;
};

}  // namespace

absl::StatusOr<std::shared_ptr<SparseLibrary>> SparseLibraryOf(GpuDevice& gpu) {
  const auto make = [&gpu]() -> absl::StatusOr<std::shared_ptr<SharedSparseLibrary>> {
    if (dynamic_cast<SimulatedGpu*>(&gpu.runtime()) != nullptr) {
      return std::make_shared<SharedSparseLibrary>(NewSimulatedSparse());
    }
    absl::StatusOr<std::unique_ptr<SparseLibrary>> library = CudaSparse(gpu.runtime(), gpu.math_settings());
    if (!library.ok()) {
      WEIR_LOG(WARNING).With("device", gpu.name()).With("reason", library.status().message())
          << "no library for sparse products: a kernel of its own computes them, in no order";
    }
    return std::make_shared<SharedSparseLibrary>(library.ok() ? *std::move(library) : nullptr);
  };
  ASSIGN_OR_RETURN(const auto shared,
                   gpu.resources()->LookupOrCreate<SharedSparseLibrary>("weir_gpu_libraries", "sparse products", make));
  return shared->library;
}

}  // namespace weir
