// DynamicStitch and ParallelDynamicStitch. Indices are in host memory, as TensorFlow has it: the output's shape depends
// on them.
#include <algorithm>
#include <vector>

#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/move_bodies.h"

namespace weir {
namespace {

class DynamicStitchKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("SendRows", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const int n = ctx.num_inputs() / 2;
    ASSIGN_OR_RETURN(const TensorShape row, RowShape(ctx, n));
    int64_t rows = 0, given = 0;
    for (int i = 0; i < n; ++i) {
      const absl::Span<const int32_t> indices = ctx.input(i).flat<int32_t>();
      given += static_cast<int64_t>(indices.size());
      for (size_t j = 0; j < indices.size(); ++j) {
        if (indices[j] < 0) return errors::InvalidArgument("indices[", j, "] is out of range");
        rows = std::max<int64_t>(rows, int64_t{indices[j]} + 1);
      }
    }
    TensorShape shape({rows});
    RETURN_IF_ERROR(shape.Append(row));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    bool is_whole = false;
    ASSIGN_OR_RETURN(const Tensor destinations, gpu().ToDevice(Destinations(ctx, n, rows, given, &is_whole)));
    // Rows that no index names hold zeros.
    if (!is_whole) RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    int64_t first = 0;
    for (int i = 0; i < n; ++i) {
      const Tensor& data = ctx.input(n + i);
      if (data.NumElements() == 0) continue;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        SendRowsArgs{.in = data.raw_data(),
                                                     .to = destinations.data<int64_t>() + first,
                                                     .out = output->raw_data(),
                                                     .width = row.num_elements(),
                                                     .count = data.NumElements()},
                                        {ReadOf(data), ReadOf(destinations), WriteOf(*output)}));
      first += ctx.input(i).NumElements();
    }
    return absl::OkStatus();
  }

  // What follows the indices' dimensions in all data.
  static absl::StatusOr<TensorShape> RowShape(OpKernelContext& ctx, int n) {
    TensorShape row;
    for (int i = 0; i < n; ++i) {
      const TensorShape& indices = ctx.input(i).shape();
      const TensorShape& data = ctx.input(n + i).shape();
      if (data.dims() < indices.dims() || data.dim_sizes().first(indices.dims()) != indices.dim_sizes()) {
        return errors::InvalidArgument("data[", i, "].shape = ", data.ToString(), " does not start with indices[", i,
                                       "].shape = ", indices.ToString());
      }
      const TensorShape rest(data.dim_sizes().subspan(indices.dims()));
      if (i == 0) row = rest;
      if (rest != row) {
        return errors::InvalidArgument("Need data[0].shape[", ctx.input(0).dims(), ":] = data[", i, "].shape[",
                                       indices.dims(), ":], got data[0].shape = ", ctx.input(n).shape().ToString(),
                                       ", data[", i, "].shape = ", data.ToString());
      }
    }
    return row;
  }

  // Where each row of data goes: -1 where a later one goes to the same place, so that no two threads write there.
  // `is_whole`: every place gets one.
  static Tensor Destinations(OpKernelContext& ctx, int n, int64_t rows, int64_t given, bool* is_whole) {
    Tensor destinations(DT_INT64, TensorShape({given}));
    const absl::Span<int64_t> to = destinations.flat<int64_t>();
    int64_t at = 0;
    for (int i = 0; i < n; ++i) {
      for (const int32_t index : ctx.input(i).flat<int32_t>()) to[at++] = index;
    }
    std::vector<bool> is_taken(rows, false);
    int64_t taken = 0;
    for (at = given - 1; at >= 0; --at) {
      if (is_taken[to[at]]) {
        to[at] = -1;
      } else {
        is_taken[to[at]] = true;
        ++taken;
      }
    }
    *is_whole = taken == rows;
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
