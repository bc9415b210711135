#include "kernels/reduction/cpu_reduction.h"

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

// Which dimensions are folded, and the shape that is left.
struct Plan {
  std::vector<bool> folded;
  TensorShape output;
  DimVector sizes;              // neighbours of one kind joined, ones left out
  std::vector<bool> is_folded;  // of each of `sizes`
};

absl::StatusOr<Plan> MakePlan(const TensorShape& input, const Tensor& axes_tensor, bool keep_dims) {
  ASSIGN_OR_RETURN(const DimVector axes, ReadIntegers(axes_tensor));
  Plan plan;
  const int rank = input.dims();
  plan.folded.resize(rank);
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return errors::InvalidArgument("Invalid reduction dimension (", axis, " for input with ", rank, " dimension(s)");
    }
    const int64_t i = axis < 0 ? axis + rank : axis;
    if (plan.folded[i]) {
      return errors::InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ", axis);
    }
    plan.folded[i] = true;
  }
  for (int i = 0; i < rank; ++i) {
    const int64_t size = input.dim_size(i);
    if (!plan.folded[i]) {
      RETURN_IF_ERROR(plan.output.AddDim(size));
    } else if (keep_dims) {
      RETURN_IF_ERROR(plan.output.AddDim(1));
    }
    if (size == 1) continue;
    if (!plan.sizes.empty() && plan.is_folded.back() == plan.folded[i]) {
      plan.sizes.back() *= size;
    } else {
      plan.sizes.push_back(size);
      plan.is_folded.push_back(plan.folded[i]);
    }
  }
  return plan;
}

// The input with its kept dimensions first.
absl::StatusOr<Tensor> KeptFirst(OpKernelContext& ctx, const Tensor& input, const Plan& plan, int64_t* kept) {
  const DimVector steps = DenseSteps(plan.sizes);
  DimVector sizes, src_steps;
  *kept = 1;
  for (bool folded : {false, true}) {
    for (size_t i = 0; i < plan.sizes.size(); ++i) {
      if (plan.is_folded[i] != folded) continue;
      sizes.push_back(plan.sizes[i]);
      src_steps.push_back(steps[i]);
      if (!folded) *kept *= plan.sizes[i];
    }
  }
  ASSIGN_OR_RETURN(Tensor moved, ctx.allocate_temp(input.dtype(), input.shape()));
  StridedCopy(ctx, input.dtype(), sizes, input.raw_data(), src_steps, moved.raw_data(), DenseSteps(sizes));
  return moved;
}

}  // namespace

absl::Status ReductionKernel::Compute(OpKernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  ASSIGN_OR_RETURN(const Plan plan, MakePlan(input.shape(), ctx.input(1), keep_dims_));
  const size_t groups = plan.sizes.size();
  const int64_t folds = std::count(plan.is_folded.begin(), plan.is_folded.end(), true);
  if (folds == 0 && idempotent_) {
    ASSIGN_OR_RETURN(Tensor same, input.Reshaped(plan.output));
    ctx.set_output(0, std::move(same));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, plan.output));
  if (output->NumElements() == 0) return absl::OkStatus();
  if (folds == 0) return fold_(ctx, input.raw_data(), input.NumElements(), 1, 1, output->raw_data());
  if (folds == 1 && groups <= 3) {
    const size_t at = std::find(plan.is_folded.begin(), plan.is_folded.end(), true) - plan.is_folded.begin();
    const int64_t outer = at > 0 ? plan.sizes[at - 1] : 1, inner = at + 1 < groups ? plan.sizes[at + 1] : 1;
    return fold_(ctx, input.raw_data(), outer, plan.sizes[at], inner, output->raw_data());
  }
  int64_t kept;
  ASSIGN_OR_RETURN(const Tensor moved, KeptFirst(ctx, input, plan, &kept));
  return fold_(ctx, moved.raw_data(), kept, input.NumElements() / kept, 1, output->raw_data());
}

absl::Status RegisterReductions(KernelRegistry& kernels, absl::Span<const ReductionEntry> entries) {
  for (const ReductionEntry& entry : entries) {
    Kernel kernel(entry.op);
    kernel.Cpu().HostMemory("reduction_indices");
    if (entry.type != DT_INVALID) kernel.Types("T", {entry.type});
    RETURN_IF_ERROR(kernels.Register(kernel, entry.factory));
  }
  return absl::OkStatus();
}

}  // namespace weir
