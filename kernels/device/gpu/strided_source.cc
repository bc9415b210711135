#include "kernels/device/gpu/strided_source.h"

#include "kernels/array/moving/device_move.h"

namespace weir {

absl::Status WriteStrided(GpuStream& stream, const StridedSource& source, const Tensor& output) {
  if (output.NumElements() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const GpuKernel kernel, FindMove("Strided", output.dtype()));
  StridedArgs args{.in = source.input.raw_data(), .out = output.raw_data(), .offset = source.offset};
  ASSIGN_OR_RETURN(args.layout, LayoutOf(source.sizes, source.steps));
  args.count = output.NumElements();
  return stream.LaunchWith(kernel, args, {ReadOf(source.input), WriteOf(output)});
}

absl::Status CopyStrided(OpKernelContext& ctx, GpuStream& stream, int i, const StridedSource& source) {
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, source.shape));
  return WriteStrided(stream, source, *output);
}

absl::Status StoreStrided(GpuStream& stream, const Tensor& source, const DimVector& from_steps,
                          const DimVector& from_sizes, const StridedTarget& target) {
  ASSIGN_OR_RETURN(const GpuKernel kernel, FindMove("StridedStore", source.dtype()));
  StridedStoreArgs args{.in = source.raw_data(), .out = target.tensor.raw_data(), .offset = target.offset, .count = 1};
  for (const int64_t size : target.sizes) args.count *= size;
  if (args.count == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(args.from, LayoutOf(from_sizes, from_steps));
  ASSIGN_OR_RETURN(args.to, LayoutOf(target.sizes, target.steps));
  return stream.LaunchWith(kernel, args, {ReadOf(source), WriteOf(target.tensor)});
}

}  // namespace weir
