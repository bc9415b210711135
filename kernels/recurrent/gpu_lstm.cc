// LSTM cells, one step or a whole block of steps: matrix products, and one kernel for all gates of a step.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/recurrent/args.h"
#include "kernels/recurrent/cell_products.h"
#include "kernels/recurrent/device.h"
#include "kernels/recurrent/family.h"

namespace weir {
namespace {

absl::Status FillZeros(GpuStream& stream, const Tensor& tensor) {
  if (tensor.NumElements() == 0) return absl::OkStatus();
  return stream.Fill(tensor.raw_data(), 0, static_cast<size_t>(tensor.TotalBytes()));
}

// The cell's inputs: cs_prev, h_prev, w, wci, wcf, wco, b.
struct CellInputs {
  CellInputs(const OpKernelContext& ctx, int first, const LstmSizes& sizes)
      : cs_prev(ctx.input(first)),
        h_prev(ctx.input(first + 1)),
        w(CellProducts::Weights::Of(ctx.input(first + 2), sizes.input)),
        wci(ctx.input(first + 3)),
        wcf(ctx.input(first + 4)),
        wco(ctx.input(first + 5)),
        b(ctx.input(first + 6)) {}
  const Tensor &cs_prev, &h_prev;
  const CellProducts::Weights w;
  const Tensor &wci, &wcf, &wco, &b;
};

class LstmKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const bool has_v2_order = ctx.op() == "BlockLSTMV2" || ctx.op() == "BlockLSTMGradV2";
    forget_gate_ = has_v2_order ? 1 : 2;
    type_ = ctx.output_types()[0];
    RETURN_IF_ERROR(attrs_.Read(ctx));
    ASSIGN_OR_RETURN(step_, FindBody("LstmStep", type_));
    ASSIGN_OR_RETURN(grad_, FindBody("LstmGrad", type_));
    ASSIGN_OR_RETURN(peephole_, FindBody("LstmPeephole", type_));
    ASSIGN_OR_RETURN(sum_, FindBody("Sum", type_));
    return products_.Init(gpu(), type_);
  }

  // One step: `out` is i, cs, f, o, ci, co, h.
  absl::Status Step(const OpKernelContext& ctx, GpuStream& stream, const LstmSizes& sizes, const CellInputs& in,
                    const Tensor& from_input, const Tensor& cs_prev, const Tensor& h_prev,
                    absl::Span<const Tensor> out) const {
    ASSIGN_OR_RETURN(const Tensor from_state, products_.Forward(ctx, stream, h_prev, sizes.batch, in.w.of_state));
    std::vector<GpuAccess> accesses = {ReadOf(from_input), ReadOf(from_state), ReadOf(in.b),   ReadOf(in.wci),
                                       ReadOf(in.wcf),     ReadOf(in.wco),     ReadOf(cs_prev)};
    for (const Tensor& output : out) accesses.push_back(WriteOf(output));
    return stream.LaunchWith(step_,
                             LstmStepArgs{.from_input = from_input.raw_data(),
                                          .from_state = from_state.raw_data(),
                                          .bias = in.b.raw_data(),
                                          .wci = in.wci.raw_data(),
                                          .wcf = in.wcf.raw_data(),
                                          .wco = in.wco.raw_data(),
                                          .cs_prev = cs_prev.raw_data(),
                                          .i = out[0].raw_data(),
                                          .cs = out[1].raw_data(),
                                          .f = out[2].raw_data(),
                                          .o = out[3].raw_data(),
                                          .ci = out[4].raw_data(),
                                          .co = out[5].raw_data(),
                                          .h = out[6].raw_data(),
                                          .cell = sizes.cell,
                                          .forget = forget_gate_ * sizes.cell,
                                          .candidate = (3 - forget_gate_) * sizes.cell,
                                          .forget_bias = attrs_.forget_bias,
                                          .clip = attrs_.clip,
                                          .peephole = attrs_.peephole,
                                          .count = sizes.batch * sizes.cell},
                             accesses);
  }

  // A step's gradient. `step` is i, cs, f, o, ci, co, and what arrives at cs and at h; `later_h` is null behind the
  // last step, and else cs_prev_grad has what the step behind gave.
  absl::Status StepGrad(GpuStream& stream, const LstmSizes& sizes, const CellInputs& in, const Tensor& cs_prev,
                        absl::Span<const Tensor> step, const Tensor* later_h, const Tensor& gates,
                        const Tensor& cs_prev_grad) const {
    std::vector<GpuAccess> accesses = {ReadOf(in.wci),  ReadOf(in.wcf), ReadOf(in.wco),
                                       ReadOf(cs_prev), WriteOf(gates), WriteOf(cs_prev_grad)};
    for (const Tensor& tensor : step) accesses.push_back(ReadOf(tensor));
    if (later_h != nullptr) accesses.push_back(ReadOf(*later_h));
    return stream.LaunchWith(grad_,
                             LstmGradArgs{.i = step[0].raw_data(),
                                          .cs = step[1].raw_data(),
                                          .f = step[2].raw_data(),
                                          .o = step[3].raw_data(),
                                          .ci = step[4].raw_data(),
                                          .co = step[5].raw_data(),
                                          .cs_grad = step[6].raw_data(),
                                          .h_grad = step[7].raw_data(),
                                          .later_cs = later_h == nullptr ? nullptr : cs_prev_grad.raw_data(),
                                          .later_h = later_h == nullptr ? nullptr : later_h->raw_data(),
                                          .wci = in.wci.raw_data(),
                                          .wcf = in.wcf.raw_data(),
                                          .wco = in.wco.raw_data(),
                                          .cs_prev = cs_prev.raw_data(),
                                          .gates = gates.raw_data(),
                                          .cs_prev_grad = cs_prev_grad.raw_data(),
                                          .cell = sizes.cell,
                                          .forget = forget_gate_ * sizes.cell,
                                          .candidate = (3 - forget_gate_) * sizes.cell,
                                          .peephole = attrs_.peephole,
                                          .count = sizes.batch * sizes.cell},
                             accesses);
  }

  // Outputs from `first` on: wci_grad, wcf_grad, wco_grad, of `rows` rows of gates.
  absl::Status PeepholeGrads(OpKernelContext& ctx, GpuStream& stream, int first, const LstmSizes& sizes,
                             const Tensor& cs_prev, const Tensor& cs, const Tensor& gates, int64_t rows) const {
    Tensor* out[3];
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(out[i], ctx.allocate_output(first + i, TensorShape({sizes.cell})));
      if (!attrs_.peephole || rows == 0) RETURN_IF_ERROR(FillZeros(stream, *out[i]));
    }
    if (!attrs_.peephole || rows == 0 || sizes.cell == 0) return absl::OkStatus();
    return stream.LaunchWith(
        peephole_,
        LstmPeepholeArgs{.gates = gates.raw_data(),
                         .cs_prev = cs_prev.raw_data(),
                         .cs = cs.raw_data(),
                         .wci = out[0]->raw_data(),
                         .wcf = out[1]->raw_data(),
                         .wco = out[2]->raw_data(),
                         .batch = sizes.batch,
                         .rows = rows,
                         .cell = sizes.cell,
                         .forget = forget_gate_ * sizes.cell,
                         .count = sizes.cell},
        {ReadOf(gates), ReadOf(cs_prev), ReadOf(cs), WriteOf(*out[0]), WriteOf(*out[1]), WriteOf(*out[2])});
  }

  DataType type_ = DT_INVALID;
  int64_t forget_gate_ = 2;  // of i, ci, f, o; the second and the third change places in version 2
  LstmAttrs attrs_;
  CellProducts products_;
  GpuKernel step_, grad_, peephole_, sum_;
};

class LstmBlockCellKernel : public LstmKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const LstmSizes sizes, LstmSizes::OfCell(ctx));
    RETURN_IF_ERROR(CheckPreviousState(ctx));
    std::vector<Tensor> out;
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(const Tensor* output, ctx.allocate_output(i, sizes.state()));
      out.push_back(*output);
    }
    const CellInputs in(ctx, 1, sizes);
    ASSIGN_OR_RETURN(const Tensor from_input, products_.Forward(ctx, stream, ctx.input(0), sizes.batch, in.w.of_input));
    return Step(ctx, stream, sizes, in, from_input, in.cs_prev, in.h_prev, out);
  }
};

// Inputs: x, the cell's seven, i, cs, f, o, ci, co, cs_grad, h_grad.
class LstmBlockCellGradKernel : public LstmKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const LstmSizes sizes, LstmSizes::OfCell(ctx));
    RETURN_IF_ERROR(CheckCellStates(ctx, 8, {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"}, sizes.state()));
    const CellInputs in(ctx, 1, sizes);
    ASSIGN_OR_RETURN(const Tensor* cs_prev_grad, ctx.allocate_output(0, sizes.state()));
    ASSIGN_OR_RETURN(const Tensor* gates, ctx.allocate_output(1, sizes.gates()));
    if (gates->NumElements() > 0) {
      std::vector<Tensor> step;
      for (int i = 8; i < 16; ++i) step.push_back(ctx.input(i));
      RETURN_IF_ERROR(StepGrad(stream, sizes, in, in.cs_prev, step, nullptr, *gates, *cs_prev_grad));
    }
    return PeepholeGrads(ctx, stream, 2, sizes, in.cs_prev, ctx.input(9), *gates, sizes.batch);
  }
};

class BlockLstmKernel : public LstmKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const LstmBlockSizes sizes, LstmBlockSizes::Of(ctx));
    std::vector<Tensor> out;
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(const Tensor* output, ctx.allocate_output(i, sizes.states));
      RETURN_IF_ERROR(FillZeros(stream, output->Slice(sizes.length, sizes.time)));
      out.push_back(*output);
    }
    const LstmSizes& step = sizes.step;
    if (sizes.length == 0 || step.batch * step.cell == 0) return absl::OkStatus();
    const CellInputs in(ctx, 2, step);
    ASSIGN_OR_RETURN(const Tensor from_inputs,
                     products_.Forward(ctx, stream, ctx.input(1), sizes.length * step.batch, in.w.of_input));
    for (int64_t t = 0; t < sizes.length; ++t) {
      std::vector<Tensor> now;
      for (const Tensor& output : out) now.push_back(output.SubSlice(t));
      RETURN_IF_ERROR(Step(ctx, stream, step, in, from_inputs.Slice(t * step.batch, (t + 1) * step.batch),
                           t == 0 ? in.cs_prev : out[1].SubSlice(t - 1), t == 0 ? in.h_prev : out[6].SubSlice(t - 1),
                           now));
    }
    return absl::OkStatus();
  }
};

// Further inputs: i, cs, f, o, ci, co, h, cs_grad, h_grad. Gives x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad,
// wcf_grad, wco_grad, b_grad.
class BlockLstmGradKernel : public LstmKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const LstmBlockSizes sizes, LstmBlockSizes::Of(ctx));
    RETURN_IF_ERROR(CheckCellStates(ctx, 9, {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"}, sizes.states));
    const LstmSizes& step = sizes.step;
    const CellInputs in(ctx, 2, step);
    const int64_t rows = step.cell == 0 ? 0 : sizes.length * step.batch;
    ASSIGN_OR_RETURN(const TensorShape gates_shape, TensorShape::Build({rows, 4 * step.cell}));
    ASSIGN_OR_RETURN(const Tensor gates, ctx.allocate_temp(type_, gates_shape));
    RETURN_IF_ERROR(Steps(ctx, stream, sizes, in, rows, gates));
    RETURN_IF_ERROR(PeepholeGrads(ctx, stream, 4, step, in.cs_prev, ctx.input(10), gates, rows));

    const Tensor& x = ctx.input(1);
    ASSIGN_OR_RETURN(const Tensor* x_grad, ctx.allocate_output(0, x.shape()));
    RETURN_IF_ERROR(FillZeros(stream, x_grad->Slice(rows == 0 ? 0 : sizes.length, sizes.time)));
    RETURN_IF_ERROR(products_.Back(ctx, stream, gates, rows, in.w.of_input, x_grad->Slice(0, sizes.length)));
    RETURN_IF_ERROR(WeightGrads(ctx, stream, sizes, in, rows, gates));
    ASSIGN_OR_RETURN(const Tensor* b_grad, ctx.allocate_output(7, TensorShape({4 * step.cell})));
    if (rows == 0) return FillZeros(stream, *b_grad);
    FoldArgs sum{.in = gates.raw_data(), .out = b_grad->raw_data(), .length = rows, .count = 4 * step.cell};
    ASSIGN_OR_RETURN(sum.kept, LayoutOf({4 * step.cell}, {1}));
    ASSIGN_OR_RETURN(sum.folded, LayoutOf({rows}, {4 * step.cell}));
    return stream.LaunchWith(sum_, sum, {ReadOf(gates), WriteOf(*b_grad)});
  }

  // From the last step to the first: gates of all, and the gradients at the states before the first.
  absl::Status Steps(OpKernelContext& ctx, GpuStream& stream, const LstmBlockSizes& sizes, const CellInputs& in,
                     int64_t rows, const Tensor& gates) const {
    const LstmSizes& step = sizes.step;
    ASSIGN_OR_RETURN(const Tensor* cs_prev_grad, ctx.allocate_output(1, step.state()));
    ASSIGN_OR_RETURN(const Tensor* h_prev_grad, ctx.allocate_output(2, step.state()));
    if (rows == 0) {
      RETURN_IF_ERROR(FillZeros(stream, *cs_prev_grad));
      return FillZeros(stream, *h_prev_grad);
    }
    const Tensor& cs = ctx.input(10);
    for (int64_t t = sizes.length - 1; t >= 0; --t) {
      std::vector<Tensor> now;
      for (int i : {9, 10, 11, 12, 13, 14, 16, 17}) now.push_back(ctx.input(i).SubSlice(t));
      const Tensor gates_now = gates.Slice(t * step.batch, (t + 1) * step.batch);
      RETURN_IF_ERROR(StepGrad(stream, step, in, t == 0 ? in.cs_prev : cs.SubSlice(t - 1), now,
                               t == sizes.length - 1 ? nullptr : h_prev_grad, gates_now, *cs_prev_grad));
      RETURN_IF_ERROR(products_.Back(ctx, stream, gates_now, step.batch, in.w.of_state, *h_prev_grad));
    }
    return absl::OkStatus();
  }

  absl::Status WeightGrads(OpKernelContext& ctx, GpuStream& stream, const LstmBlockSizes& sizes, const CellInputs& in,
                           int64_t rows, const Tensor& gates) const {
    const LstmSizes& step = sizes.step;
    ASSIGN_OR_RETURN(const Tensor* w_grad, ctx.allocate_output(3, ctx.input(4).shape()));
    if (rows == 0) return FillZeros(stream, *w_grad);
    const CellProducts::Weights grads = CellProducts::Weights::Of(*w_grad, step.input);
    RETURN_IF_ERROR(products_.Multiply(ctx, stream, {.a = ctx.input(1), .b = gates, .transpose_a = true}, step.input,
                                       4 * step.cell, rows, grads.of_input));
    // The state before each step.
    const Tensor& h = ctx.input(15);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({rows, step.cell}));
    ASSIGN_OR_RETURN(const Tensor before, ctx.allocate_temp(type_, shape));
    const auto first = static_cast<size_t>(in.h_prev.TotalBytes());
    RETURN_IF_ERROR(stream.CopyOnDevice(before.raw_data(), in.h_prev.raw_data(), first));
    if (sizes.length > 1) {
      RETURN_IF_ERROR(stream.CopyOnDevice(static_cast<char*>(before.raw_data()) + first, h.raw_data(),
                                          static_cast<size_t>(before.TotalBytes()) - first));
    }
    return products_.Multiply(ctx, stream, {.a = before, .b = gates, .transpose_a = true}, step.cell, 4 * step.cell,
                              rows, grads.of_state);
  }
};

}  // namespace

absl::Status RegisterGpuLstmKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF}); };
  RETURN_IF_ERROR(kernels.Register<LstmBlockCellKernel>(kernel("LSTMBlockCell")));
  RETURN_IF_ERROR(kernels.Register<LstmBlockCellGradKernel>(kernel("LSTMBlockCellGrad")));
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
    RETURN_IF_ERROR(kernels.Register<BlockLstmKernel>(kernel(op).HostMemory("seq_len_max")));
  }
  for (const char* op : {"BlockLSTMGrad", "BlockLSTMGradV2"}) {
    RETURN_IF_ERROR(kernels.Register<BlockLstmGradKernel>(kernel(op).HostMemory("seq_len_max")));
  }
  return absl::OkStatus();
}

}  // namespace weir
