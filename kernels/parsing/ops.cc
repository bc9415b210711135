// Ops that turn bytes into tensors.
#include "graph/common_shapes.h"
#include "kernels/parsing/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::WithRanks;

absl::Status DecodePaddedRawShape(InferenceContext& c) {
  DataType type;
  RETURN_IF_ERROR(c.GetAttr("out_type", &type));
  const Tensor* const length = c.input_tensor(1);
  int64_t width = kUnknown;
  if (length != nullptr && length->dims() == 0) {
    const int64_t bytes = length->scalar<int32_t>(), size = DataTypeSize(type);
    if (bytes < 0) return errors::InvalidArgument("`fixed_length` must be greater than 0, got ", bytes);
    if (bytes % size != 0) {
      return errors::InvalidArgument("`fixed_length` (", bytes, ") must be a multiple of the size of out_type (", size,
                                     ")");
    }
    width = bytes / size;
  }
  c.set_output(0, c.Concatenate(c.input(0), c.Vector(width)));
  return absl::OkStatus();
}

absl::Status DecodeCsvShape(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialTensorShape initial, c.WithRankAtMost(c.input(i), 1));
    if (initial.dims() == 1 && c.Dim(initial, 0) > 1) {
      return errors::InvalidArgument("Shape of a default must be a length-0 or length-1 vector, or a scalar.");
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return absl::OkStatus();
}

absl::Status ParseTensorShape(InferenceContext& c) { return WithRanks(c, {0}); }

absl::Status EditDistanceShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1, 2, 1, 1}));
  const Tensor *const hypothesis = c.input_tensor(2), *const truth = c.input_tensor(5);
  if (hypothesis == nullptr || truth == nullptr) return absl::OkStatus();
  if (hypothesis->NumElements() != truth->NumElements()) {
    return errors::InvalidArgument("Num elements of hypothesis_shape does not match truth_shape: ",
                                   hypothesis->NumElements(), " vs. ", truth->NumElements());
  }
  DimVector dims;
  for (int64_t i = 0; i + 1 < truth->NumElements(); ++i) {
    dims.push_back(std::max(hypothesis->data<int64_t>()[i], truth->data<int64_t>()[i]));
  }
  return op_shapes::SetOutput(c, 0, dims);
}

absl::Status LoadAndRemapMatrixShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0, 0, 1, 1, 1}));
  int64_t rows, columns;
  RETURN_IF_ERROR(c.GetAttr("num_rows", &rows));
  RETURN_IF_ERROR(c.GetAttr("num_cols", &columns));
  c.set_output(0, c.Matrix(rows, columns));
  return absl::OkStatus();
}

absl::Status GenerateVocabRemappingShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0, 0}));
  int64_t words;
  RETURN_IF_ERROR(c.GetAttr("num_new_vocab", &words));
  c.set_output(0, c.Vector(words));
  c.set_output(1, c.Scalar());
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterParsingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(
      ops.Register(Op("DecodePaddedRaw")
                       .Input("input_bytes: string")
                       .Input("fixed_length: int32")
                       .Output("output: out_type")
                       .Attr("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}")
                       .Attr("little_endian: bool = true")
                       .Shape(DecodePaddedRawShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeCompressed")
                                   .Input("bytes: string")
                                   .Output("output: string")
                                   .Attr("compression_type: string = ''")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("ParseTensor")
                                   .Input("serialized: string")
                                   .Output("output: out_type")
                                   .Attr("out_type: type")
                                   .Shape(ParseTensorShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("SerializeTensor").Input("tensor: T").Output("serialized: string").Attr("T: type").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeCSV")
                                   .Input("records: string")
                                   .Input("record_defaults: OUT_TYPE")
                                   .Output("output: OUT_TYPE")
                                   .Attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
                                   .Attr("field_delim: string = ','")
                                   .Attr("use_quote_delim: bool = true")
                                   .Attr("na_value: string = ''")
                                   .Attr("select_cols: list(int) = []")
                                   .Shape(DecodeCsvShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeJSONExample")
                                   .Input("json_examples: string")
                                   .Output("binary_examples: string")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("EditDistance")
                                   .Input("hypothesis_indices: int64")
                                   .Input("hypothesis_values: T")
                                   .Input("hypothesis_shape: int64")
                                   .Input("truth_indices: int64")
                                   .Input("truth_values: T")
                                   .Input("truth_shape: int64")
                                   .Output("output: float")
                                   .Attr("normalize: bool = true")
                                   .Attr("T: type")
                                   .Shape(EditDistanceShape)));
  RETURN_IF_ERROR(ops.Register(Op("LoadAndRemapMatrix")
                                   .Input("ckpt_path: string")
                                   .Input("old_tensor_name: string")
                                   .Input("row_remapping: int64")
                                   .Input("col_remapping: int64")
                                   .Input("initializing_values: float")
                                   .Output("output_matrix: float")
                                   .Attr("num_rows: int >= 0")
                                   .Attr("num_cols: int >= 1")
                                   .Attr("max_rows_in_memory: int = -1")
                                   .Stateful()
                                   .Shape(LoadAndRemapMatrixShape)));
  return ops.Register(Op("GenerateVocabRemapping")
                          .Input("new_vocab_file: string")
                          .Input("old_vocab_file: string")
                          .Output("remapping: int64")
                          .Output("num_present: int32")
                          .Attr("new_vocab_offset: int >= 0")
                          .Attr("num_new_vocab: int >= 0")
                          .Attr("old_vocab_size: int >= -1 = -1")
                          .Shape(GenerateVocabRemappingShape));
}

}  // namespace weir
