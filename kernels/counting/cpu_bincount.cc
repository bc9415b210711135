// Bincount.
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/counting/family.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

Tensor ScalarOf(DataType type, double value) {
  Tensor scalar(type, TensorShape());
  if (type == DT_DOUBLE) {
    scalar.scalar<double>() = value;
  } else {
    FindCast(DT_DOUBLE, type)(&value, scalar.raw_data(), 1);
  }
  return scalar;
}

// arr, size, weights: how often each value below `size` occurs, or the sum of the weights where it does.
class BincountKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    add_ = FindUpdateLoop(UpdateOp::kAdd, ctx.output_types()[0]);
    one_ = ScalarOf(ctx.output_types()[0], 1);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    const Tensor& weights = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t bins, ReadScalarInteger(ctx.input(1), "size"));
    if (bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
    const bool weighted = weights.NumElements() > 0;
    if (weighted && weights.NumElements() != values.NumElements()) {
      return errors::InvalidArgument("Input indices and weights must have the same size.");
    }
    for (int32_t value : values.flat<int32_t>()) {
      if (value < 0) return errors::InvalidArgument("Input arr must be non-negative!");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({bins})));
    ZeroElements(output->dtype(), output->raw_data(), bins);
    const int64_t size = DataTypeSize(output->dtype());
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      const int32_t value = values.data<int32_t>()[i];
      if (value >= bins) continue;
      add_(static_cast<char*>(output->raw_data()) + value * size,
           weighted ? static_cast<const char*>(weights.raw_data()) + i * size : one_.raw_data(), 1, 1);
    }
    return absl::OkStatus();
  }

 private:
  UpdateLoop add_ = nullptr;
  Tensor one_;
};

}  // namespace

absl::Status RegisterBincountKernels(KernelRegistry& kernels) {
  return kernels.Register<BincountKernel>(Kernel("Bincount").Cpu().HostMemory("size"));
}

}  // namespace weir
