// ApproximateEqual.
#include <cmath>

#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

class ApproximateEqualKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("tolerance", &tolerance_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (x.shape() != y.shape()) {
      return errors::InvalidArgument("x and y must be of the same shape. x shape: ", x.shape().ToString(),
                                     ". y shape: ", y.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, x.shape()));
    if (x.dtype() == DT_FLOAT) {
      Compare(x.flat<float>(), y.data<float>(), output->data<bool>());
    } else {
      Compare(x.flat<double>(), y.data<double>(), output->data<bool>());
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Compare(absl::Span<const T> x, const T* y, bool* out) const {
    for (size_t i = 0; i < x.size(); ++i) out[i] = std::abs(x[i] - y[i]) < static_cast<T>(tolerance_);
  }
  float tolerance_ = 0;
};

}  // namespace

absl::Status RegisterApproximateEqualKernels(KernelRegistry& kernels) {
  return kernels.Register<ApproximateEqualKernel>(Kernel("ApproximateEqual").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE}));
}

}  // namespace weir
