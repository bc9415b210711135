#include "kernels/convolution/gpu/convolution_library.h"
#include "kernels/device/plans/library_planner_definitions.h"

namespace weir {

template class LibraryPlanner<ConvolutionProblem, GpuConvolutionBuffers>;
template absl::StatusOr<std::shared_ptr<ConvolutionPlanner>> PlannerOf(
    GpuDevice&, bool, absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> (*)(GpuRuntime&, const GpuMathSettings&));

}  // namespace weir
