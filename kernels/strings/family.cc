#include "kernels/strings/family.h"

namespace weir {

OpFamily StringsFamily() {
  return {
      .name = "strings",
      .ops = {RegisterStringOps, RegisterTextOps, RegisterTextTransformOps},
      .kernels = {RegisterStringFormatKernels, RegisterStringHashKernels, RegisterNGramsKernels,
                  RegisterJoinStringsKernels, RegisterRegexKernels, RegisterRegexReplaceKernels, RegisterSplitKernels,
                  RegisterStringKernels, RegisterSubstrKernels, RegisterUnicodeKernels},
      .gradients = {RegisterStringsNotDifferentiable},
  };
}

}  // namespace weir
