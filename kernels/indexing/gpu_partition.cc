// DynamicPartition.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/indexing/args_partition.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

// Partitions are in host memory: the shapes of the outputs depend on them.
class DynamicPartitionKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 private:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("Gather", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& data = ctx.input(0);
    ASSIGN_OR_RETURN(const PartitionedRows parts, PartitionedRows::Of(ctx));
    const absl::Span<const int32_t> part_of_row = ctx.input(1).flat<int32_t>();
    const DimVector starts = GroupStarts(DimVector(part_of_row.begin(), part_of_row.end()), ctx.num_outputs());
    DimVector next = starts, sources(part_of_row.size());
    for (size_t row = 0; row < part_of_row.size(); ++row) {
      sources[next[part_of_row[row]]++] = static_cast<int64_t>(row);
    }
    ASSIGN_OR_RETURN(const Tensor sources_there, gpu().ToDevice(IndexTensor(sources)));
    for (int part = 0; part < ctx.num_outputs(); ++part) {
      ASSIGN_OR_RETURN(const TensorShape shape, parts.Shape(part));
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(part, shape));
      if (output->NumElements() == 0) continue;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        GatherArgs{.in = data.raw_data(),
                                                   .indices = sources_there.data<int64_t>() + starts[part],
                                                   .wide_indices = true,
                                                   .out = output->raw_data(),
                                                   .outer = 1,
                                                   .inner = parts.row.num_elements(),
                                                   .num_indices = parts.counts[part],
                                                   .size = static_cast<int64_t>(part_of_row.size()),
                                                   .count = output->NumElements()},
                                        {ReadOf(data), ReadOf(sources_there), WriteOf(*output)}));
    }
    return absl::OkStatus();
  }
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuPartitionKernels(KernelRegistry& kernels) {
  const auto kernel = [](const std::string& op) { return Kernel(op).Device(kDeviceGpu); };
  return kernels.Register<DynamicPartitionKernel>(
      kernel("DynamicPartition").Types("T", kGpuMoved).HostMemory("partitions"));
}

}  // namespace weir
