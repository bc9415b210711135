// Replaces *.cu in a build without the CUDA toolkit.

#include "kernels/device/gpu/bodies.h"
#include "kernels/device/gpu/machine_gpus.h"
#include "kernels/device/gpu/sort_args.h"
#include "kernels/elementwise/device.h"
#include "kernels/fusion/kernel_compiler.h"
#include "kernels/linalg/matmul/device.h"
#include "kernels/sparse/gpu/sparse_library.h"

namespace weir {

ElementwiseTable CudaElementwiseTable() { return {}; }
ElementwiseTable CudaIntegerTable() { return {}; }
ElementwiseTable CudaComplexTable() { return {}; }
BodyTable CudaActivationBodies() { return {}; }
BodyTable CudaArrayBodies() { return {}; }
BodyTable CudaAttentionBodies() { return {}; }
BodyTable CudaCastBodies() { return {}; }
BodyTable CudaConvolutionBodies() { return {}; }
BodyTable CudaFoldBodies() { return {}; }
BodyTable CudaImageBodies() { return {}; }
BodyTable CudaLrnBodies() { return {}; }
BodyTable CudaMoveBodies() { return {}; }
BodyTable CudaNormBodies() { return {}; }
BodyTable CudaOrderBodies() { return {}; }
BodyTable CudaPoolingBodies() { return {}; }
BodyTable CudaRandomBodies() { return {}; }
BodyTable CudaRankingBodies() { return {}; }
BodyTable CudaRecurrentBodies() { return {}; }
BodyTable CudaScatterBodies() { return {}; }
BodyTable CudaSoftmaxBodies() { return {}; }
BodyTable CudaUpdateBodies() { return {}; }
BodyTable CudaVolumeConvolutionBodies() { return {}; }
BodyTable CudaVolumePoolingBodies() { return {}; }
MatMulLibrary CudaMatMul() { return {}; }
SortLibrary CudaSort() { return {}; }
FusedLaunch CudaFusedLaunch() { return nullptr; }
absl::StatusOr<std::unique_ptr<SparseLibrary>> CudaSparse(GpuRuntime& gpu, const GpuMathSettings&) {
  return errors::Unavailable("this build has no cuSPARSE for ", gpu.properties().name);
}
absl::StatusOr<std::shared_ptr<KernelCompiler>> CudaKernelCompiler(GpuRuntime& gpu) {
  return errors::Unavailable("this build has no NVRTC for ", gpu.properties().name);
}

GpuPlatform MachineGpus() {
  return {.count = []() -> absl::StatusOr<int> { return errors::Unavailable("this build has no CUDA"); },
          .open = [](int id) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> {
            return errors::Unavailable("There is no GPU ", id, ": this build has no CUDA");
          }};
}

}  // namespace weir
