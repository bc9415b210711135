#include "kernels/summary/family.h"

namespace weir {

OpFamily SummaryFamily() {
  return {
      .name = "summary",
      .ops = {RegisterSummaryOps},
      .kernels = {RegisterMediaSummaryKernels, RegisterSummaryKernels, RegisterSummaryWriterKernels},
      .gradients = {RegisterSummaryNotDifferentiable},
  };
}

}  // namespace weir
