// ApproxTopK: the largest (or smallest) elements along a dimension. The CPU returns the exact ones, sorted.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/ranking/approx_top_k.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

int Log2Floor(int64_t value) { return value < 1 ? 0 : 63 - __builtin_clzll(value); }
int Log2Ceiling(int64_t value) { return value < 2 ? 0 : Log2Floor(value - 1) + 1; }
int64_t CeilOfRatio(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

class ApproxTopKKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("reduction_dimension", &axis_));
    RETURN_IF_ERROR(ctx.GetAttr("is_max_k", &greatest_));
    ASSIGN_OR_RETURN(size_, ApproxTopKSize::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape shape = ctx.input(0).shape();
    const int64_t axis = axis_ < 0 ? axis_ + shape.dims() : axis_;
    if (axis < 0 || axis >= shape.dims()) {
      return errors::InvalidArgument("reduction_dimension ", axis_, " is out of range for shape ", shape.ToString());
    }
    const int64_t n = shape.dim_size(static_cast<int>(axis));
    ASSIGN_OR_RETURN(const int64_t count, size_.Of(n, shape.dims()));
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
    const int64_t lines = n == 0 ? 0 : shape.num_elements() / n;
    RETURN_IF_ERROR(shape.SetDim(static_cast<int>(axis), count));
    ASSIGN_OR_RETURN(const Tensor input, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(DT_FLOAT, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, shape));
    ParallelRanges(ctx, lines, n * 10'000, [&](int64_t begin, int64_t end) {
      std::vector<int32_t> order(n);
      for (int64_t line = begin; line < end; ++line) {
        const float* const x = input.data<float>() + line / inner * n * inner + line % inner;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
          const float p = x[a * inner], q = x[b * inner];
          return p == q ? a < b : greatest_ ? p > q : p < q;
        });
        const int64_t to = line / inner * count * inner + line % inner;
        for (int64_t i = 0; i < count; ++i) {
          values.data<float>()[to + i * inner] = x[order[i] * inner];
          indices->data<int32_t>()[to + i * inner] = order[i];
        }
      }
    });
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, values, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  ApproxTopKSize size_;
  int64_t axis_ = -1;
  bool greatest_ = true;
};

}  // namespace

absl::StatusOr<int64_t> ApproxTopKSize::Of(int64_t n, int rank) const {
  if (n < k) return errors::InvalidArgument("input must have last dimension >= k = ", k, " but was ", n);
  if (aggregate) return k;
  const int64_t tile = rank == 1 ? 1024 : 128;  // what one unit of an accelerator reduces
  if (n <= tile) return n;
  if (whole >= 0 && n > whole) {
    return errors::InvalidArgument("reduction_input_size_override: ", whole,
                                   " should be greater equals to operands[reduction_dim]: ", n);
  }
  if (!(recall > 0 && recall <= 1)) {
    return errors::InvalidArgument("recall_target must be in (0, 1], got ", recall);
  }
  if (k == 1) return tile;
  // With m windows, of which each keeps one element, an element of the best k is alone with the probability
  // (1 - 1 / m)^(k - 1), about exp((1 - k) / m). That is to be the recall.
  const double windows = std::max((1.0 - static_cast<double>(k)) / std::log(recall), static_cast<double>(tile));
  const int64_t m = recall < 1 && windows < static_cast<double>(n) ? static_cast<int64_t>(windows) : n;
  const int halvings = std::min(Log2Floor((whole >= 0 ? whole : n) / m), Log2Ceiling(n / tile));
  return halvings == 0 ? n : CeilOfRatio(CeilOfRatio(n, tile), int64_t{1} << halvings) * tile;
}

absl::Status RegisterApproxTopKKernels(KernelRegistry& kernels) {
  return kernels.Register<ApproxTopKKernel>(Kernel("ApproxTopK").Cpu().Types("T", {DT_HALF, DT_BFLOAT16, DT_FLOAT}));
}

}  // namespace weir
