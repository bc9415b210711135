// Isotonic regression by pooling adjacent violators.
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/counting/family.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

// The non-increasing row that is nearest to each row of the input, and which of the runs that were levelled each
// element belongs to.
class IsotonicRegressionKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(ctx, input, DT_DOUBLE));
    ASSIGN_OR_RETURN(Tensor fitted, ctx.allocate_temp(DT_DOUBLE, input.shape()));
    ASSIGN_OR_RETURN(Tensor * segments, ctx.allocate_output(1, input.shape()));
    // A scalar is a row of one.
    const int64_t width = input.dims() == 0 ? 1 : input.dim_size(input.dims() - 1),
                  rows = width == 0 ? 0 : input.NumElements() / width;
    for (int64_t row = 0; row < rows; ++row) {
      FitRow(values.data<double>() + row * width, width, fitted.data<double>() + row * width,
             segments->data<int32_t>() + row * width);
    }
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, fitted, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  struct Run {
    double sum;
    int64_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };

  static void FitRow(const double* x, int64_t n, double* fitted, int32_t* segments) {
    std::vector<Run> runs;
    for (int64_t i = 0; i < n; ++i) {
      Run run{x[i], 1};
      while (!runs.empty() && runs.back().mean() < run.mean()) {
        run.sum += runs.back().sum;
        run.count += runs.back().count;
        runs.pop_back();
      }
      runs.push_back(run);
    }
    int64_t at = 0;
    for (size_t r = 0; r < runs.size(); ++r) {
      for (int64_t j = 0; j < runs[r].count; ++j, ++at) {
        fitted[at] = runs[r].mean();
        segments[at] = static_cast<int32_t>(r);
      }
    }
  }
};

}  // namespace

absl::Status RegisterIsotonicKernels(KernelRegistry& kernels) {
  static constexpr DataType kTypes[] = {
#define WEIR_TYPE(T) DataTypeOf<T>(),
      WEIR_FOR_REALS(WEIR_TYPE)
#undef WEIR_TYPE
  };
  return kernels.Register<IsotonicRegressionKernel>(Kernel("IsotonicRegression").Cpu().Types("T", kTypes));
}

}  // namespace weir
