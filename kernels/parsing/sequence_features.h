// Feature lists of sequence examples as tensors.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/parsing/features.h"

namespace weir {

// Each step has as many values as the shape.
struct DenseListSpec : FeatureSpec {
  TensorShape shape;
  bool may_be_missing = false;  // no steps then
};

struct FeatureListSpecs {
  std::vector<FeatureSpec> sparse;
  std::vector<DenseListSpec> dense;
  std::vector<RaggedFeatureSpec> ragged;
};

// Feature lists of records side by side; a single one has no batch dimension.
struct SequenceBatch {
  std::vector<const tensorflow::FeatureLists*> records;
  std::vector<std::string> names;
  bool batched = true;

  int64_t size() const { return static_cast<int64_t>(records.size()); }
  std::string name(int64_t i) const { return names.empty() ? "<unknown>" : names[i]; }
};

// Where the tensors go: the first output of each list; -1: there is none.
struct FeatureListOutputs {
  int sparse_indices = 0, sparse_values = 0, sparse_shapes = 0, dense_values = 0, dense_lengths = -1, ragged_values = 0,
      ragged_outer_splits = 0, ragged_inner_splits = 0;
};

absl::Status EmitFeatureLists(OpKernelContext& ctx, const FeatureListSpecs& specs, const SequenceBatch& batch,
                              const FeatureListOutputs& outputs);

}  // namespace weir
