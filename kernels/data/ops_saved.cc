// Datasets that are saved, loaded, compressed, asserted and flattened by index.
#include "graph/shape_inference.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

constexpr char kTypes[] = "output_types: list(type) >= 1";
constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
constexpr char kCompression[] = "compression: string = ''";
constexpr char kMetadata[] = "metadata: string = ''";
constexpr char kReader[] = "reader_func: func";
constexpr char kReaderArgs[] = "Treader_func_args: list(type) >= 0";
constexpr char kReaderInputs[] = "reader_func_other_args: Treader_func_args";
constexpr char kShard[] = "shard_func: func";
constexpr char kShardArgs[] = "Tshard_func_args: list(type) >= 0";
constexpr char kShardInputs[] = "shard_func_other_args: Tshard_func_args";

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

absl::Status RegisterSnapshotOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SaveDataset")
                                   .Input("input_dataset: variant")
                                   .Input("path: string")
                                   .Input(kShardInputs)
                                   .Attr(kCompression)
                                   .Attr(kShard)
                                   .Attr("use_shard_func: bool = true")
                                   .Attr(kShardArgs)
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("SaveDatasetV2")
                                   .Input("input_dataset: variant")
                                   .Input("path: string")
                                   .Input(kShardInputs)
                                   .Output("handle: variant")
                                   .Attr(kCompression)
                                   .Attr(kShard)
                                   .Attr("use_shard_func: bool = true")
                                   .Attr(kShardArgs)
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("LoadDataset")
                                   .Input("path: string")
                                   .Input(kReaderInputs)
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr(kCompression)
                                   .Attr(kReader)
                                   .Attr(kReaderArgs)
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("SnapshotDatasetV2")
                                   .Input("input_dataset: variant")
                                   .Input("path: string")
                                   .Input(kReaderInputs)
                                   .Input(kShardInputs)
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr(kCompression)
                                   .Attr("reader_prefix: string = ''")
                                   .Attr("writer_prefix: string = ''")
                                   .Attr("hash_valid: bool = false")
                                   .Attr("hash: int = 0")
                                   .Attr(kReader)
                                   .Attr(kShard)
                                   .Attr(kReaderArgs)
                                   .Attr(kShardArgs)
                                   .Attr(kMetadata)
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("SnapshotDatasetReader")
                                   .Input("shard_dir: string")
                                   .Input("start_index: int64")
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr(kCompression)
                                   .Attr("version: int")
                                   .Shape(shapes::Scalar)));
  return ops.Register(Op("SnapshotNestedDatasetReader")
                          .Input("inputs: N * variant")
                          .Output("handle: variant")
                          .Attr(kTypes)
                          .Attr(kShapes)
                          .Attr("N: int >= 1")
                          .Shape(shapes::Scalar));
}

}  // namespace

absl::Status RegisterSavedDatasetOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterSnapshotOps(ops));
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
  RETURN_IF_ERROR(ops.Register(
      Op("ComputeBatchSize").Input("input_dataset: variant").Output("batch_size: int64").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("WindowOp")
                                   .Input("inputs: Tinputs")
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr("Tinputs: list(type) >= 1")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("IndexFlatMapDataset")
                                   .Input("input_dataset: variant")
                                   .Input("map_func_other_args: Tmap_func_args")
                                   .Input("index_map_func_other_args: Tindex_map_func_args")
                                   .Input("output_cardinality: int64")
                                   .Output("handle: variant")
                                   .Attr("map_func: func")
                                   .Attr("index_map_func: func")
                                   .Attr("Tmap_func_args: list(type) >= 0")
                                   .Attr("Tindex_map_func_args: list(type) >= 0")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr(kMetadata)
                                   .Shape(shapes::Scalar)));
  return ops.Register(Op("WeightedFlatMapDataset")
                          .Input("input_datasets: N * variant")
                          .Input("weights: M * double")
                          .Output("handle: variant")
                          .Attr("N: int >= 2")
                          .Attr("M: int >= 2")
                          .Attr(kTypes)
                          .Attr(kShapes)
                          .Attr(kMetadata)
                          .Shape(shapes::Scalar));
}

}  // namespace weir
