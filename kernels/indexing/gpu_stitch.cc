// DynamicStitch and ParallelDynamicStitch. As in TensorFlow indices are in host memory: the shape of the output depends
// on them.
#include <vector>

#include "kernels/array/moving/device_move.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/indexing/args_stitch.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

class DynamicStitchKernel : public GpuOpKernel {
  // What the indices say goes to the device beside the stream.
  bool CanBeCaptured() const override { return false; }
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("SendRows", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const int n = ctx.num_inputs() / 2;
    ASSIGN_OR_RETURN(const StitchedRows rows, StitchedRows::Of(ctx));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, rows.shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    bool is_whole = false;
    ASSIGN_OR_RETURN(const Tensor destinations, gpu().ToDevice(Destinations(ctx, n, rows, &is_whole)));
    // Rows without an index are zero.
    if (!is_whole) RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    int64_t first = 0;
    for (int i = 0; i < n; ++i) {
      const Tensor& data = ctx.input(n + i);
      if (data.NumElements() == 0) continue;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        SendRowsArgs{.in = data.raw_data(),
                                                     .to = destinations.data<int64_t>() + first,
                                                     .out = output->raw_data(),
                                                     .width = rows.row.num_elements(),
                                                     .count = data.NumElements()},
                                        {ReadOf(data), ReadOf(destinations), WriteOf(*output)}));
      first += ctx.input(i).NumElements();
    }
    return absl::OkStatus();
  }

  // Where each row of data goes: -1 where a later one goes to the same place, so that no two threads write there.
  // `is_whole`: every place gets one.
  static Tensor Destinations(OpKernelContext& ctx, int n, const StitchedRows& rows, bool* is_whole) {
    Tensor destinations(DT_INT64, TensorShape({rows.num_indices}));
    const absl::Span<int64_t> to = destinations.flat<int64_t>();
    int64_t at = 0;
    for (int i = 0; i < n; ++i) {
      for (const int32_t index : ctx.input(i).flat<int32_t>()) to[at++] = index;
    }
    std::vector<bool> is_taken(rows.shape.dim_size(0), false);
    int64_t taken = 0;
    for (at = rows.num_indices - 1; at >= 0; --at) {
      if (is_taken[to[at]]) {
        to[at] = -1;
      } else {
        is_taken[to[at]] = true;
        ++taken;
      }
    }
    *is_whole = taken == rows.shape.dim_size(0);
    return destinations;
  }
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuStitchKernels(KernelRegistry& kernels) {
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    RETURN_IF_ERROR(kernels.Register<DynamicStitchKernel>(
        Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved).HostMemory("indices")));
  }
  return absl::OkStatus();
}

}  // namespace weir
