// ResNet-50 (He et al. 2016), with the stride in a block's 3x3 convolution ("v1.5").
#pragma once

#include <vector>

#include "client/scope.h"

namespace weir::bench {

struct ResNetOptions {
  std::vector<int> blocks = {3, 4, 6, 3};  // per stage
  int64_t width = 64;                      // of the first stage; doubles with each further one
  int64_t classes = 1000;
};

struct ResNet {
  Output logits;                   // [batch, classes]
  std::vector<Operation> updates;  // of the moving averages; run with each step
};

// images: float [batch, height, width, 3].
ResNet BuildResNet(const Scope& scope, const ResNetOptions& options, const Output& images);

}  // namespace weir::bench
