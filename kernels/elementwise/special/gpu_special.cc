// Betainc.
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/gpu_ternary.h"

namespace weir {
namespace {

class BetaincKernel : public TernaryKernel {
  absl::StatusOr<TensorShape> ShapeOf(OpKernelContext& ctx) const override {
    static constexpr absl::string_view kNames[] = {"a", "b", "x"};
    TensorShape shape;
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).dims() == 0) continue;
      shape = ctx.input(i).shape();
      for (int j = 0; j < i; ++j) {
        if (ctx.input(j).dims() == 0 || ctx.input(j).shape() == shape) continue;
        return errors::InvalidArgument("Shapes of ", kNames[j], " and ", kNames[i],
                                       " are inconsistent: ", ctx.input(j).shape().ToString(), " vs. ",
                                       shape.ToString());
      }
    }
    return shape;
  }
};

}  // namespace

absl::Status RegisterGpuSpecialKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op, const DataTypeVector& types) {
    return Kernel(op).Device(kDeviceGpu).Types("T", types);
  };
  return kernels.Register<BetaincKernel>(kernel("Betainc", {DT_FLOAT, DT_DOUBLE}));
}

}  // namespace weir
