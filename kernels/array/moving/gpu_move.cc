// Tensors rearranged and repeated.
#include "kernels/array/family.h"
#include "kernels/array/moving/args_move.h"
#include "kernels/array/moving/args_reverse.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/strided_source.h"
#include "kernels/elementwise/gpu_elementwise.h"

namespace weir {
namespace {

class TransposeKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    if (ctx.op() != "ConjugateTranspose" || !IsComplex(type)) return absl::OkStatus();
    ASSIGN_OR_RETURN(conjugate_, FindElementwise("Conj", type));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector perm, ReadPermutation(ctx.input(1), input.dims()));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector sizes, steps;
    for (const int64_t from : perm) {
      sizes.push_back(input.dim_size(static_cast<int>(from)));
      steps.push_back(dense[from]);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    RETURN_IF_ERROR(CopyStrided(ctx, stream, 0, {.input = input, .steps = steps, .sizes = sizes, .shape = shape}));
    if (!conjugate_.has_value() || input.NumElements() == 0) return absl::OkStatus();
    const Tensor& output = *ctx.mutable_output(0);
    void* const data = ctx.mutable_output(0)->raw_data();
    return stream.LaunchWith(*conjugate_, ElementwiseArgs{.x = data, .out = data, .count = output.NumElements()},
                             {WriteOf(output)});
  }
  std::optional<GpuKernel> conjugate_;
};

class TileKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector multiples, ReadMultiples(ctx.input(1), input.shape()));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector sizes, steps, all;  // a repeated dimension is two
    for (int i = 0; i < input.dims(); ++i) {
      all.push_back(MultiplyWithoutOverflow(input.dim_size(i), multiples[i]));
      if (all.back() < 0) return errors::InvalidArgument("Dimension ", i, " of the output is too large");
      sizes.push_back(multiples[i]);
      steps.push_back(0);
      sizes.push_back(input.dim_size(i));
      steps.push_back(dense[i]);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(all));
    return CopyStrided(ctx, stream, 0, {.input = input, .steps = steps, .sizes = sizes, .shape = shape});
  }
};

// A bool for each dimension (Reverse) or a list of axes (ReverseV2).
class ReverseKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const std::vector<bool> is_reversed, ReadReversedAxes(ctx.input(1), input.shape()));
    StridedSource source{.input = input,
                         .steps = DenseSteps(input.shape().dim_sizes()),
                         .sizes = DimVector(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end()),
                         .shape = input.shape()};
    for (int i = 0; i < input.dims(); ++i) {
      if (!is_reversed[i]) continue;
      source.offset += (input.dim_size(i) - 1) * source.steps[i];
      source.steps[i] = -source.steps[i];
    }
    return CopyStrided(ctx, stream, 0, source);
  }
};

}  // namespace

absl::Status RegisterGpuMoveKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(kernel("Transpose").HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(kernel("ConjugateTranspose").HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<TileKernel>(kernel("Tile").HostMemory("multiples")));
  RETURN_IF_ERROR(kernels.Register<ReverseKernel>(kernel("Reverse").HostMemory("dims")));
  RETURN_IF_ERROR(kernels.Register<ReverseKernel>(kernel("ReverseV2").HostMemory("axis")));
  return absl::OkStatus();
}

}  // namespace weir
