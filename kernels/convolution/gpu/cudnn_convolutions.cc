#include "kernels/convolution/gpu/cudnn_convolutions.h"

#include <utility>

#include "kernels/convolution/gpu/cudnn_graph_of.h"
#include "kernels/convolution/gpu/library_convolution.h"
#include "kernels/device/cudnn/cudnn_library.h"

namespace weir {
namespace {

using CudnnConvolutionLibrary = CudnnLibrary<ConvolutionProblem, GpuConvolutionBuffers>;

CudnnArguments ArgumentsOf(const ConvolutionProblem&, const GpuConvolutionBuffers& buffers) {
  return {.names = {kCudnnIn, kCudnnFilter, kCudnnOut}, .pointers = {buffers.in, buffers.filter, buffers.out}};
}

class CudnnConvolutions : public CudnnConvolutionLibrary {
 public:
  CudnnConvolutions(std::shared_ptr<const CudnnTarget> target, const GpuProperties& properties, std::string identity,
                    const GpuMathSettings& settings)
      : CudnnConvolutionLibrary(std::move(target), std::move(identity), settings, {&CudnnGraphOf, &ArgumentsOf}),
        compute_major_(properties.compute_major),
        allow_tf32_(settings.allow_tf32) {}

  // As TensorFlow: what runs on tensor cores in NHWC, and all else in NCHW.
  std::vector<bool> Layouts(const ConvolutionProblem& problem) const override {
    const bool has_tensor_cores = problem.dtype == DT_HALF ? compute_major_ >= 7 : compute_major_ >= 8;
    const bool uses_them = has_tensor_cores && (problem.dtype != DT_FLOAT || allow_tf32_);
    if (problem.channels_first || !uses_them) return {true, false};
    return {false, true};
  }

 private:
  const int compute_major_;
  const bool allow_tf32_;
};

}  // namespace

std::shared_ptr<ConvolutionLibrary> NewCudnnConvolutions(std::shared_ptr<const CudnnTarget> target,
                                                         const GpuProperties& properties, std::string identity,
                                                         const GpuMathSettings& settings) {
  return std::make_shared<CudnnConvolutions>(std::move(target), properties, std::move(identity), settings);
}

absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> CudaConvolutions(GpuRuntime& gpu, const GpuMathSettings& settings) {
  ASSIGN_OR_RETURN(CudnnOfDevice opened, OpenCudnn(gpu));
  return NewCudnnConvolutions(std::move(opened.target), gpu.properties(), std::move(opened.identity), settings);
}

}  // namespace weir
