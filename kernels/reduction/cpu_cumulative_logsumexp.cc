// CumulativeLogsumexp.
#include <cmath>
#include <limits>

#include "core/tensor/index_tensor.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

class CumulativeLogsumexpKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("exclusive", &exclusive_));
    return ctx.GetAttr("reverse", &reverse_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("ScanOp: axis must be a scalar, not ", ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(int64_t axis, ReadInteger(ctx.input(1), "axis"));
    if (axis < -shape.dims() || axis >= shape.dims()) {
      return errors::InvalidArgument("ScanOp: Expected scan axis in the range [", -shape.dims(), ", ", shape.dims(),
                                     "), but got ", axis);
    }
    if (axis < 0) axis += shape.dims();
    ASSIGN_OR_RETURN(const Tensor x, Widen(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(WideOutput y, WideOutput::Allocate(ctx, 0, shape));
    const int64_t n = shape.dim_size(static_cast<int>(axis));
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
    if (shape.num_elements() > 0) {
      RETURN_IF_ERROR(VisitWide(x.dtype(), [&](auto element) {
        using T = decltype(element);
        const T* const in = x.data<T>();
        T* const out = y.data<T>();
        ParallelRanges(ctx, shape.num_elements() / n, n * 20'000, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) Scan(in, out, i / inner * n * inner + i % inner, n, inner);
        });
        return absl::OkStatus();
      }));
    }
    return y.Finish(ctx);
  }

 private:
  // The logarithm of an empty sum is minus infinity.
  template <typename T>
  void Scan(const T* in, T* out, int64_t start, int64_t n, int64_t step) const {
    T total = -std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at = start + (reverse_ ? n - 1 - j : j) * step;
      const T before = total;
      total = AddExponents(total, in[at]);
      out[at] = exclusive_ ? before : total;
    }
  }
  // log(exp(a) + exp(b))
  template <typename T>
  static T AddExponents(T a, T b) {
    if (a != a || b != b) return a + b;
    const T high = std::max(a, b), low = std::min(a, b);
    if (std::isinf(low) || std::isinf(high)) return high;
    return high + std::log1p(std::exp(low - high));
  }

  bool exclusive_ = false, reverse_ = false;
};

}  // namespace

absl::Status RegisterCumulativeLogsumexpKernels(KernelRegistry& kernels) {
  return kernels.Register<CumulativeLogsumexpKernel>(
      Kernel("CumulativeLogsumexp").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}).HostMemory("axis"));
}

}  // namespace weir
