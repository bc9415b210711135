#include "client/layers/recurrent.h"
#include "client/layers/rows.h"
#include "client/layers/sequences.h"
#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

// Zeros, but ones for the forget gate.
Initializer ForgetBias(int64_t units) {
  Tensor bias(DT_FLOAT, TensorShape({4 * units}));
  for (int64_t i = 0; i < 4 * units; ++i) bias.data<float>()[i] = i / units == 1 ? 1.0F : 0.0F;
  return [bias](const Scope& scope, const TensorShape&, DataType dtype) {
    return dtype == DT_FLOAT ? scope.Constant(bias) : ops::Cast(scope, scope.Constant(bias), dtype);
  };
}

}  // namespace

LstmCell::LstmCell(const OpScope& at, int64_t inputs, int64_t units, RecurrentOptions options)
    : Layer(at, "lstm_cell"), units_(units) {
  const LayerOptions& layer = options.layer;
  kernel_ = MakeVariable("kernel", TensorShape({inputs, 4 * units}), layer,
                         layer.weights ? layer.weights : initializers::GlorotUniform());
  recurrent_ = MakeVariable("recurrent_kernel", TensorShape({units, 4 * units}), layer,
                            options.recurrent_weights ? options.recurrent_weights : initializers::Orthogonal());
  if (!layer.use_bias) return;
  bias_ =
      MakeVariable("bias", TensorShape({4 * units}), layer, options.unit_forget_bias ? ForgetBias(units) : layer.bias);
}

LstmState LstmCell::ZeroState(const OpScope& at, const Output& x) const {
  const Output zeros = ZerosFor(at.Located(), Dim(at.Located(), x, 0), units_, kernel_.dtype());
  return {zeros, zeros};
}

LstmState LstmCell::operator()(const OpScope& at, const Output& x, const LstmState& state) const {
  const Scope scope = at.Located();
  Output sums =
      ops::AddV2(scope, ops::MatMul(scope, x, kernel_.value()), ops::MatMul(scope, state.h, recurrent_.value()));
  if (bias_.valid()) sums = ops::BiasAdd(scope, sums, bias_.value());
  const OutputList gates = ops::Split(scope, Tensor::Scalar<int32_t>(1), sums, 4);
  if (gates.size() != 4) return {};
  const Output forgotten = ops::Mul(scope, ops::Sigmoid(scope, gates[1]), state.c);
  const Output added = ops::Mul(scope, ops::Sigmoid(scope, gates[0]), ops::Tanh(scope, gates[2]));
  const Output c = ops::AddV2(scope, forgotten, added);
  return {ops::Mul(scope, ops::Sigmoid(scope, gates[3]), ops::Tanh(scope, c)), c};
}

Lstm::Lstm(const OpScope& at, int64_t inputs, int64_t units, RecurrentOptions options)
    : Layer(at, "lstm"),
      time_major_(options.time_major),
      cell_(OpScope(scope().WithName("lstm_cell"), at.line()), inputs, units, std::move(options)) {}

Output Lstm::Bias(const Scope& scope) const {
  if (cell_.bias().valid()) return cell_.bias().value();
  return ops::Fill(scope, Tensor::Vector<int64_t>({4 * cell_.units()}), scope.Constant(0.0, cell_.kernel().dtype()));
}

LstmResult Lstm::operator()(const OpScope& at, const Output& x, const LstmState& initial, const Output& lengths) const {
  const Scope scope = at.Located();
  const DataType dtype = cell_.kernel().dtype();
  const Output steps_first = time_major_ ? x : SwapSteps(scope, x);
  const Output zeros = ZerosFor(scope, Dim(scope, steps_first, 1), cell_.units(), dtype);
  const LstmState first = {initial.h.valid() ? initial.h : zeros, initial.c.valid() ? initial.c : zeros};
  const Output weights =
      ops::ConcatV2(scope, {cell_.kernel().value(), cell_.recurrent_kernel().value()}, Tensor::Scalar<int32_t>(0));
  const Output peephole =
      ops::Fill(scope, Tensor::Vector<int64_t>({cell_.units()}), scope.Constant(0.0, dtype));  // unused
  const Output steps = Dim(scope, steps_first, 0);
  const auto all = ops::BlockLSTMV2(scope, ops::Cast(scope, steps, DT_INT64), steps_first, first.c, first.h, weights,
                                    peephole, peephole, peephole, Bias(scope));
  LstmResult result;
  if (lengths.valid()) {
    const Output h = ZeroAfter(scope, all.h, lengths);
    result.sequence = time_major_ ? h : SwapSteps(scope, h);
    result.state = {StepOf(scope, all.h, lengths, first.h), StepOf(scope, all.cs, lengths, first.c)};
    return result;
  }
  const Output last = ops::Sub(scope, steps, 1);
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  result.sequence = time_major_ ? all.h : SwapSteps(scope, all.h);
  result.state = {ops::GatherV2(scope, all.h, last, axis), ops::GatherV2(scope, all.cs, last, axis)};
  return result;
}

}  // namespace layers
}  // namespace weir
