// Reductions along axes.
#include "kernels/reduction/gpu_fold.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

class FoldKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("keep_dims", &keep_dims_));
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.input_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector axes, ReadIntegers(ctx.input(1)));
    ASSIGN_OR_RETURN(FoldPlan plan, FoldPlan::Of(input.shape(), axes, keep_dims_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, plan.shape));
    return plan.Enqueue(stream, kernel_, input, *output);
  }

 private:
  bool keep_dims_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::StatusOr<FoldPlan> FoldPlan::Of(const TensorShape& input, absl::Span<const int64_t> axes, bool keep_dims) {
  const int rank = input.dims();
  std::vector<bool> is_folded(rank, false);
  for (const int64_t value : axes) {
    const std::optional<int> axis = AxisOf(value, rank);
    if (!axis) {
      return errors::InvalidArgument("Invalid reduction dimension (", value, " for input with ", rank, " dimension(s)");
    }
    if (is_folded[*axis]) {
      return errors::InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ", *axis);
    }
    is_folded[*axis] = true;
  }
  const DimVector steps = DenseSteps(input.dim_sizes());
  DimVector shape, sizes[2], parts[2];  // of what is kept, and of what is folded
  FoldPlan plan;
  plan.args.length = 1;
  for (int i = 0; i < rank; ++i) {
    const int64_t n = input.dim_size(i);
    sizes[is_folded[i]].push_back(n);
    parts[is_folded[i]].push_back(steps[i]);
    if (is_folded[i]) plan.args.length *= n;
    if (!is_folded[i]) shape.push_back(n);
    if (is_folded[i] && keep_dims) shape.push_back(1);
    if (i > 0 && is_folded[i - 1] && !is_folded[i]) plan.is_trailing = false;
  }
  ASSIGN_OR_RETURN(plan.shape, TensorShape::Build(shape));
  plan.args.count = plan.shape.num_elements();
  // Empty inputs launch nothing: bodies would divide by a size of 0.
  if (plan.args.count > 0 && plan.args.length > 0) {
    ASSIGN_OR_RETURN(plan.args.kept, LayoutOf(sizes[0], parts[0]));
    ASSIGN_OR_RETURN(plan.args.folded, LayoutOf(sizes[1], parts[1]));
  }
  return plan;
}

absl::Status FoldPlan::Enqueue(GpuStream& stream, const GpuKernel& kernel, const Tensor& input,
                               const Tensor& output) const {
  if (args.count == 0) return absl::OkStatus();
  FoldArgs with = args;
  with.in = input.raw_data();
  with.out = output.raw_data();
  return stream.LaunchWith(kernel, with, {ReadOf(input), WriteOf(output)});
}

absl::Status RegisterGpuFoldKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).HostMemory("reduction_indices"); };
  constexpr DataType kWithInt64[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  for (const char* op : {"Sum", "Max", "Min"}) {
    RETURN_IF_ERROR(kernels.Register<FoldKernel>(kernel(op).Types("T", kWithInt64)));
  }
  for (const char* op : {"Mean", "Prod", "EuclideanNorm"}) {
    RETURN_IF_ERROR(kernels.Register<FoldKernel>(kernel(op).Types("T", kGpuFloats)));
  }
  for (const char* op : {"Sum", "Mean", "Prod"}) {
    RETURN_IF_ERROR(kernels.Register<FoldKernel>(kernel(op).Types("T", {DT_COMPLEX64, DT_COMPLEX128})));
  }
  for (const char* op : {"All", "Any"}) RETURN_IF_ERROR(kernels.Register<FoldKernel>(kernel(op)));
  return absl::OkStatus();
}

}  // namespace weir
