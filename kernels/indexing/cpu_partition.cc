// DynamicPartition and DynamicStitch.
#include <algorithm>

#include "kernels/device/elements.h"
#include "kernels/indexing/args_partition.h"
#include "kernels/indexing/args_stitch.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

char* RowAt(Tensor* tensor, int64_t i, int64_t bytes) { return static_cast<char*>(tensor->raw_data()) + i * bytes; }
const char* RowAt(const Tensor& tensor, int64_t i, int64_t bytes) {
  return static_cast<const char*>(tensor.raw_data()) + i * bytes;
}

class DynamicPartitionKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& partitions = ctx.input(1);
    ASSIGN_OR_RETURN(const PartitionedRows parts, PartitionedRows::Of(ctx));
    absl::InlinedVector<Tensor*, 8> outputs;
    for (int part = 0; part < ctx.num_outputs(); ++part) {
      ASSIGN_OR_RETURN(const TensorShape shape, parts.Shape(part));
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(part, shape));
      outputs.push_back(output);
    }
    const int32_t* const to = partitions.data<int32_t>();
    const int64_t width = parts.row.num_elements(), bytes = width * static_cast<int64_t>(DataTypeSize(data.dtype()));
    DimVector next(outputs.size(), 0);
    for (int64_t i = 0; i < partitions.NumElements(); ++i) {
      CopyElements(data.dtype(), RowAt(outputs[to[i]], next[to[i]]++, bytes), RowAt(data, i, bytes), width);
    }
    return absl::OkStatus();
  }
};

// Inputs: n tensors of indices, then n of data. Later rows win.
class DynamicStitchKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const int n = ctx.num_inputs() / 2;
    ASSIGN_OR_RETURN(const StitchedRows rows, StitchedRows::Of(ctx));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, rows.shape));
    // Rows without an index are zero.
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    const int64_t width = rows.row.num_elements();
    const int64_t bytes = width * static_cast<int64_t>(DataTypeSize(output->dtype()));
    for (int i = 0; i < n; ++i) {
      const Tensor& indices = ctx.input(i);
      for (int64_t j = 0; j < indices.NumElements(); ++j) {
        CopyElements(output->dtype(), RowAt(output, indices.data<int32_t>()[j], bytes),
                     RowAt(ctx.input(n + i), j, bytes), width);
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterPartitionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<DynamicPartitionKernel>(Kernel("DynamicPartition").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DynamicStitchKernel>(Kernel("DynamicStitch").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DynamicStitchKernel>(Kernel("ParallelDynamicStitch").Cpu()));
  return absl::OkStatus();
}

}  // namespace weir
