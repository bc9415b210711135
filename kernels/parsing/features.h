// Features of examples as tensors: what is wanted of each, and the tensors that a batch of records makes.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class Feature;
class FeatureList;
class FeatureLists;
class Features;
}  // namespace tensorflow

namespace weir {

struct FeatureSpec {
  std::string key;
  DataType type = DT_INVALID;  // float, int64 or string
};

// As many values as the shape has, or, where its first dimension is unknown, any number of rows.
struct DenseFeatureSpec : FeatureSpec {
  // Reads a shape and default value; `i` is their position, for errors.
  absl::Status Init(const PartialTensorShape& shape, const Tensor& initial, int i);

  PartialTensorShape shape;
  bool variable = false;
  int64_t stride = 1;  // values of a row; of the whole where the shape is fixed
  Tensor initial;      // without elements: the feature is required
};

struct RaggedFeatureSpec : FeatureSpec {
  DataType splits_type = DT_INT64;
};

struct FeatureSpecs {
  std::vector<FeatureSpec> sparse;
  std::vector<DenseFeatureSpec> dense;
  std::vector<RaggedFeatureSpec> ragged;
};

// Records side by side; a single one has no batch dimension.
struct RecordBatch {
  std::vector<const tensorflow::Features*> records;
  std::vector<std::string> names;  // empty: unknown
  bool batched = true;

  int64_t size() const { return static_cast<int64_t>(records.size()); }
  std::string name(int64_t i) const { return names.empty() ? "<unknown>" : names[i]; }
};

// Where the tensors go: the first output of each list.
struct FeatureOutputs {
  int sparse_indices = 0, sparse_values = 0, sparse_shapes = 0, dense_values = 0, ragged_values = 0, ragged_splits = 0;
};

absl::Status EmitFeatures(OpKernelContext& ctx, const FeatureSpecs& specs, const RecordBatch& batch,
                          const FeatureOutputs& outputs);

// The feature with that key that has values of some kind, else nullptr.
const tensorflow::Feature* FindFeature(const tensorflow::Features& features, const std::string& key);
// The type of its values.
DataType FeatureType(const tensorflow::Feature& feature);
int64_t FeatureSize(const tensorflow::Feature& feature);
// Copies its values to elements of `out`, of FeatureType, from `at` on.
void CopyFeature(const tensorflow::Feature& feature, Tensor* out, int64_t at);

}  // namespace weir
