// Parsing a batch of serialised examples outside of the ops that do so.
#pragma once

#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/parsing/features.h"

namespace weir {

// The values of a feature in all examples of a batch: indices, values and shape; one tensor; or values and splits.
struct ParsedBatch {
  struct Sparse {
    Tensor indices, values, shape;
  };
  struct Ragged {
    Tensor values, splits;
  };
  std::vector<Sparse> sparse;
  std::vector<Tensor> dense;
  std::vector<Ragged> ragged;
};

// `serialized` is a vector of strings.
absl::StatusOr<ParsedBatch> ParseExampleBatch(Device* device, const FeatureSpecs& specs, const Tensor& serialized);

}  // namespace weir
