// Select and SelectV2.
#include "kernels/elementwise/gpu_select.h"
#include "kernels/array/moving/device_move.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/args_broadcast.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

class SelectKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    op_ = ctx.op();
    ASSIGN_OR_RETURN(kernel_, FindMove("Select", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& condition = ctx.input(0);
    const Tensor& t = ctx.input(1);
    const Tensor& e = ctx.input(2);
    ASSIGN_OR_RETURN(const SelectShapes shapes, SelectShapes::Of(op_, condition.shape(), t.shape(), e.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shapes.output));
    return shapes.Enqueue(stream, kernel_, condition, t, e, *output);
  }

 private:
  std::string op_;
  GpuKernel kernel_;
};

absl::StatusOr<SelectShapes> ShapesOfSelect(const TensorShape& condition, const TensorShape& t, const TensorShape& e) {
  if (t != e) {
    return errors::InvalidArgument("'then' and 'else' must have the same size.  but received: ", t.ToString(), " vs. ",
                                   e.ToString());
  }
  if (condition.IsScalar() || condition == t) return SelectShapes{t, condition};
  if (condition.dims() != 1) {
    return errors::InvalidArgument("'cond' must be a scalar, a vector, or of the shape of 'then', but saw shape: ",
                                   condition.ToString());
  }
  if (t.dims() < 1 || t.dim_size(0) != condition.dim_size(0)) {
    return errors::InvalidArgument("Number of batches of 'then' must match size of 'cond', but saw: ",
                                   t.dims() < 1 ? 0 : t.dim_size(0), " vs. ", condition.dim_size(0));
  }
  DimVector rows(t.dims(), 1);
  rows[0] = condition.dim_size(0);
  return SelectShapes{t, TensorShape(absl::MakeConstSpan(rows))};
}

absl::StatusOr<SelectShapes> ShapesOfSelectV2(const TensorShape& condition, const TensorShape& t,
                                              const TensorShape& e) {
  const absl::StatusOr<Broadcasting> values = Broadcasting::Of(t, e);
  const absl::StatusOr<Broadcasting> all = values.ok() ? Broadcasting::Of(condition, values->shape) : values;
  if (all.ok()) return SelectShapes{all->shape, condition};
  return errors::InvalidArgument("condition ", condition.ToString(), ", then ", t.ToString(), ", and else ",
                                 e.ToString(), " must be broadcastable");
}

}  // namespace

absl::StatusOr<SelectShapes> SelectShapes::Of(absl::string_view op, const TensorShape& condition, const TensorShape& t,
                                              const TensorShape& e) {
  return op == "Select" ? ShapesOfSelect(condition, t, e) : ShapesOfSelectV2(condition, t, e);
}

absl::Status SelectShapes::Enqueue(GpuStream& stream, const GpuKernel& kernel, const Tensor& condition_tensor,
                                   const Tensor& t, const Tensor& e, const Tensor& out) const {
  if (out.NumElements() == 0) return absl::OkStatus();
  SelectArgs args{.condition = condition_tensor.raw_data(),
                  .x = t.raw_data(),
                  .y = e.raw_data(),
                  .out = out.raw_data(),
                  .count = out.NumElements()};
  const auto layout = [this](const TensorShape& of) -> absl::StatusOr<StridedLayout> {
    ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(of, output));
    return LayoutOf(output.dim_sizes(), steps);
  };
  ASSIGN_OR_RETURN(args.condition_at, layout(condition));
  ASSIGN_OR_RETURN(args.x_at, layout(t.shape()));
  ASSIGN_OR_RETURN(args.y_at, layout(e.shape()));
  return stream.LaunchWith(kernel, args, {ReadOf(condition_tensor), ReadOf(t), ReadOf(e), WriteOf(out)});
}

absl::Status RegisterGpuSelectKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<SelectKernel>(kernel("Select")));
  return kernels.Register<SelectKernel>(kernel("SelectV2"));
}

}  // namespace weir
