// RefSelect.
#include "kernels/control/family.h"

namespace weir {
namespace {

class RefSelectKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& index = ctx.input(0);
    if (index.dims() != 0) {
      return errors::InvalidArgument("Index must be a scalar, but it has shape ", index.shape().ToString());
    }
    const int32_t chosen = index.scalar<int32_t>();
    if (chosen < 0 || chosen >= ctx.num_inputs() - 1) {
      return errors::InvalidArgument("Index must be in the range [0, ", ctx.num_inputs() - 1, ") but got ", chosen);
    }
    ctx.forward_ref_input_to_ref_output(chosen + 1, 0);
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterRefSelectKernels(KernelRegistry& kernels) {
  return kernels.Register<RefSelectKernel>(Kernel("RefSelect").Cpu());
}

}  // namespace weir
