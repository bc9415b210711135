// Ops that turn bytes into tensors.
#include "graph/shapes/common_shapes.h"
#include "kernels/parsing/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::WithRanks;

absl::Status DecodeRawShape(InferenceContext& c) {
  c.set_output(0, c.Concatenate(c.input(0), c.Vector(-1)));
  return absl::OkStatus();
}

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

}  // namespace

absl::Status RegisterParsingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      Op("DecodeRaw")
          .Input("bytes: string")
          .Output("output: out_type")
          .Attr("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, "
                "bool, bfloat16}")
          .Attr("little_endian: bool = true")
          .Shape(DecodeRawShape)));
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
  return absl::OkStatus();
}

}  // namespace weir
