#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cuda_status.h"
#include "core/cuda/cuda_stream.h"
#include "kernels/fusion/fused_args.h"
#include "kernels/fusion/fused_source.h"
#include "kernels/fusion/kernel_compiler.h"
#include "kernels/fusion/nvrtc_compiler.h"

namespace weir {
namespace {

constexpr long long kMaxBlocks = 8192;  // beyond, each takes several places

class CudaCompiler : public KernelCompiler {
 public:
  CudaCompiler(NvrtcCompiler compiler, int ordinal) : compiler_(std::move(compiler)), ordinal_(ordinal) {}

  const std::string& identity() const override { return compiler_.identity(); }
  absl::StatusOr<std::string> Compile(const std::string& source) override { return compiler_.Compile(source); }

  absl::StatusOr<std::shared_ptr<const void>> Load(const std::string& code) override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    cudaLibrary_t library = nullptr;
    RETURN_IF_CUDA_ERROR(cudaLibraryLoadData(&library, code.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                         "loading a fused kernel");
    const std::shared_ptr<void> loaded(library,
                                       [](void* unload) { cudaLibraryUnload(static_cast<cudaLibrary_t>(unload)); });
    cudaKernel_t kernel = nullptr;
    RETURN_IF_CUDA_ERROR(cudaLibraryGetKernel(&kernel, library, kFusedKernelName), "finding a fused kernel");
    return std::shared_ptr<const void>(loaded, kernel);
  }

 private:
  const NvrtcCompiler compiler_;
  const int ordinal_;
};

int Launch(void* stream, const void* raw) {
  FusedArgs args = *static_cast<const FusedArgs*>(raw);
  // A block for each reduction, a thread for each element.
  const long long blocks = args.length > 1 ? args.count : (args.count + kFusedThreads - 1) / kFusedThreads;
  void* parameters[] = {&args};
  return static_cast<int>(cudaLaunchKernel(args.function, dim3(static_cast<unsigned>(std::min(blocks, kMaxBlocks))),
                                           dim3(kFusedThreads), parameters, 0, static_cast<cudaStream_t>(stream)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<KernelCompiler>> CudaKernelCompiler(GpuRuntime& gpu) {
  const std::optional<int> ordinal = CudaOrdinalOf(gpu);
  if (!ordinal.has_value()) return errors::Unavailable(gpu.properties().name, " is no GPU of CUDA");
  const GpuProperties& device = gpu.properties();
  ASSIGN_OR_RETURN(NvrtcCompiler compiler, NvrtcCompiler::Create(device.compute_major * 10 + device.compute_minor));
  return std::make_shared<CudaCompiler>(std::move(compiler), *ordinal);
}

FusedLaunch CudaFusedLaunch() { return &Launch; }

}  // namespace weir
