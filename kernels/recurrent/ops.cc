// LSTM and GRU cells, and LSTM over whole sequences.
#include "kernels/device/op_shapes.h"
#include "kernels/recurrent/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// All outputs have the shape of the state.
template <int kState>
absl::Status CellShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 2).status());
  ASSIGN_OR_RETURN(PartialTensorShape state, c.WithRank(c.input(kState), 2));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, state);
  return absl::OkStatus();
}
absl::Status CellGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape state, c.WithRank(c.input(1), 2));
  const int64_t cell = c.Dim(state, 1);
  c.set_output(0, state);
  c.set_output(1, c.Matrix(c.Dim(state, 0), cell == kUnknown ? kUnknown : MultiplyWithoutOverflow(cell, 4)));
  for (int i = 2; i < 5; ++i) c.set_output(i, c.input(i + 2));
  return absl::OkStatus();
}
absl::Status GruGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape state, c.WithRank(c.input(1), 2));
  const int64_t cell = c.Dim(state, 1);
  c.set_output(0, std::move(x));
  c.set_output(3, c.Matrix(c.Dim(state, 0), cell == kUnknown ? kUnknown : MultiplyWithoutOverflow(cell, 2)));
  c.set_output(1, state);
  c.set_output(2, std::move(state));
  return absl::OkStatus();
}
absl::Status BlockShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(1), 3));
  ASSIGN_OR_RETURN(PartialTensorShape state, c.WithRank(c.input(2), 2));
  const PartialTensorShape states = c.Of({c.Dim(x, 0), c.Dim(x, 1), c.Dim(state, 1)});
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, states);
  return absl::OkStatus();
}
// The gradients have the shapes of inputs 1 to 8.
absl::Status BlockGradShape(InferenceContext& c) {
  for (int i = 0; i < 8; ++i) c.set_output(i, c.input(i + 1));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRecurrentOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("LSTMBlockCell")
                                   .Input("x: T")
                                   .Input("cs_prev: T")
                                   .Input("h_prev: T")
                                   .Input("w: T")
                                   .Input("wci: T")
                                   .Input("wcf: T")
                                   .Input("wco: T")
                                   .Input("b: T")
                                   .Output("i: T")
                                   .Output("cs: T")
                                   .Output("f: T")
                                   .Output("o: T")
                                   .Output("ci: T")
                                   .Output("co: T")
                                   .Output("h: T")
                                   .Attr("forget_bias: float = 1.0")
                                   .Attr("cell_clip: float = 3.0")
                                   .Attr("use_peephole: bool = false")
                                   .Attr("T: {half, float}")
                                   .Shape(CellShape<1>)));
  RETURN_IF_ERROR(ops.Register(Op("GRUBlockCell")
                                   .Input("x: T")
                                   .Input("h_prev: T")
                                   .Input("w_ru: T")
                                   .Input("w_c: T")
                                   .Input("b_ru: T")
                                   .Input("b_c: T")
                                   .Output("r: T")
                                   .Output("u: T")
                                   .Output("c: T")
                                   .Output("h: T")
                                   .Attr("T: {float}")
                                   .Shape(CellShape<1>)));
  RETURN_IF_ERROR(ops.Register(Op("GRUBlockCellGrad")
                                   .Input("x: T")
                                   .Input("h_prev: T")
                                   .Input("w_ru: T")
                                   .Input("w_c: T")
                                   .Input("b_ru: T")
                                   .Input("b_c: T")
                                   .Input("r: T")
                                   .Input("u: T")
                                   .Input("c: T")
                                   .Input("d_h: T")
                                   .Output("d_x: T")
                                   .Output("d_h_prev: T")
                                   .Output("d_c_bar: T")
                                   .Output("d_r_bar_u_bar: T")
                                   .Attr("T: {float}")
                                   .Shape(GruGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("LSTMBlockCellGrad")
                                   .Input("x: T")
                                   .Input("cs_prev: T")
                                   .Input("h_prev: T")
                                   .Input("w: T")
                                   .Input("wci: T")
                                   .Input("wcf: T")
                                   .Input("wco: T")
                                   .Input("b: T")
                                   .Input("i: T")
                                   .Input("cs: T")
                                   .Input("f: T")
                                   .Input("o: T")
                                   .Input("ci: T")
                                   .Input("co: T")
                                   .Input("cs_grad: T")
                                   .Input("h_grad: T")
                                   .Output("cs_prev_grad: T")
                                   .Output("dicfo: T")
                                   .Output("wci_grad: T")
                                   .Output("wcf_grad: T")
                                   .Output("wco_grad: T")
                                   .Attr("use_peephole: bool")
                                   .Attr("T: {half, float}")
                                   .Shape(CellGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("BlockLSTM")
                                   .Input("seq_len_max: int64")
                                   .Input("x: T")
                                   .Input("cs_prev: T")
                                   .Input("h_prev: T")
                                   .Input("w: T")
                                   .Input("wci: T")
                                   .Input("wcf: T")
                                   .Input("wco: T")
                                   .Input("b: T")
                                   .Output("i: T")
                                   .Output("cs: T")
                                   .Output("f: T")
                                   .Output("o: T")
                                   .Output("ci: T")
                                   .Output("co: T")
                                   .Output("h: T")
                                   .Attr("forget_bias: float = 1.0")
                                   .Attr("cell_clip: float = 3.0")
                                   .Attr("use_peephole: bool = false")
                                   .Attr("T: {half, float}")
                                   .Shape(BlockShape)));
  RETURN_IF_ERROR(ops.Register(Op("BlockLSTMV2")
                                   .Input("seq_len_max: int64")
                                   .Input("x: T")
                                   .Input("cs_prev: T")
                                   .Input("h_prev: T")
                                   .Input("w: T")
                                   .Input("wci: T")
                                   .Input("wcf: T")
                                   .Input("wco: T")
                                   .Input("b: T")
                                   .Output("i: T")
                                   .Output("cs: T")
                                   .Output("f: T")
                                   .Output("o: T")
                                   .Output("ci: T")
                                   .Output("co: T")
                                   .Output("h: T")
                                   .Attr("cell_clip: float = 0.0")
                                   .Attr("use_peephole: bool = false")
                                   .Attr("T: {half, float}")
                                   .Shape(BlockShape)));
  for (const char* name : {"BlockLSTMGrad", "BlockLSTMGradV2"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("seq_len_max: int64")
                                     .Input("x: T")
                                     .Input("cs_prev: T")
                                     .Input("h_prev: T")
                                     .Input("w: T")
                                     .Input("wci: T")
                                     .Input("wcf: T")
                                     .Input("wco: T")
                                     .Input("b: T")
                                     .Input("i: T")
                                     .Input("cs: T")
                                     .Input("f: T")
                                     .Input("o: T")
                                     .Input("ci: T")
                                     .Input("co: T")
                                     .Input("h: T")
                                     .Input("cs_grad: T")
                                     .Input("h_grad: T")
                                     .Output("x_grad: T")
                                     .Output("cs_prev_grad: T")
                                     .Output("h_prev_grad: T")
                                     .Output("w_grad: T")
                                     .Output("wci_grad: T")
                                     .Output("wcf_grad: T")
                                     .Output("wco_grad: T")
                                     .Output("b_grad: T")
                                     .Attr("use_peephole: bool")
                                     .Attr("T: {half, float}")
                                     .Shape(BlockGradShape)));
  }
  return absl::OkStatus();
}

}  // namespace weir
