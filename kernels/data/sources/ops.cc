// Datasets made from tensors, files, queries and functions.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::DatasetOp;
using dataset_ops::kComponents;
using dataset_ops::kMetadata;
using dataset_ops::kShapes;
using dataset_ops::kStateful;
using dataset_ops::kTypes;
using dataset_ops::RegisterDatasets;

const std::vector<DatasetOp>& DatasetSources() {
  static const std::vector<DatasetOp> list = {
      {"RangeDataset",
       {"start: int64", "stop: int64", "step: int64"},
       {kTypes, kShapes, kMetadata, "replicate_on_split: bool = false"},
       kStateful},
      {"TensorDataset", {"components: Toutput_types"}, {kComponents, kShapes, kMetadata}, kStateful},
      {"TensorSliceDataset",
       {"components: Toutput_types"},
       {kComponents, kShapes, "is_files: bool = false", kMetadata, "replicate_on_split: bool = false"},
       kStateful},
      {"SparseTensorSliceDataset",
       {"indices: int64", "values: Tvalues", "dense_shape: int64"},
       {"Tvalues: type"},
       kStateful},
      {"RandomDataset", {"seed: int64", "seed2: int64"}, {kTypes, kShapes, kMetadata}, kStateful},
      {"RandomDatasetV2",
       {"seed: int64", "seed2: int64", "seed_generator: resource"},
       {"rerandomize_each_iteration: bool = false", kTypes, kShapes, kMetadata},
       kStateful},
      {"ExperimentalRandomDataset", {"seed: int64", "seed2: int64"}, {kTypes, kShapes}, kStateful},
      {"TFRecordDataset",
       {"filenames: string", "compression_type: string", "buffer_size: int64"},
       {kMetadata},
       kStateful},
      {"TFRecordDatasetV2",
       {"filenames: string", "compression_type: string", "buffer_size: int64", "byte_offsets: int64"},
       {kMetadata},
       kStateful},
      {"TextLineDataset",
       {"filenames: string", "compression_type: string", "buffer_size: int64"},
       {kMetadata},
       kStateful},
      {"FixedLengthRecordDataset",
       {"filenames: string", "header_bytes: int64", "record_bytes: int64", "footer_bytes: int64", "buffer_size: int64"},
       {kMetadata},
       kStateful},
      {"FixedLengthRecordDatasetV2",
       {"filenames: string", "header_bytes: int64", "record_bytes: int64", "footer_bytes: int64", "buffer_size: int64",
        "compression_type: string"},
       {kMetadata},
       kStateful},
      {"MatchingFilesDataset", {"patterns: string"}, {}, kStateful},
      {"ExperimentalMatchingFilesDataset", {"patterns: string"}, {}, kStateful},
      {"GeneratorDataset",
       {"init_func_other_args: Tinit_func_args", "next_func_other_args: Tnext_func_args",
        "finalize_func_other_args: Tfinalize_func_args"},
       {"init_func: func", "next_func: func", "finalize_func: func", "Tinit_func_args: list(type) >= 0",
        "Tnext_func_args: list(type) >= 0", "Tfinalize_func_args: list(type) >= 0", kTypes, kShapes, kMetadata},
       kStateful},
      {"ListDataset",
       {"tensors: Tinput_types"},
       {"Tinput_types: list(type) >= 1", kTypes, kShapes, kMetadata},
       kStateful},
  };
  return list;
}

}  // namespace

absl::Status RegisterDatasetSourceOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDatasets(ops, DatasetSources()));
  RETURN_IF_ERROR(ops.Register(Op("LoadDataset")
                                   .Input("path: string")
                                   .Input("reader_func_other_args: Treader_func_args")
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr("compression: string = ''")
                                   .Attr("reader_func: func")
                                   .Attr("Treader_func_args: list(type) >= 0")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"SqlDataset", "ExperimentalSqlDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("driver_name: string")
                                     .Input("data_source_name: string")
                                     .Input("query: string")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  for (const char* name : {"CSVDataset", "ExperimentalCSVDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("filenames: string")
                                     .Input("compression_type: string")
                                     .Input("buffer_size: int64")
                                     .Input("header: bool")
                                     .Input("field_delim: string")
                                     .Input("use_quote_delim: bool")
                                     .Input("na_value: string")
                                     .Input("select_cols: int64")
                                     .Input("record_defaults: output_types")
                                     .Output("handle: variant")
                                     .Attr("output_types: list({float, double, int32, int64, string}) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("CSVDatasetV2")
                                   .Input("filenames: string")
                                   .Input("compression_type: string")
                                   .Input("buffer_size: int64")
                                   .Input("header: bool")
                                   .Input("field_delim: string")
                                   .Input("use_quote_delim: bool")
                                   .Input("na_value: string")
                                   .Input("select_cols: int64")
                                   .Input("record_defaults: output_types")
                                   .Input("exclude_cols: int64")
                                   .Output("handle: variant")
                                   .Attr("output_types: list({float, double, int32, int64, string}) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
