// A GRU cell and its gradient: matrix products, and one kernel for each set of gates.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/recurrent/args.h"
#include "kernels/recurrent/cell_products.h"
#include "kernels/recurrent/device.h"
#include "kernels/recurrent/family.h"

namespace weir {
namespace {

// Inputs: x, h_prev, w_ru, w_c, b_ru, b_c.
struct GruInputs {
  GruInputs(const OpKernelContext& ctx, const GruSizes& sizes)
      : x(ctx.input(0)),
        h_prev(ctx.input(1)),
        w_ru(CellProducts::Weights::Of(ctx.input(2), sizes.input)),
        w_c(CellProducts::Weights::Of(ctx.input(3), sizes.input)),
        b_ru(ctx.input(4)),
        b_c(ctx.input(5)) {}
  const Tensor &x, &h_prev;
  const CellProducts::Weights w_ru, w_c;
  const Tensor &b_ru, &b_c;
};

float* Floats(const Tensor& tensor) { return static_cast<float*>(tensor.raw_data()); }

class GruBlockCellKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(gates_, FindBody("GruGates", DT_FLOAT));
    ASSIGN_OR_RETURN(state_, FindBody("GruState", DT_FLOAT));
    return products_.Init(gpu(), DT_FLOAT);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const GruSizes sizes, GruSizes::Of(ctx));
    const GruInputs in(ctx, sizes);
    Tensor r, u, c, h;
    int output = 0;
    for (Tensor* const made : {&r, &u, &c, &h}) {
      ASSIGN_OR_RETURN(Tensor * allocated, ctx.allocate_output(output++, in.h_prev.shape()));
      *made = *allocated;
    }
    if (h.NumElements() == 0) return absl::OkStatus();
    const auto product = [&](const Tensor& of, const Tensor& weights) {
      return products_.Forward(ctx, stream, of, sizes.batch, weights);
    };
    ASSIGN_OR_RETURN(const Tensor reset, ctx.allocate_temp(DT_FLOAT, in.h_prev.shape()));
    ASSIGN_OR_RETURN(const Tensor gates_of_x, product(in.x, in.w_ru.of_input));
    ASSIGN_OR_RETURN(const Tensor gates_of_h, product(in.h_prev, in.w_ru.of_state));
    RETURN_IF_ERROR(stream.LaunchWith(gates_,
                                      GruGatesArgs{.from_input = Floats(gates_of_x),
                                                   .from_state = Floats(gates_of_h),
                                                   .bias = Floats(in.b_ru),
                                                   .h_prev = Floats(in.h_prev),
                                                   .r = Floats(r),
                                                   .u = Floats(u),
                                                   .reset = Floats(reset),
                                                   .cell = sizes.cell,
                                                   .count = h.NumElements()},
                                      {ReadOf(gates_of_x), ReadOf(gates_of_h), ReadOf(in.b_ru), ReadOf(in.h_prev),
                                       WriteOf(r), WriteOf(u), WriteOf(reset)}));
    ASSIGN_OR_RETURN(const Tensor candidate_of_x, product(in.x, in.w_c.of_input));
    ASSIGN_OR_RETURN(const Tensor candidate_of_reset, product(reset, in.w_c.of_state));
    return stream.LaunchWith(state_,
                             GruStateArgs{.from_input = Floats(candidate_of_x),
                                          .from_reset = Floats(candidate_of_reset),
                                          .bias = Floats(in.b_c),
                                          .h_prev = Floats(in.h_prev),
                                          .u = Floats(u),
                                          .c = Floats(c),
                                          .h = Floats(h),
                                          .cell = sizes.cell,
                                          .count = h.NumElements()},
                             {ReadOf(candidate_of_x), ReadOf(candidate_of_reset), ReadOf(in.b_c), ReadOf(in.h_prev),
                              ReadOf(u), WriteOf(c), WriteOf(h)});
  }

  CellProducts products_;
  GpuKernel gates_, state_;
};

// Further inputs: r, u, c, d_h. Gives d_x, d_h_prev, d_c_bar, d_r_bar_u_bar.
class GruBlockCellGradKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(candidate_, FindBody("GruCandidateGrad", DT_FLOAT));
    ASSIGN_OR_RETURN(gates_, FindBody("GruGatesGrad", DT_FLOAT));
    ASSIGN_OR_RETURN(input_, FindBody("GruInputGrad", DT_FLOAT));
    return products_.Init(gpu(), DT_FLOAT);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const GruSizes sizes, GruSizes::Of(ctx));
    const GruInputs in(ctx, sizes);
    const TensorShape &x_shape = in.x.shape(), &state = in.h_prev.shape();
    RETURN_IF_ERROR(CheckCellStates(ctx, 6, {"r", "u", "c", "d_h"}, state));
    const Tensor &r = ctx.input(6), &u = ctx.input(7), &c = ctx.input(8), &d_h = ctx.input(9);
    ASSIGN_OR_RETURN(const Tensor* d_x, ctx.allocate_output(0, x_shape));
    ASSIGN_OR_RETURN(const Tensor* d_h_prev, ctx.allocate_output(1, state));
    ASSIGN_OR_RETURN(const Tensor* d_candidate, ctx.allocate_output(2, state));
    ASSIGN_OR_RETURN(const Tensor* d_gates, ctx.allocate_output(3, TensorShape({sizes.batch, 2 * sizes.cell})));
    if (state.num_elements() == 0) {
      if (d_x->NumElements() == 0) return absl::OkStatus();
      return stream.Fill(d_x->raw_data(), 0, static_cast<size_t>(d_x->TotalBytes()));
    }
    RETURN_IF_ERROR(stream.LaunchWith(candidate_,
                                      GruCandidateGradArgs{.u = Floats(u),
                                                           .c = Floats(c),
                                                           .d_h = Floats(d_h),
                                                           .d_candidate = Floats(*d_candidate),
                                                           .count = state.num_elements()},
                                      {ReadOf(u), ReadOf(c), ReadOf(d_h), WriteOf(*d_candidate)}));
    const auto back = [&](const Tensor& gradient, const Tensor& weights,
                          const TensorShape& shape) -> absl::StatusOr<Tensor> {
      ASSIGN_OR_RETURN(Tensor made, ctx.allocate_temp(DT_FLOAT, shape));
      RETURN_IF_ERROR(products_.Back(ctx, stream, gradient, sizes.batch, weights, made));
      return made;
    };
    ASSIGN_OR_RETURN(const Tensor candidate_x, back(*d_candidate, in.w_c.of_input, x_shape));
    ASSIGN_OR_RETURN(const Tensor candidate_h, back(*d_candidate, in.w_c.of_state, state));
    RETURN_IF_ERROR(stream.LaunchWith(
        gates_,
        GruGatesGradArgs{.r = Floats(r),
                         .u = Floats(u),
                         .c = Floats(c),
                         .d_h = Floats(d_h),
                         .h_prev = Floats(in.h_prev),
                         .candidate_state = Floats(candidate_h),
                         .d_gates = Floats(*d_gates),
                         .cell = sizes.cell,
                         .count = state.num_elements()},
        {ReadOf(r), ReadOf(u), ReadOf(c), ReadOf(d_h), ReadOf(in.h_prev), ReadOf(candidate_h), WriteOf(*d_gates)}));
    ASSIGN_OR_RETURN(const Tensor gates_x, back(*d_gates, in.w_ru.of_input, x_shape));
    ASSIGN_OR_RETURN(const Tensor gates_h, back(*d_gates, in.w_ru.of_state, state));
    return stream.LaunchWith(input_,
                             GruInputGradArgs{.candidate_input = Floats(candidate_x),
                                              .gates_input = Floats(gates_x),
                                              .candidate_state = Floats(candidate_h),
                                              .gates_state = Floats(gates_h),
                                              .r = Floats(r),
                                              .u = Floats(u),
                                              .d_h = Floats(d_h),
                                              .d_x = Floats(*d_x),
                                              .d_h_prev = Floats(*d_h_prev),
                                              .input = sizes.input,
                                              .cell = sizes.cell,
                                              .count = sizes.batch * sizes.rows()},
                             {ReadOf(candidate_x), ReadOf(gates_x), ReadOf(candidate_h), ReadOf(gates_h), ReadOf(r),
                              ReadOf(u), ReadOf(d_h), WriteOf(*d_x), WriteOf(*d_h_prev)});
  }

  CellProducts products_;
  GpuKernel candidate_, gates_, input_;
};

}  // namespace

absl::Status RegisterGpuGruKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", {DT_FLOAT}); };
  RETURN_IF_ERROR(kernels.Register<GruBlockCellKernel>(kernel("GRUBlockCell")));
  return kernels.Register<GruBlockCellGradKernel>(kernel("GRUBlockCellGrad"));
}

}  // namespace weir
