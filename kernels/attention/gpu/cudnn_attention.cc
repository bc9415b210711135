#include "kernels/attention/gpu/cudnn_attention.h"

#include <utility>

#include "kernels/attention/gpu/cudnn_attention_graph.h"
#include "kernels/device/cudnn/cudnn_library.h"

namespace weir {
namespace {

CudnnArguments ArgumentsOf(const AttentionProblem& problem, const AttentionBuffers& buffers) {
  CudnnArguments arguments{
      .names = {kCudnnQueries, kCudnnKeys, kCudnnValues, kCudnnMixed, kCudnnStatistics},
      .pointers = {buffers.q, buffers.k, buffers.v, buffers.out, buffers.row_statistics},
  };
  arguments.Add(kCudnnScale, &buffers.scale);
  if (problem.has_mask) arguments.Add(kCudnnMask, buffers.mask);
  if (problem.is_gradient) {
    arguments.Add(kCudnnGradient, buffers.gradient);
    arguments.Add(kCudnnQueriesGradient, buffers.dq);
    arguments.Add(kCudnnKeysGradient, buffers.dk);
    arguments.Add(kCudnnValuesGradient, buffers.dv);
    arguments.Add(kCudnnDots, buffers.dots);
    arguments.Add(kCudnnQueriesSum, buffers.queries_sum);
    arguments.Add(kCudnnOne, &buffers.one);
  }
  return arguments;
}

}  // namespace

std::shared_ptr<AttentionLibrary> NewCudnnAttention(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                                    const GpuMathSettings& settings) {
  return std::make_shared<CudnnLibrary<AttentionProblem, AttentionBuffers>>(
      std::move(target), std::move(identity), settings,
      CudnnForm<AttentionProblem, AttentionBuffers>{&CudnnAttentionGraphOf, &ArgumentsOf});
}

absl::StatusOr<std::shared_ptr<AttentionLibrary>> CudaAttention(GpuRuntime& gpu, const GpuMathSettings& settings) {
  ASSIGN_OR_RETURN(CudnnOfDevice opened, OpenCudnn(gpu));
  return NewCudnnAttention(std::move(opened.target), std::move(opened.identity), settings);
}

}  // namespace weir
