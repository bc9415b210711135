// Bitcast.
#include "core/tensor/numeric_types.h"
#include "kernels/elementwise/cast/args_bitcast.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

class BitcastKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const DataType to = ctx.expected_output_dtype(0);
    ASSIGN_OR_RETURN(const TensorShape shape, BitcastShape(input, to));
    // A slice of another tensor need not be aligned for a wider type.
    if (reinterpret_cast<uintptr_t>(input.raw_data()) % DataTypeSize(to) != 0) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
      std::copy_n(static_cast<const char*>(input.raw_data()), input.TotalBytes(),
                  static_cast<char*>(output->raw_data()));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor output, input.Bitcasted(to, shape));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterBitcastKernels(KernelRegistry& kernels) {
  return kernels.Register<BitcastKernel>(Kernel("Bitcast").Cpu());
}

}  // namespace weir
