#include "client/layers/recurrent.h"
#include "client/layers/rows.h"
#include "client/layers/sequences.h"
#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

// Blocks z, r, h along dimension 0 as a vector r, z, h: Keras's order, and cuDNN's.
Output Reordered(const Scope& scope, const Output& blocks) {
  const OutputList parts = ops::Split(scope, Tensor::Scalar<int32_t>(0), blocks, 3);
  if (parts.size() != 3) return Output();
  const Output swapped = ops::ConcatV2(scope, {parts[1], parts[0], parts[2]}, Tensor::Scalar<int32_t>(0));
  return ops::Reshape(scope, swapped, Tensor::Vector<int32_t>({-1}));
}

}  // namespace

GruCell::GruCell(const OpScope& at, int64_t inputs, int64_t units, RecurrentOptions options)
    : Layer(at, "gru_cell"), inputs_(inputs), units_(units) {
  const LayerOptions& layer = options.layer;
  kernel_ = MakeVariable("kernel", TensorShape({inputs, 3 * units}), layer,
                         layer.weights ? layer.weights : initializers::GlorotUniform());
  recurrent_ = MakeVariable("recurrent_kernel", TensorShape({units, 3 * units}), layer,
                            options.recurrent_weights ? options.recurrent_weights : initializers::Orthogonal());
  if (layer.use_bias) bias_ = MakeVariable("bias", TensorShape({2, 3 * units}), layer, layer.bias);
}

Output GruCell::ZeroState(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  return ZerosFor(scope, Dim(scope, x, 0), units_, kernel_.dtype());
}

Output GruCell::operator()(const OpScope& at, const Output& x, const Output& h) const {
  const Scope scope = at.Located();
  Output from_x = ops::MatMul(scope, x, kernel_.value()), from_h = ops::MatMul(scope, h, recurrent_.value());
  if (bias_.valid()) {
    const OutputList biases = ops::Unpack(scope, bias_.value(), 2);
    if (biases.size() != 2) return Output();
    from_x = ops::BiasAdd(scope, from_x, biases[0]);
    from_h = ops::BiasAdd(scope, from_h, biases[1]);
  }
  const OutputList of_x = ops::Split(scope, Tensor::Scalar<int32_t>(1), from_x, 3);
  const OutputList of_h = ops::Split(scope, Tensor::Scalar<int32_t>(1), from_h, 3);
  if (of_x.size() != 3 || of_h.size() != 3) return Output();
  const Output update = ops::Sigmoid(scope, ops::AddV2(scope, of_x[0], of_h[0]));
  const Output reset = ops::Sigmoid(scope, ops::AddV2(scope, of_x[1], of_h[1]));
  const Output candidate = ops::Tanh(scope, ops::AddV2(scope, of_x[2], ops::Mul(scope, reset, of_h[2])));
  const Output kept = ops::Mul(scope, update, h);
  const Output added = ops::Mul(scope, ops::Sub(scope, scope.Constant(1.0, h.type()), update), candidate);
  return ops::AddV2(scope, kept, added);
}

Gru::Gru(const OpScope& at, int64_t inputs, int64_t units, RecurrentOptions options)
    : Layer(at, "gru"),
      time_major_(options.time_major),
      cell_(OpScope(scope().WithName("gru_cell"), at.line()), inputs, units, std::move(options)) {}

Output Gru::Parameters(const Scope& scope) const {
  const Tensor transposed = Tensor::Vector<int32_t>({1, 0});
  const Output kernel = Reordered(scope, ops::Transpose(scope, cell_.kernel().value(), transposed));
  const Output recurrent = Reordered(scope, ops::Transpose(scope, cell_.recurrent_kernel().value(), transposed));
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  if (!cell_.bias().valid()) {
    const Output none =
        ops::Fill(scope, Tensor::Vector<int64_t>({6 * cell_.units()}), scope.Constant(0.0, cell_.kernel().dtype()));
    return ops::ConcatV2(scope, {kernel, recurrent, none}, axis);
  }
  const OutputList biases = ops::Unpack(scope, cell_.bias().value(), 2);
  if (biases.size() != 2) return Output();
  return ops::ConcatV2(scope, {kernel, recurrent, Reordered(scope, biases[0]), Reordered(scope, biases[1])}, axis);
}

GruResult Gru::operator()(const OpScope& at, const Output& x, const Output& initial, const Output& lengths) const {
  const Scope scope = at.Located();
  const DataType dtype = cell_.kernel().dtype();
  const Output steps_first = time_major_ ? x : SwapSteps(scope, x);
  const Output steps = Dim(scope, steps_first, 0), batch = Dim(scope, steps_first, 1);
  const Output first = initial.valid() ? initial : ZerosFor(scope, batch, cell_.units(), dtype);
  const Output all_steps = ops::Fill(scope, ops::ExpandDims(scope, batch, Tensor::Scalar<int32_t>(0)), steps);
  const Output no_cells = scope.Constant(0.0, dtype);
  const Output parameters = Parameters(scope);
  const auto rnn = ops::CudnnRNNV3(scope, steps_first, ops::ExpandDims(scope, first, Tensor::Scalar<int32_t>(0)),
                                   no_cells, parameters, lengths.valid() ? lengths : all_steps, {.rnn_mode = "gru"});
  GruResult result;
  result.sequence = time_major_ ? rnn.output : SwapSteps(scope, rnn.output);
  result.state = ops::Squeeze(scope, rnn.output_h, {.squeeze_dims = {0}});
  return result;
}

}  // namespace layers
}  // namespace weir
