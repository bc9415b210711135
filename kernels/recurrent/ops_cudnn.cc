// Recurrent networks with their parameters in one buffer, in cuDNN's layout.
#include "kernels/device/op_shapes.h"
#include "kernels/recurrent/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// Version 2 adds a second reserve, in host memory; version 3 adds lengths, projections and time_major.
template <int kVersion>
absl::Status ForwardShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape x, c.WithRank(c.input(0), 3));
  ASSIGN_OR_RETURN(const PartialTensorShape h, c.WithRank(c.input(1), 3));
  RETURN_IF_ERROR(c.WithRank(c.input(3), 1).status());
  std::string direction, mode;
  RETURN_IF_ERROR(c.GetAttr("direction", &direction));
  RETURN_IF_ERROR(c.GetAttr("rnn_mode", &mode));
  PartialTensorShape cell = h;
  if (kVersion == 3) {
    RETURN_IF_ERROR(c.WithRank(c.input(4), 1).status());
    cell = c.input(2);
    if (mode == "lstm") RETURN_IF_ERROR(c.WithRank(cell, 3).status());
  }
  const int64_t units = c.Dim(h, 2);
  const int64_t out = units < 0 ? kUnknown : units * (direction == "bidirectional" ? 2 : 1);
  c.set_output(0, c.Of({c.Dim(x, 0), c.Dim(x, 1), out}));
  c.set_output(1, h);
  c.set_output(2, mode == "lstm" ? cell : c.Scalar());
  for (int i = 3; i < c.num_outputs(); ++i) c.set_output(i, PartialTensorShape());
  return absl::OkStatus();
}

absl::Status BackwardShape(InferenceContext& c) {
  for (int i = 0; i < 4; ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}

absl::Status SizeShape(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  c.set_output(0, c.Vector(1));
  return absl::OkStatus();
}

template <const char* kNumWeights>
absl::Status ToCanonicalShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(3), 1).status());
  int64_t weights = 0;
  RETURN_IF_ERROR(c.GetAttr(kNumWeights, &weights));
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, i < weights ? c.Matrix(kUnknown, kUnknown) : c.Vector(kUnknown));
  }
  return absl::OkStatus();
}

absl::Status ToParamsShape(InferenceContext& c) {
  c.set_output(0, c.Vector(kUnknown));
  return absl::OkStatus();
}

constexpr char kNumParams[] = "num_params", kNumParamsWeights[] = "num_params_weights";
constexpr char kTypes[] = "T: {bfloat16, half, float, double}";

Op WithModes(Op op) {
  return op.Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
      .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
      .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
      .Attr("dropout: float = 0.0")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0");
}

Op WithState(Op op) { return op.Input("input: T").Input("input_h: T").Input("input_c: T").Input("params: T"); }

Op Forward(const char* name, int version) {
  Op op = WithState(Op(name));
  if (version == 3) op.Input("sequence_lengths: int32");
  op.Output("output: T").Output("output_h: T").Output("output_c: T").Output("reserve_space: T");
  if (version >= 2) op.Output("host_reserved: int8");
  op = WithModes(op.Attr(kTypes));
  if (version == 3) op.Attr("num_proj: int = 0");
  op.Attr("is_training: bool = true");
  if (version == 3) op.Attr("time_major: bool = true");
  return op.Stateful();
}

Op Backward(const char* name, int version) {
  Op op = WithState(Op(name));
  if (version == 3) op.Input("sequence_lengths: int32");
  for (const char* input : {"output: T", "output_h: T", "output_c: T", "output_backprop: T", "output_h_backprop: T",
                            "output_c_backprop: T", "reserve_space: T"}) {
    op.Input(input);
  }
  if (version >= 2) op.Input("host_reserved: int8");
  op.Output("input_backprop: T").Output("input_h_backprop: T").Output("input_c_backprop: T");
  op = WithModes(op.Output("params_backprop: T").Attr(kTypes));
  if (version == 3) op.Attr("num_proj: int = 0").Attr("time_major: bool = true");
  return op.Stateful().Shape(BackwardShape);
}

Op WithSizes(const char* name) {
  return Op(name).Input("num_layers: int32").Input("num_units: int32").Input("input_size: int32");
}

absl::Status RegisterParameters(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      WithModes(WithSizes("CudnnRNNParamsSize").Output("params_size: S").Attr(kTypes).Attr("S: {int32, int64}"))
          .Attr("num_proj: int = 0")
          .Shape(SizeShape)));
  RETURN_IF_ERROR(ops.Register(WithModes(WithSizes("CudnnRNNParamsToCanonical")
                                             .Input("params: T")
                                             .Output("weights: num_params * T")
                                             .Output("biases: num_params * T")
                                             .Attr(kTypes)
                                             .Attr("num_params: int >= 1"))
                                   .Shape(ToCanonicalShape<kNumParams>)));
  RETURN_IF_ERROR(ops.Register(WithModes(WithSizes("CudnnRNNParamsToCanonicalV2")
                                             .Input("params: T")
                                             .Output("weights: num_params_weights * T")
                                             .Output("biases: num_params_biases * T")
                                             .Attr(kTypes)
                                             .Attr("num_params_weights: int >= 1")
                                             .Attr("num_params_biases: int >= 1"))
                                   .Attr("num_proj: int = 0")
                                   .Shape(ToCanonicalShape<kNumParamsWeights>)));
  RETURN_IF_ERROR(ops.Register(WithModes(WithSizes("CudnnRNNCanonicalToParams")
                                             .Input("weights: num_params * T")
                                             .Input("biases: num_params * T")
                                             .Output("params: T")
                                             .Attr(kTypes)
                                             .Attr("num_params: int >= 1"))
                                   .Shape(ToParamsShape)));
  return ops.Register(WithModes(WithSizes("CudnnRNNCanonicalToParamsV2")
                                    .Input("weights: num_params_weights * T")
                                    .Input("biases: num_params_biases * T")
                                    .Output("params: T")
                                    .Attr(kTypes)
                                    .Attr("num_params_weights: int >= 1")
                                    .Attr("num_params_biases: int >= 1"))
                          .Attr("num_proj: int = 0")
                          .Shape(ToParamsShape));
}

}  // namespace

absl::Status RegisterCudnnRnnOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Forward("CudnnRNN", 1).Shape(ForwardShape<1>)));
  RETURN_IF_ERROR(ops.Register(Forward("CudnnRNNV2", 2).Shape(ForwardShape<2>)));
  RETURN_IF_ERROR(ops.Register(Forward("CudnnRNNV3", 3).Shape(ForwardShape<3>)));
  RETURN_IF_ERROR(ops.Register(Backward("CudnnRNNBackprop", 1)));
  RETURN_IF_ERROR(ops.Register(Backward("CudnnRNNBackpropV2", 2)));
  RETURN_IF_ERROR(ops.Register(Backward("CudnnRNNBackpropV3", 3)));
  return RegisterParameters(ops);
}

}  // namespace weir
