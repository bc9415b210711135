// Connectionist temporal classification: the loss and two decoders.
#include "kernels/ctc/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

absl::Status CtcLossShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape inputs, c.WithRank(c.input(0), 3));
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRank(c.input(1), 2));
  ASSIGN_OR_RETURN(PartialTensorShape values, c.WithRank(c.input(2), 1));
  ASSIGN_OR_RETURN(PartialTensorShape lengths, c.WithRank(c.input(3), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(indices, 0), c.Dim(values, 0)).status());
  ASSIGN_OR_RETURN(const int64_t batch, c.MergeDim(c.Dim(inputs, 1), c.Dim(lengths, 0)));
  c.set_output(0, c.Vector(batch));
  c.set_output(1, c.Of({c.Dim(inputs, 0), batch, c.Dim(inputs, 2)}));
  return absl::OkStatus();
}

absl::Status GreedyDecoderShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape inputs, c.WithRank(c.input(0), 3));
  ASSIGN_OR_RETURN(PartialTensorShape lengths, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(const int64_t batch, c.MergeDim(c.Dim(inputs, 1), c.Dim(lengths, 0)));
  c.set_output(0, c.Matrix(kUnknown, 2));
  c.set_output(1, c.Vector(kUnknown));
  c.set_output(2, c.Vector(2));
  c.set_output(3, c.Matrix(batch, 1));
  return absl::OkStatus();
}

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

}  // namespace

absl::Status RegisterCtcOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("CTCLoss")
                                   .Input("inputs: T")
                                   .Input("labels_indices: int64")
                                   .Input("labels_values: int32")
                                   .Input("sequence_length: int32")
                                   .Output("loss: T")
                                   .Output("gradient: T")
                                   .Attr("preprocess_collapse_repeated: bool = false")
                                   .Attr("ctc_merge_repeated: bool = true")
                                   .Attr("ignore_longer_outputs_than_inputs: bool = false")
                                   .Attr("T: {float, double} = DT_FLOAT")
                                   .Shape(CtcLossShape)));
  RETURN_IF_ERROR(ops.Register(Op("CTCLossV2")
                                   .Input("inputs: float")
                                   .Input("labels_indices: int64")
                                   .Input("labels_values: int32")
                                   .Input("sequence_length: int32")
                                   .Output("loss: float")
                                   .Output("gradient: float")
                                   .Attr("preprocess_collapse_repeated: bool = false")
                                   .Attr("ctc_merge_repeated: bool = true")
                                   .Attr("ignore_longer_outputs_than_inputs: bool = false")
                                   .Shape(CtcLossShape)));
  RETURN_IF_ERROR(ops.Register(Op("CTCGreedyDecoder")
                                   .Input("inputs: T")
                                   .Input("sequence_length: int32")
                                   .Output("decoded_indices: int64")
                                   .Output("decoded_values: int64")
                                   .Output("decoded_shape: int64")
                                   .Output("log_probability: T")
                                   .Attr("merge_repeated: bool = false")
                                   .Attr("blank_index: int = -1")
                                   .Attr("T: {float, double} = DT_FLOAT")
                                   .Shape(GreedyDecoderShape)));
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
  return absl::OkStatus();
}

}  // namespace weir
