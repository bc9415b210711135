#include "kernels/strings/family.h"

namespace weir {

OpFamily StringsFamily() {
  return {
      .name = "strings",
      .ops = {RegisterStringOps, RegisterRegexOps, RegisterStringPartOps, RegisterUnicodeOps, RegisterIntegerHashOps},
      .kernels = {RegisterStringFormatKernels, RegisterStringHashKernels, RegisterNGramsKernels,
                  RegisterJoinStringsKernels, RegisterRegexMatchKernels, RegisterRegexReplaceKernels,
                  RegisterSplitKernels, RegisterStringKernels, RegisterSubstrKernels, RegisterUnicodeKernels},
      .gradients = {RegisterStringsNotDifferentiable},
  };
}

}  // namespace weir
