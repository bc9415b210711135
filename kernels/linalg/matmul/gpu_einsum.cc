// Einsum: operands are brought into the order of a batched product, and the product into that of the output.
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/strided_source.h"
#include "kernels/linalg/family.h"
#include "kernels/linalg/matmul/einsum_plan.h"
#include "kernels/linalg/matmul/gpu_product.h"

namespace weir {
namespace {

class EinsumKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::string equation;
    RETURN_IF_ERROR(ctx.GetAttr("equation", &equation));
    ASSIGN_OR_RETURN(equation_, EinsumEquation::Parse(equation, static_cast<int>(ctx.input_types().size())));
    ASSIGN_OR_RETURN(sum_, FindBody("Sum", ctx.input_types()[0]));
    return product_.Init(gpu(), ctx.input_types()[0]);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    std::vector<TensorShape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    ASSIGN_OR_RETURN(const EinsumPlan plan, equation_->PlanFor(shapes));
    if (plan.output.num_elements() == 0) return ctx.allocate_output(0, plan.output).status();
    ASSIGN_OR_RETURN(Tensor product, Arrange(ctx, stream, ctx.input(0), plan.operands[0]));
    if (ctx.num_inputs() == 2) {
      ASSIGN_OR_RETURN(const Tensor b, Arrange(ctx, stream, ctx.input(1), plan.operands[1]));
      ASSIGN_OR_RETURN(product, Multiply(ctx, stream, plan, product, b));
    }
    return Place(ctx, stream, plan, product);
  }

 private:
  // A dense tensor of the factor's elements: the input itself where it is one.
  absl::StatusOr<Tensor> Arrange(const OpKernelContext& ctx, GpuStream& stream, const Tensor& input,
                                 const EinsumPlan::Operand& operand) const {
    const size_t num_kept = operand.sizes.size() - operand.num_summed;
    const DimVector sizes(operand.sizes.begin(), operand.sizes.begin() + num_kept);
    const DimVector steps(operand.steps.begin(), operand.steps.begin() + num_kept);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    const StridedSource source{.input = input, .steps = steps, .sizes = sizes, .shape = shape};
    if (operand.num_summed == 0 && IsDense(sizes, steps)) return input.Reshaped(shape);
    ASSIGN_OR_RETURN(const Tensor dense, ctx.allocate_temp(input.dtype(), shape));
    if (dense.NumElements() == 0) return dense;
    if (operand.num_summed > 0) {
      RETURN_IF_ERROR(SumUp(stream, source, operand, dense));
    } else {
      RETURN_IF_ERROR(WriteStrided(stream, source, dense));
    }
    return dense;
  }

  // A dimension of one element may have any step.
  static bool IsDense(const DimVector& sizes, const DimVector& steps) {
    const DimVector dense = DenseSteps(sizes);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != 1 && steps[d] != dense[d]) return false;
    }
    return true;
  }

  absl::Status SumUp(GpuStream& stream, const StridedSource& kept, const EinsumPlan::Operand& operand,
                     const Tensor& sums) const {
    const DimVector sizes(operand.sizes.end() - operand.num_summed, operand.sizes.end());
    const DimVector steps(operand.steps.end() - operand.num_summed, operand.steps.end());
    FoldArgs args{.in = kept.input.raw_data(), .out = sums.raw_data(), .length = 1, .count = sums.NumElements()};
    for (const int64_t size : sizes) args.length *= size;
    if (args.length > 0) {
      ASSIGN_OR_RETURN(args.kept, LayoutOf(kept.sizes, kept.steps));
      ASSIGN_OR_RETURN(args.folded, LayoutOf(sizes, steps));
    }
    return stream.LaunchWith(sum_, args, {ReadOf(kept.input), WriteOf(sums)});
  }

  absl::StatusOr<Tensor> Multiply(const OpKernelContext& ctx, GpuStream& stream, const EinsumPlan& plan,
                                  const Tensor& a, const Tensor& b) const {
    ASSIGN_OR_RETURN(const TensorShape left, TensorShape::Build({plan.batches, plan.rows, plan.k}));
    ASSIGN_OR_RETURN(const TensorShape right, TensorShape::Build({plan.batches, plan.k, plan.columns}));
    ASSIGN_OR_RETURN(const BatchMatMulSizes sizes, BatchMatMulSizes::Of(left, right, false, false, false));
    ASSIGN_OR_RETURN(const Tensor product, ctx.allocate_temp(a.dtype(), sizes.output));
    RETURN_IF_ERROR(product_.Enqueue(ctx, stream, {.a = a, .b = b}, sizes, product).status());
    return product;
  }

  static absl::Status Place(OpKernelContext& ctx, GpuStream& stream, const EinsumPlan& plan, const Tensor& product) {
    if (!plan.has_diagonal && IsDense(plan.sizes, plan.steps)) {
      ASSIGN_OR_RETURN(Tensor output, product.Reshaped(plan.output));
      ctx.set_output(0, std::move(output));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Tensor* output, ctx.allocate_output(0, plan.output));
    if (plan.has_diagonal) {
      RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    }
    return StoreStrided(stream, product, DenseSteps(plan.sizes), plan.sizes,
                        {.tensor = *output, .sizes = plan.sizes, .steps = plan.steps});
  }

  std::optional<EinsumEquation> equation_;
  GpuKernel sum_;
  GpuProduct product_;
};

}  // namespace

absl::Status RegisterGpuEinsumKernels(KernelRegistry& kernels) {
  return kernels.Register<EinsumKernel>(Kernel("Einsum").Device(kDeviceGpu).Types("T", kGpuMultiplied));
}

}  // namespace weir
