// Datasets that count, combine, shuffle and cache the elements of others.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::DatasetOp;
using dataset_ops::kInput;
using dataset_ops::kMetadata;
using dataset_ops::kShapes;
using dataset_ops::kStateful;
using dataset_ops::kTypes;
using dataset_ops::OpDescription;
using dataset_ops::RegisterDatasets;
using dataset_ops::RegisterDescribed;

const std::vector<DatasetOp>& Transformations() {
  static const std::vector<DatasetOp> list = {
      {"RepeatDataset", {kInput, "count: int64"}, {kTypes, kShapes, kMetadata}},
      {"SkipDataset", {kInput, "count: int64"}, {kTypes, kShapes, kMetadata}},
      {"TakeDataset", {kInput, "count: int64"}, {kTypes, kShapes, kMetadata}},
      {"ShardDataset",
       {kInput, "num_shards: int64", "index: int64"},
       {"require_non_empty: bool = false", kTypes, kShapes, kMetadata}},
      {"ConcatenateDataset", {kInput, "another_dataset: variant"}, {kTypes, kShapes, kMetadata}},
      {"ZipDataset", {"input_datasets: N * variant"}, {kTypes, kShapes, "N: int >= 1", kMetadata}},
      {"PrefetchDataset",
       {kInput, "buffer_size: int64"},
       {kTypes, kShapes, "slack_period: int = 0", "legacy_autotune: bool = true", "buffer_size_min: int = 0",
        kMetadata}},
      {"ShuffleDataset",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata}},
      {"ShuffleDatasetV2",
       {kInput, "buffer_size: int64", "seed_generator: resource"},
       {kTypes, kShapes, kMetadata},
       kStateful},
      {"ShuffleDatasetV3",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64", "seed_generator: resource"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata},
       kStateful},
      {"ShuffleAndRepeatDataset",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64", "count: int64"},
       {kTypes, kShapes, "reshuffle_each_iteration: bool = true", kMetadata}},
      {"ShuffleAndRepeatDatasetV2",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64", "count: int64", "seed_generator: resource"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata},
       kStateful},
      {"GlobalShuffleDataset",
       {kInput, "seed: int64", "seed2: int64", "seed_generator: resource"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata},
       kStateful},
      {"CacheDataset", {kInput, "filename: string"}, {kTypes, kShapes, kMetadata}},
      {"CacheDatasetV2", {kInput, "filename: string", "cache: resource"}, {kTypes, kShapes, kMetadata}, kStateful},
      {"AssertCardinalityDataset", {kInput, "cardinality: int64"}, {kTypes, kShapes}},
      {"DirectedInterleaveDataset",
       {"selector_input_dataset: variant", "data_input_datasets: N * variant"},
       {kTypes, kShapes, "N: int >= 1", "stop_on_empty_dataset: bool = false"}},
      {"ExperimentalDirectedInterleaveDataset",
       {"selector_input_dataset: variant", "data_input_datasets: N * variant"},
       {kTypes, kShapes, "N: int >= 1"}},
  };
  return list;
}

const std::vector<OpDescription>& TransformationScalars() {
  static const std::vector<OpDescription> list = {
      {"DummyMemoryCache", {}, {"handle: resource"}, {}, true},
      {"AnonymousMemoryCache", {}, {"handle: resource", "deleter: variant"}, {}, true},
      {"DeleteMemoryCache", {"handle: resource", "deleter: variant"}, {}, {}, true},
  };
  return list;
}

}  // namespace

absl::Status RegisterTransformationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDatasets(ops, Transformations()));
  RETURN_IF_ERROR(RegisterDescribed(ops, TransformationScalars(), shapes::Scalar));
  RETURN_IF_ERROR(ops.Register(Op("WeightedFlatMapDataset")
                                   .Input("input_datasets: N * variant")
                                   .Input("weights: M * double")
                                   .Output("handle: variant")
                                   .Attr("N: int >= 2")
                                   .Attr("M: int >= 2")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr(kMetadata)
                                   .Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
