// AddN and ZerosLike of variants.
#include "core/tensor/variant.h"
#include "kernels/containers/family.h"
#include "kernels/containers/variant_arithmetic.h"

namespace weir {
namespace {

class AddNVariantsKernel : public OpKernel {
 public:
  explicit AddNVariantsKernel(const SequenceMemory& memory) : memory_(memory) {}
  absl::Status Compute(OpKernelContext& ctx) override {
    Tensor sum(DT_VARIANT, ctx.input(0).shape());
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor& input = ctx.input(i);
      if (input.shape() != sum.shape()) {
        return errors::InvalidArgument("Inputs to operation AddN must have the same size and shape.  Input 0: ",
                                       sum.shape().ToString(), " != input ", i, ": ", input.shape().ToString());
      }
      for (int64_t k = 0; k < sum.NumElements(); ++k) {
        Variant& total = sum.data<Variant>()[k];
        const Variant& addend = input.data<Variant>()[k];
        if (i == 0) {
          total = addend;
        } else {
          ASSIGN_OR_RETURN(total, AddVariants(ctx, memory_, total, addend));
        }
      }
    }
    ctx.set_output(0, std::move(sum));
    return absl::OkStatus();
  }

 private:
  const SequenceMemory& memory_;
};

// A GPU's: the CPU has one kernel for all types.
class ZerosLikeVariantsKernel : public OpKernel {
 public:
  explicit ZerosLikeVariantsKernel(const SequenceMemory& memory) : memory_(memory) {}
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    Tensor zeros(DT_VARIANT, input.shape());
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      ASSIGN_OR_RETURN(zeros.data<Variant>()[i], ZerosLikeVariant(ctx, memory_, input.data<Variant>()[i]));
    }
    ctx.set_output(0, std::move(zeros));
    return absl::OkStatus();
  }

 private:
  const SequenceMemory& memory_;
};

}  // namespace

absl::Status RegisterVariantArithmeticKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterSequenceKernel<AddNVariantsKernel>(kernels, Kernel("AddN").Types("T", {DT_VARIANT})));
  return kernels.Register(Kernel("ZerosLike").Device(kDeviceGpu).Types("T", {DT_VARIANT}),
                          &MakeGpuSequenceKernel<ZerosLikeVariantsKernel>);
}

}  // namespace weir
