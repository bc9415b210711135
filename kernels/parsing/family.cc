#include "kernels/parsing/family.h"

namespace weir {

OpFamily ParsingFamily() {
  return {
      .name = "parsing",
      .ops = {RegisterParsingOps, RegisterExampleOps, RegisterProtoOps},
      .kernels = {RegisterDecodeBytesKernels, RegisterDecodeCsvKernels, RegisterDecodeJsonKernels,
                  RegisterDecodeProtoKernels, RegisterEncodeProtoKernels, RegisterExampleKernels,
                  RegisterSequenceExampleKernels},
      .gradients = {RegisterParsingNotDifferentiable},
  };
}

}  // namespace weir
