// Recurrent layers: LSTM and GRU, step by step and over sequences.
#pragma once

#include "client/layers/layer.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

struct RecurrentOptions {
  // The bias of an LSTM's forget gate starts at 1 (Jozefowicz et al. 2015).
  bool unit_forget_bias = true;
  bool time_major = false;        // sequences are [steps, batch, …] rather than [batch, steps, …]
  Initializer recurrent_weights;  // orthogonal unless set
  LayerOptions layer = {};        // its kernel is Glorot-uniform unless set
};

// Of an LSTM: [batch, units] each.
struct LstmState {
  Output h, c;
};

// One step of an LSTM (Hochreiter and Schmidhuber 1997). Variables: kernel [inputs, 4 · units], recurrent_kernel
// [units, 4 · units], bias [4 · units]; the gates are input, forget, cell, output.
class LstmCell : public Layer {
 public:
  LstmCell(const OpScope& scope, int64_t inputs, int64_t units, RecurrentOptions options = {});
  // x: [batch, inputs].
  LstmState operator()(const OpScope& scope, const Output& x, const LstmState& state) const;
  LstmState operator()(const LocatedOutput& x, const LstmState& state) const {
    return (*this)(scope().WithLine(x.line()), x.output(), state);
  }
  // Zeros, for as many examples as x has.
  LstmState ZeroState(const OpScope& scope, const Output& x) const;
  int64_t units() const { return units_; }
  const ResourceVariable& kernel() const { return kernel_; }
  const ResourceVariable& recurrent_kernel() const { return recurrent_; }
  const ResourceVariable& bias() const { return bias_; }

 private:
  int64_t units_;
  ResourceVariable kernel_, recurrent_, bias_;
};

struct LstmResult {
  Output sequence;  // the output of each step: [batch, steps, units]
  LstmState state;  // after the last step; state.h is the last output
};

// An LSTM over whole sequences, as one op (BlockLSTMV2: float and half). Its variables are those of its cell,
// "lstm/lstm_cell/kernel" and so on.
class Lstm : public Layer {
 public:
  Lstm(const OpScope& scope, int64_t inputs, int64_t units, RecurrentOptions options = {});
  // x: [batch, steps, inputs]. `initial`: zeros if invalid. `lengths`, int32 [batch]: the steps of each example; an
  // example's outputs are zeros after them, and its state is that of its last step. Without it all steps count.
  LstmResult operator()(const OpScope& scope, const Output& x, const LstmState& initial = {},
                        const Output& lengths = {}) const;
  LstmResult operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }
  const LstmCell& cell() const { return cell_; }

 private:
  Output Bias(const Scope& scope) const;

  bool time_major_;
  LstmCell cell_;
};

// One step of a GRU (Cho et al. 2014), with the reset gate after the product as in Keras and cuDNN. Variables: kernel
// [inputs, 3 · units], recurrent_kernel [units, 3 · units], bias [2, 3 · units]; the gates are update, reset,
// candidate.
class GruCell : public Layer {
 public:
  GruCell(const OpScope& scope, int64_t inputs, int64_t units, RecurrentOptions options = {});
  // x: [batch, inputs], h: [batch, units].
  Output operator()(const OpScope& scope, const Output& x, const Output& h) const;
  Output operator()(const LocatedOutput& x, const Output& h) const {
    return (*this)(scope().WithLine(x.line()), x.output(), h);
  }
  Output ZeroState(const OpScope& scope, const Output& x) const;
  int64_t inputs() const { return inputs_; }
  int64_t units() const { return units_; }
  const ResourceVariable& kernel() const { return kernel_; }
  const ResourceVariable& recurrent_kernel() const { return recurrent_; }
  const ResourceVariable& bias() const { return bias_; }

 private:
  int64_t inputs_, units_;
  ResourceVariable kernel_, recurrent_, bias_;
};

struct GruResult {
  Output sequence;  // [batch, steps, units]
  Output state;     // after the last step
};

// A GRU over whole sequences, as one op (CudnnRNNV3, on CPUs and GPUs). Variables: "gru/gru_cell/kernel" and so on.
// Arguments are those of Lstm.
class Gru : public Layer {
 public:
  Gru(const OpScope& scope, int64_t inputs, int64_t units, RecurrentOptions options = {});
  GruResult operator()(const OpScope& scope, const Output& x, const Output& initial = {},
                       const Output& lengths = {}) const;
  GruResult operator()(const LocatedOutput& x) const { return (*this)(scope().WithLine(x.line()), x.output()); }
  const GruCell& cell() const { return cell_; }

 private:
  // All variables, in cuDNN's order.
  Output Parameters(const Scope& scope) const;

  bool time_major_;
  GruCell cell_;
};

}  // namespace layers
}  // namespace weir
