// A gated recurrent cell: r and u gate the state before, h = u h_prev + (1 - u) c for
// c = tanh([x, r h_prev] w_c + b_c).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/recurrent/args.h"
#include "kernels/recurrent/family.h"
#include "kernels/recurrent/gate_math.h"

namespace weir {
namespace {

using recurrent::Product;
using recurrent::Sigmoid;

// The inputs that the cell and its gradient share: x, h_prev, w_ru, w_c, b_ru, b_c.
struct Cell : GruSizes {
  static absl::StatusOr<Cell> Read(const OpKernelContext& ctx) {
    Cell cell;
    ASSIGN_OR_RETURN(static_cast<GruSizes&>(cell), GruSizes::Of(ctx));
    cell.x = ctx.input(0).data<float>();
    cell.h_prev = ctx.input(1).data<float>();
    cell.w_ru = ctx.input(2).data<float>();
    cell.w_c = ctx.input(3).data<float>();
    cell.b_ru = ctx.input(4).data<float>();
    cell.b_c = ctx.input(5).data<float>();
    return cell;
  }

  const float *x = nullptr, *h_prev = nullptr, *w_ru = nullptr, *w_c = nullptr, *b_ru = nullptr, *b_c = nullptr;
};

class GruBlockCellKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Cell cell, Cell::Read(ctx));
    const int64_t size = cell.cell, rows = cell.rows();
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, ctx.input(1).shape()));
      out[i] = output->data<float>();
    }
    std::vector<float> xh(cell.batch * rows), ru(cell.batch * 2 * size), c(cell.batch * size);
    const auto join = [&](const float* gate) {
      for (int64_t b = 0; b < cell.batch; ++b) {
        std::copy_n(cell.x + b * cell.input, cell.input, xh.data() + b * rows);
        for (int64_t j = 0; j < size; ++j) {
          const int64_t at = b * size + j;
          xh[b * rows + cell.input + j] = cell.h_prev[at] * (gate == nullptr ? 1 : gate[at]);
        }
      }
    };
    join(nullptr);
    Product(xh.data(), false, cell.w_ru, false, cell.batch, 2 * size, rows, ru.data());
    for (int64_t b = 0; b < cell.batch; ++b) {
      for (int64_t j = 0; j < size; ++j) {
        for (int gate : {0, 1}) {
          const int64_t at = gate * size + j;
          out[gate][b * size + j] = Sigmoid(ru[b * 2 * size + at] + cell.b_ru[at]);
        }
      }
    }
    join(out[0]);
    Product(xh.data(), false, cell.w_c, false, cell.batch, size, rows, c.data());
    for (int64_t at = 0; at < cell.batch * size; ++at) {
      out[2][at] = std::tanh(c[at] + cell.b_c[at % size]);
      out[3][at] = out[1][at] * cell.h_prev[at] + (1 - out[1][at]) * out[2][at];
    }
    return absl::OkStatus();
  }
};

// Further inputs: r, u, c, d_h. Gives d_x, d_h_prev, and what arrives before the gates' functions, d_c_bar and
// d_r_bar_u_bar, from which the gradients of weights and biases follow.
class GruBlockCellGradKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Cell cell, Cell::Read(ctx));
    const TensorShape& state = ctx.input(1).shape();
    RETURN_IF_ERROR(CheckCellStates(ctx, 6, {"r", "u", "c", "d_h"}, state));
    const TensorShape shapes[] = {ctx.input(0).shape(), state, state, TensorShape({cell.batch, 2 * cell.cell})};
    float* out[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, shapes[i]));
      out[i] = output->data<float>();
    }
    const auto value = [&](int i) { return ctx.input(i).data<float>(); };
    Differentiate(cell, {value(6), value(7), value(8), value(9)}, {out[0], out[1], out[2], out[3]});
    return absl::OkStatus();
  }

 private:
  struct Step {
    const float *r, *u, *c, *d_h;
  };
  struct Gradients {
    float *d_x, *d_h_prev, *d_c_bar, *d_r_bar_u_bar;
  };
  static void Differentiate(const Cell& cell, const Step& in, const Gradients& out) {
    const int64_t size = cell.cell, rows = cell.rows();
    for (int64_t at = 0; at < cell.batch * size; ++at) {
      out.d_c_bar[at] = in.d_h[at] * (1 - in.u[at]) * (1 - in.c[at] * in.c[at]);
    }
    // At [x, r h_prev] by the candidate, and at [x, h_prev] by the gates.
    std::vector<float> by_candidate(cell.batch * rows), by_gates(cell.batch * rows);
    Product(out.d_c_bar, false, cell.w_c, true, cell.batch, rows, size, by_candidate.data());
    for (int64_t b = 0; b < cell.batch; ++b) {
      for (int64_t j = 0; j < size; ++j) {
        const int64_t at = b * size + j;
        const float r = in.r[at], u = in.u[at], h = cell.h_prev[at];
        out.d_r_bar_u_bar[b * 2 * size + j] = by_candidate[b * rows + cell.input + j] * h * r * (1 - r);
        out.d_r_bar_u_bar[b * 2 * size + size + j] = in.d_h[at] * (h - in.c[at]) * u * (1 - u);
      }
    }
    Product(out.d_r_bar_u_bar, false, cell.w_ru, true, cell.batch, rows, 2 * size, by_gates.data());
    for (int64_t b = 0; b < cell.batch; ++b) {
      const float* const candidate = by_candidate.data() + b * rows;
      const float* const gates = by_gates.data() + b * rows;
      for (int64_t j = 0; j < cell.input; ++j) out.d_x[b * cell.input + j] = gates[j] + candidate[j];
      for (int64_t j = 0; j < size; ++j) {
        const int64_t at = b * size + j;
        out.d_h_prev[at] = gates[cell.input + j] + candidate[cell.input + j] * in.r[at] + in.d_h[at] * in.u[at];
      }
    }
  }
};

}  // namespace

absl::Status RegisterGatedRecurrentKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GruBlockCellKernel>(Kernel("GRUBlockCell").Cpu()));
  return kernels.Register<GruBlockCellGradKernel>(Kernel("GRUBlockCellGrad").Cpu());
}

}  // namespace weir
