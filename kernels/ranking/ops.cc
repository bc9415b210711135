// Searches: beams over labels, the best k, records in random order.
#include "graph/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

absl::Status BeamSearchShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape inputs, c.WithRank(c.input(0), 3));
  ASSIGN_OR_RETURN(PartialTensorShape lengths, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(const int64_t batch, c.MergeDim(c.Dim(inputs, 1), c.Dim(lengths, 0)));
  int64_t paths;
  RETURN_IF_ERROR(c.GetAttr("top_paths", &paths));
  for (int i = 0; i < paths; ++i) {
    c.set_output(i, c.Matrix(kUnknown, 2));
    c.set_output(static_cast<int>(paths) + i, c.Vector(kUnknown));
    c.set_output(static_cast<int>(2 * paths) + i, c.Vector(2));
  }
  c.set_output(static_cast<int>(3 * paths), c.Matrix(batch, paths));
  return absl::OkStatus();
}

absl::Status ApproxTopKShape(InferenceContext& c) {
  int64_t k, axis;
  bool aggregate;
  RETURN_IF_ERROR(c.GetAttr("k", &k));
  RETURN_IF_ERROR(c.GetAttr("reduction_dimension", &axis));
  RETURN_IF_ERROR(c.GetAttr("aggregate_to_topk", &aggregate));
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 1));
  if (input.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int front, op_shapes::FrontAxis(axis, input.dims()));
  if (c.Dim(input, front) != kUnknown && c.Dim(input, front) < k) {
    return errors::InvalidArgument("input must have last dimension >= k = ", k, " but was ", c.Dim(input, front));
  }
  DimVector dims = op_shapes::Dims(input);
  dims[front] = aggregate ? k : kUnknown;
  for (int i : {0, 1}) c.set_output(i, c.Of(dims));
  return absl::OkStatus();
}

absl::Status RecordInputShape(InferenceContext& c) {
  int64_t batch;
  RETURN_IF_ERROR(c.GetAttr("batch_size", &batch));
  c.set_output(0, c.Vector(batch));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSearchOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("CTCBeamSearchDecoder")
                                   .Input("inputs: T")
                                   .Input("sequence_length: int32")
                                   .Output("decoded_indices: top_paths * int64")
                                   .Output("decoded_values: top_paths * int64")
                                   .Output("decoded_shape: top_paths * int64")
                                   .Output("log_probability: T")
                                   .Attr("beam_width: int >= 1")
                                   .Attr("top_paths: int >= 1")
                                   .Attr("merge_repeated: bool = true")
                                   .Attr("T: {float, double} = DT_FLOAT")
                                   .Shape(BeamSearchShape)));
  RETURN_IF_ERROR(ops.Register(Op("ApproxTopK")
                                   .Input("input: T")
                                   .Output("values: T")
                                   .Output("indices: int32")
                                   .Attr("k: int >= 0")
                                   .Attr("reduction_dimension: int = -1")
                                   .Attr("recall_target: float = 0.949999988")
                                   .Attr("is_max_k: bool = true")
                                   .Attr("reduction_input_size_override: int = -1")
                                   .Attr("aggregate_to_topk: bool = true")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Shape(ApproxTopKShape)));
  RETURN_IF_ERROR(ops.Register(Op("RecordInput")
                                   .Output("records: string")
                                   .Attr("file_pattern: string")
                                   .Attr("file_random_seed: int = 301")
                                   .Attr("file_shuffle_shift_ratio: float = 0.0")
                                   .Attr("file_buffer_size: int = 10000")
                                   .Attr("file_parallelism: int = 16")
                                   .Attr("batch_size: int = 32")
                                   .Attr("compression_type: string = ''")
                                   .Stateful()
                                   .Shape(RecordInputShape)));
  return absl::OkStatus();
}

}  // namespace weir
