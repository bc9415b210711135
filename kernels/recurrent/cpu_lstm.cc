// LSTM cells, one step or a whole block of steps, with their gradients.
// 16-bit elements are computed in float.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/device/wide.h"
#include "kernels/recurrent/args.h"
#include "kernels/recurrent/family.h"
#include "kernels/recurrent/gate_math.h"

namespace weir {
namespace {

using recurrent::Product;
using recurrent::Sigmoid;

// Also the positions of the gates in a row of 4 * cell numbers.
struct CellShape : LstmSizes {
  int i = 0, ci = 1, f = 2, o = 3;
};

// Pointers to one step's numbers, each [batch, cell].
struct Step {
  float *i, *cs, *f, *o, *ci, *co, *h;
};
struct Weights {
  const float *w, *wci, *wcf, *wco, *b;
};

void Forward(const CellShape& s, const LstmAttrs& attrs, const Weights& weights, const float* x, const float* cs_prev,
             const float* h_prev, const Step& out, std::vector<float>& xh, std::vector<float>& gates) {
  xh.resize(s.batch * s.rows());
  gates.resize(s.batch * 4 * s.cell);
  for (int64_t b = 0; b < s.batch; ++b) {
    std::copy_n(x + b * s.input, s.input, xh.data() + b * s.rows());
    std::copy_n(h_prev + b * s.cell, s.cell, xh.data() + b * s.rows() + s.input);
  }
  Product(xh.data(), false, weights.w, false, s.batch, 4 * s.cell, s.rows(), gates.data());
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t c = 0; c < s.cell; ++c) {
      const auto gate = [&](int g) { return gates[b * 4 * s.cell + g * s.cell + c] + weights.b[g * s.cell + c]; };
      const int64_t at = b * s.cell + c;
      float i = gate(s.i), f = gate(s.f) + attrs.forget_bias, o = gate(s.o);
      if (attrs.peephole) {
        i += cs_prev[at] * weights.wci[c];
        f += cs_prev[at] * weights.wcf[c];
      }
      i = Sigmoid(i);
      f = Sigmoid(f);
      const float ci = std::tanh(gate(s.ci));
      float cs = ci * i + cs_prev[at] * f;
      if (attrs.clip > 0) cs = std::min(std::max(cs, -attrs.clip), attrs.clip);
      if (attrs.peephole) o += cs * weights.wco[c];
      o = Sigmoid(o);
      const float co = std::tanh(cs);
      out.i[at] = i;
      out.cs[at] = cs;
      out.f[at] = f;
      out.o[at] = o;
      out.ci[at] = ci;
      out.co[at] = co;
      out.h[at] = o * co;
    }
  }
}

struct StepInputs {
  const float *cs_prev, *i, *cs, *f, *o, *ci, *co, *cs_grad, *h_grad;
};
struct PeepholeGrads {
  float *wci, *wcf, *wco;  // added to
};

// The gradient at the gates [batch, 4 * cell] and at the state before.
void Backward(const CellShape& s, bool peephole, const Weights& weights, const StepInputs& in, float* gates,
              float* cs_prev_grad, const PeepholeGrads& grads) {
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t c = 0; c < s.cell; ++c) {
      const int64_t at = b * s.cell + c;
      const float i = in.i[at], f = in.f[at], o = in.o[at], ci = in.ci[at], co = in.co[at], dh = in.h_grad[at];
      const float d_o = o * (1 - o) * dh * co;
      float dcs = (1 - co * co) * dh * o + in.cs_grad[at];
      if (peephole) dcs += d_o * weights.wco[c];
      const float dci = (1 - ci * ci) * dcs * i, df = f * (1 - f) * dcs * in.cs_prev[at], di = i * (1 - i) * dcs * ci;
      float* const row = gates + b * 4 * s.cell + c;
      row[s.i * s.cell] = di;
      row[s.ci * s.cell] = dci;
      row[s.f * s.cell] = df;
      row[s.o * s.cell] = d_o;
      cs_prev_grad[at] = dcs * f;
      if (!peephole) continue;
      cs_prev_grad[at] += di * weights.wci[c] + df * weights.wcf[c];
      grads.wci[c] += di * in.cs_prev[at];
      grads.wcf[c] += df * in.cs_prev[at];
      grads.wco[c] += d_o * in.cs[at];
    }
  }
}

// Widened inputs from `first` on: cs_prev, h_prev, w, wci, wcf, wco, b; x comes before them.
struct CellInputs {
  static absl::StatusOr<CellInputs> Read(OpKernelContext& ctx, int first, const LstmSizes& sizes, bool v2) {
    CellInputs in;
    static_cast<LstmSizes&>(in.shape) = sizes;
    if (v2) std::swap(in.shape.ci, in.shape.f);
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(in.tensors[i], Widen(ctx, ctx.input(first + i)));
    }
    return in;
  }
  const float* cs_prev() const { return tensors[0].data<float>(); }
  const float* h_prev() const { return tensors[1].data<float>(); }
  Weights weights() const {
    return {tensors[2].data<float>(), tensors[3].data<float>(), tensors[4].data<float>(), tensors[5].data<float>(),
            tensors[6].data<float>()};
  }
  CellShape shape;
  Tensor tensors[7];
};

class LstmBlockCellKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const LstmSizes sizes, LstmSizes::OfCell(ctx));
    RETURN_IF_ERROR(CheckPreviousState(ctx));
    ASSIGN_OR_RETURN(const Tensor x, Widen(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const CellInputs in, CellInputs::Read(ctx, 1, sizes, false));
    WideOutput out[7];
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(out[i], WideOutput::Allocate(ctx, i, in.tensors[0].shape()));
    }
    std::vector<float> xh, gates;
    Forward(in.shape, attrs_, in.weights(), x.data<float>(), in.cs_prev(), in.h_prev(),
            {out[0].data<float>(), out[1].data<float>(), out[2].data<float>(), out[3].data<float>(),
             out[4].data<float>(), out[5].data<float>(), out[6].data<float>()},
            xh, gates);
    for (WideOutput& output : out) RETURN_IF_ERROR(output.Finish(ctx));
    return absl::OkStatus();
  }

 private:
  LstmAttrs attrs_;
};

// Inputs: x, the cell's seven, i, cs, f, o, ci, co, cs_grad, h_grad.
class LstmBlockCellGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("use_peephole", &peephole_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const LstmSizes sizes, LstmSizes::OfCell(ctx));
    ASSIGN_OR_RETURN(const CellInputs in, CellInputs::Read(ctx, 1, sizes, false));
    RETURN_IF_ERROR(CheckCellStates(ctx, 8, {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"}, sizes.state()));
    Tensor step[8];
    for (int i = 0; i < 8; ++i) {
      ASSIGN_OR_RETURN(step[i], Widen(ctx, ctx.input(8 + i)));
    }
    const TensorShape shapes[5] = {in.tensors[0].shape(), TensorShape({in.shape.batch, 4 * in.shape.cell}),
                                   TensorShape({in.shape.cell}), TensorShape({in.shape.cell}),
                                   TensorShape({in.shape.cell})};
    WideOutput out[5];
    for (int i = 0; i < 5; ++i) {
      ASSIGN_OR_RETURN(out[i], WideOutput::Allocate(ctx, i, shapes[i]));
      std::fill_n(out[i].data<float>(), shapes[i].num_elements(), 0.0f);
    }
    const auto at = [&](int i) { return step[i].data<float>(); };
    Backward(in.shape, peephole_, in.weights(), {in.cs_prev(), at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)},
             out[1].data<float>(), out[0].data<float>(),
             {out[2].data<float>(), out[3].data<float>(), out[4].data<float>()});
    for (WideOutput& output : out) RETURN_IF_ERROR(output.Finish(ctx));
    return absl::OkStatus();
  }

 private:
  bool peephole_ = false;
};

// BlockLSTM and BlockLSTMV2: inputs seq_len_max, x [time, batch, input], then as a cell.
struct Block : LstmBlockSizes {
  static absl::StatusOr<Block> Read(OpKernelContext& ctx, bool v2) {
    Block block;
    ASSIGN_OR_RETURN(static_cast<LstmBlockSizes&>(block), LstmBlockSizes::Of(ctx));
    ASSIGN_OR_RETURN(block.x, Widen(ctx, ctx.input(1)));
    ASSIGN_OR_RETURN(block.in, CellInputs::Read(ctx, 2, block.step, v2));
    return block;
  }
  int64_t state() const { return step.batch * step.cell; }
  Tensor x;
  CellInputs in;
};

class BlockLstmKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    v2_ = ctx.op() == "BlockLSTMV2";
    return attrs_.Read(ctx);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Block block, Block::Read(ctx, v2_));
    WideOutput out[7];
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(out[i], WideOutput::Allocate(ctx, i, block.states));
      std::fill_n(out[i].data<float>(), block.states.num_elements(), 0.0f);
    }
    std::vector<float> xh, gates;
    for (int64_t t = 0; t < block.length && block.state() > 0; ++t) {
      const auto at = [&](int i, int64_t time) { return out[i].data<float>() + time * block.state(); };
      Forward(block.in.shape, attrs_, block.in.weights(),
              block.x.data<float>() + t * block.in.shape.batch * block.in.shape.input,
              t == 0 ? block.in.cs_prev() : at(1, t - 1), t == 0 ? block.in.h_prev() : at(6, t - 1),
              {at(0, t), at(1, t), at(2, t), at(3, t), at(4, t), at(5, t), at(6, t)}, xh, gates);
    }
    for (WideOutput& output : out) RETURN_IF_ERROR(output.Finish(ctx));
    return absl::OkStatus();
  }

 private:
  LstmAttrs attrs_;
  bool v2_ = false;
};

// Further inputs: i, cs, f, o, ci, co, h, cs_grad, h_grad.
class BlockLstmGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    v2_ = ctx.op() == "BlockLSTMGradV2";
    return ctx.GetAttr("use_peephole", &peephole_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Block block, Block::Read(ctx, v2_));
    const CellShape& s = block.in.shape;
    RETURN_IF_ERROR(CheckCellStates(ctx, 9, {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"}, block.states));
    Tensor step[9];
    for (int i = 0; i < 9; ++i) {
      ASSIGN_OR_RETURN(step[i], Widen(ctx, ctx.input(9 + i)));
    }
    // x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad
    const TensorShape state({s.batch, s.cell}), vector({s.cell});
    const TensorShape shapes[8] = {block.x.shape(), state,  state,  TensorShape({s.rows(), 4 * s.cell}),
                                   vector,          vector, vector, TensorShape({4 * s.cell})};
    WideOutput out[8];
    for (int i = 0; i < 8; ++i) {
      ASSIGN_OR_RETURN(out[i], WideOutput::Allocate(ctx, i, shapes[i]));
      std::fill_n(out[i].data<float>(), shapes[i].num_elements(), 0.0f);
    }
    std::vector<float> gates(s.batch * 4 * s.cell), xh(s.batch * s.rows()), xh_grad(s.batch * s.rows()),
        w_grad(s.rows() * 4 * s.cell), cs_grad(block.state()), h_grad(block.state()), cs_prev_grad(block.state());
    float* const carried_h = out[2].data<float>();
    float* const carried_cs = out[1].data<float>();
    for (int64_t t = block.length - 1; t >= 0 && block.state() > 0; --t) {
      const auto at = [&](int i, int64_t time) { return step[i].data<float>() + time * block.state(); };
      const float* const cs_prev = t == 0 ? block.in.cs_prev() : at(1, t - 1);
      const float* const h_prev = t == 0 ? block.in.h_prev() : at(6, t - 1);
      const float* const x = block.x.data<float>() + t * s.batch * s.input;
      for (int64_t j = 0; j < block.state(); ++j) {
        cs_grad[j] = at(7, t)[j] + carried_cs[j];
        h_grad[j] = at(8, t)[j] + carried_h[j];
      }
      Backward(s, peephole_, block.in.weights(),
               {cs_prev, at(0, t), at(1, t), at(2, t), at(3, t), at(4, t), at(5, t), cs_grad.data(), h_grad.data()},
               gates.data(), cs_prev_grad.data(), {out[4].data<float>(), out[5].data<float>(), out[6].data<float>()});
      Product(gates.data(), false, block.in.weights().w, true, s.batch, s.rows(), 4 * s.cell, xh_grad.data());
      for (int64_t b = 0; b < s.batch; ++b) {
        std::copy_n(xh_grad.data() + b * s.rows(), s.input, out[0].data<float>() + (t * s.batch + b) * s.input);
        std::copy_n(xh_grad.data() + b * s.rows() + s.input, s.cell, carried_h + b * s.cell);
        std::copy_n(x + b * s.input, s.input, xh.data() + b * s.rows());
        std::copy_n(h_prev + b * s.cell, s.cell, xh.data() + b * s.rows() + s.input);
        for (int64_t c = 0; c < 4 * s.cell; ++c) out[7].data<float>()[c] += gates[b * 4 * s.cell + c];
      }
      std::copy(cs_prev_grad.begin(), cs_prev_grad.end(), carried_cs);
      Product(xh.data(), true, gates.data(), false, s.rows(), 4 * s.cell, s.batch, w_grad.data());
      for (size_t j = 0; j < w_grad.size(); ++j) out[3].data<float>()[j] += w_grad[j];
    }
    for (WideOutput& output : out) RETURN_IF_ERROR(output.Finish(ctx));
    return absl::OkStatus();
  }

 private:
  bool peephole_ = false, v2_ = false;
};

}  // namespace

absl::Status RegisterRecurrentKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<LstmBlockCellKernel>(Kernel("LSTMBlockCell").Cpu()));
  RETURN_IF_ERROR(kernels.Register<LstmBlockCellGradKernel>(Kernel("LSTMBlockCellGrad").Cpu()));
  RETURN_IF_ERROR(kernels.Register<BlockLstmKernel>(Kernel("BlockLSTM").Cpu().HostMemory("seq_len_max")));
  RETURN_IF_ERROR(kernels.Register<BlockLstmKernel>(Kernel("BlockLSTMV2").Cpu().HostMemory("seq_len_max")));
  RETURN_IF_ERROR(kernels.Register<BlockLstmGradKernel>(Kernel("BlockLSTMGrad").Cpu().HostMemory("seq_len_max")));
  return kernels.Register<BlockLstmGradKernel>(Kernel("BlockLSTMGradV2").Cpu().HostMemory("seq_len_max"));
}

}  // namespace weir
