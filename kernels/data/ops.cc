// Datasets as a whole: consumed, sharded, serialised, compressed and compared.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::ElementShape;
using dataset_ops::kArguments;
using dataset_ops::kFunction;
using dataset_ops::kInput;
using dataset_ops::kMayBlock;
using dataset_ops::kMetadata;
using dataset_ops::kOthers;
using dataset_ops::kShapes;
using dataset_ops::kStateful;
using dataset_ops::kTypes;
using dataset_ops::OpDescription;
using dataset_ops::RegisterDescribed;

const std::vector<OpDescription>& DatasetElements() {
  static const std::vector<OpDescription> list = {
      {"GetElementAtIndex",
       {"dataset: variant", "index: int64"},
       {"components: output_types"},
       {kTypes, kShapes},
       /*stateful=*/false,
       kMayBlock},
      {"ReduceDataset",
       {kInput, "initial_state: Tstate", kOthers},
       {"components: output_types"},
       {kFunction, "Tstate: list(type) >= 1", kArguments, kTypes, kShapes, "use_inter_op_parallelism: bool = true",
        kMetadata},
       true},
      {"DatasetToSingleElement",
       {"dataset: variant"},
       {"components: output_types"},
       {kTypes, kShapes, kMetadata},
       kStateful,
       kMayBlock},
  };
  return list;
}

const std::vector<OpDescription>& DatasetScalars() {
  static const std::vector<OpDescription> list = {
      {"DatasetCardinality", {kInput}, {"cardinality: int64"}, {"cardinality_options: string = ''"}, false, kMayBlock},
      {"ExperimentalDatasetCardinality", {kInput}, {"cardinality: int64"}, {}, false, kMayBlock},
      {"DatasetToGraph",
       {kInput},
       {"graph: string"},
       {"stateful_whitelist: list(string) >= 0 = []", "allow_stateful: bool = false",
        "strip_device_assignment: bool = false"},
       false},
      {"DatasetToGraphV2",
       {kInput},
       {"graph: string"},
       {"external_state_policy: int = 0", "strip_device_assignment: bool = false"},
       false},
      {"InitializeTableFromDataset", {"table_handle: resource", "dataset: variant"}, {}, {}, kStateful, kMayBlock},
      {"DatasetFromGraph", {"graph_def: string"}, {"handle: variant"}, {}, /*stateful=*/false, kMayBlock},
      {"DummySeedGenerator", {}, {"handle: resource"}, {}, true},
      {"AnonymousSeedGenerator",
       {"seed: int64", "seed2: int64", "reshuffle: bool"},
       {"handle: resource", "deleter: variant"},
       {},
       true},
      {"AnonymousRandomSeedGenerator",
       {"seed: int64", "seed2: int64"},
       {"handle: resource", "deleter: variant"},
       {},
       true},
      {"DeleteSeedGenerator", {"handle: resource", "deleter: variant"}, {}, {}, true},
      {"DeleteRandomSeedGenerator", {"handle: resource", "deleter: variant"}, {}, {}, true},
  };
  return list;
}

absl::Status UncompressedShape(InferenceContext& c) {
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(),
                                   " vs. ", c.num_outputs());
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDatasetOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDescribed(ops, DatasetElements(), ElementShape));
  RETURN_IF_ERROR(RegisterDescribed(ops, DatasetScalars(), shapes::Scalar));
  RETURN_IF_ERROR(ops.Register(Op("AutoShardDataset")
                                   .Input("input_dataset: variant")
                                   .Input("num_workers: int64")
                                   .Input("index: int64")
                                   .Output("handle: variant")
                                   .Attr("auto_shard_policy: int = 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Attr("num_replicas: int = 0")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ExperimentalAutoShardDataset")
                                   .Input("input_dataset: variant")
                                   .Input("num_workers: int64")
                                   .Input("index: int64")
                                   .Output("handle: variant")
                                   .Attr("auto_shard_policy: int = 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"AssertNextDataset", "ExperimentalAssertNextDataset", "AssertPrevDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("transformations: string")
                                     .Output("handle: variant")
                                     .Attr(kTypes)
                                     .Attr(kShapes)
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("CompressElement")
                                   .Input("components: input_types")
                                   .Output("compressed: variant")
                                   .Attr("input_types: list(type) >= 1")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("UncompressElement")
                                   .Input("compressed: variant")
                                   .Output("components: output_types")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Shape(UncompressedShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("DatasetFingerprint").Input("input_dataset: variant").Output("fingerprint: uint64").Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
