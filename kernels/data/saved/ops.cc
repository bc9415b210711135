// Datasets saved to files, and snapshots.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::kMetadata;
using dataset_ops::kShapes;
using dataset_ops::kTypes;

constexpr char kCompression[] = "compression: string = ''";
constexpr char kReader[] = "reader_func: func";
constexpr char kReaderArgs[] = "Treader_func_args: list(type) >= 0";
constexpr char kReaderInputs[] = "reader_func_other_args: Treader_func_args";
constexpr char kShard[] = "shard_func: func";
constexpr char kShardArgs[] = "Tshard_func_args: list(type) >= 0";
constexpr char kShardInputs[] = "shard_func_other_args: Tshard_func_args";

}  // namespace

absl::Status RegisterSavedDatasetOps(OpRegistry& ops) {
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
  RETURN_IF_ERROR(ops.Register(Op("SnapshotNestedDatasetReader")
                                   .Input("inputs: N * variant")
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr("N: int >= 1")
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"DatasetToTFRecord", "ExperimentalDatasetToTFRecord"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .MayBlock()
                                     .Input("input_dataset: variant")
                                     .Input("filename: string")
                                     .Input("compression_type: string")
                                     .Stateful()
                                     .Shape(shapes::NoOutputs)));
  }
  return absl::OkStatus();
}

}  // namespace weir
