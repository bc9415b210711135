// Select and SelectV2.
#include "core/broadcast_steps.h"
#include "core/broadcasting.h"
#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/move_bodies.h"

namespace weir {
namespace {

class SelectKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("Select", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& condition = ctx.input(0);
    const Tensor& t = ctx.input(1);
    const Tensor& e = ctx.input(2);
    ASSIGN_OR_RETURN(const auto shapes, Shapes(condition.shape(), t.shape(), e.shape()));
    const auto& [shape, condition_shape] = shapes;
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    SelectArgs args{.condition = condition.raw_data(),
                    .x = t.raw_data(),
                    .y = e.raw_data(),
                    .out = output->raw_data(),
                    .count = output->NumElements()};
    const auto layout = [&shape](const TensorShape& of) -> absl::StatusOr<StridedLayout> {
      ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(of, shape));
      return LayoutOf(shape.dim_sizes(), steps);
    };
    ASSIGN_OR_RETURN(args.condition_at, layout(condition_shape));
    ASSIGN_OR_RETURN(args.x_at, layout(t.shape()));
    ASSIGN_OR_RETURN(args.y_at, layout(e.shape()));
    return stream.LaunchWith(kernel_, args, {ReadOf(condition), ReadOf(t), ReadOf(e), WriteOf(*output)});
  }
  // Of the output, and how the condition is broadcast to that.
  virtual absl::StatusOr<std::pair<TensorShape, TensorShape>> Shapes(const TensorShape& condition, const TensorShape& t,
                                                                     const TensorShape& e) const {
    if (t != e) {
      return errors::InvalidArgument("'then' and 'else' must have the same size.  but received: ", t.ToString(),
                                     " vs. ", e.ToString());
    }
    if (condition.IsScalar() || condition == t) return std::make_pair(t, condition);
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
    return std::make_pair(t, TensorShape(absl::MakeConstSpan(rows)));
  }

 private:
  GpuKernel kernel_;
};

class BroadcastSelectKernel : public SelectKernel {
  absl::StatusOr<std::pair<TensorShape, TensorShape>> Shapes(const TensorShape& condition, const TensorShape& t,
                                                             const TensorShape& e) const override {
    const absl::StatusOr<Broadcasting> values = Broadcasting::Of(t, e);
    const absl::StatusOr<Broadcasting> all = values.ok() ? Broadcasting::Of(condition, values->shape) : values;
    if (all.ok()) return std::make_pair(all->shape, condition);
    return errors::InvalidArgument("condition ", condition.ToString(), ", then ", t.ToString(), ", and else ",
                                   e.ToString(), " must be broadcastable");
  }
};

}  // namespace

absl::Status RegisterGpuSelectKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<SelectKernel>(kernel("Select")));
  return kernels.Register<BroadcastSelectKernel>(kernel("SelectV2"));
}

}  // namespace weir
