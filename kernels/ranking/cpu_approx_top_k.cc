// ApproxTopK: the k largest (or smallest) elements along a dimension. The CPU returns the exact ones.
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

class ApproxTopKKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    bool aggregate;
    RETURN_IF_ERROR(ctx.GetAttr("k", &k_));
    RETURN_IF_ERROR(ctx.GetAttr("reduction_dimension", &axis_));
    RETURN_IF_ERROR(ctx.GetAttr("is_max_k", &greatest_));
    RETURN_IF_ERROR(ctx.GetAttr("aggregate_to_topk", &aggregate));
    if (aggregate) return absl::OkStatus();
    return errors::Unimplemented("ApproxTopK with aggregate_to_topk=false is for accelerators");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape shape = ctx.input(0).shape();
    const int64_t axis = axis_ < 0 ? axis_ + shape.dims() : axis_;
    if (axis < 0 || axis >= shape.dims()) {
      return errors::InvalidArgument("reduction_dimension ", axis_, " is out of range for shape ", shape.ToString());
    }
    const int64_t n = shape.dim_size(static_cast<int>(axis));
    if (n < k_) return errors::InvalidArgument("input must have at least k (", k_, ") columns, got ", n);
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
    const int64_t lines = n == 0 ? 0 : shape.num_elements() / n;
    RETURN_IF_ERROR(shape.SetDim(static_cast<int>(axis), k_));
    ASSIGN_OR_RETURN(const Tensor input, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(DT_FLOAT, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, shape));
    ParallelRanges(ctx, lines, n * 10'000, [&](int64_t begin, int64_t end) {
      std::vector<int32_t> order(n);
      for (int64_t line = begin; line < end; ++line) {
        const float* const x = input.data<float>() + line / inner * n * inner + line % inner;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k_, order.end(), [&](int32_t a, int32_t b) {
          const float p = x[a * inner], q = x[b * inner];
          return p == q ? a < b : greatest_ ? p > q : p < q;
        });
        const int64_t to = line / inner * k_ * inner + line % inner;
        for (int64_t i = 0; i < k_; ++i) {
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
  int64_t k_ = 0, axis_ = -1;
  bool greatest_ = true;
};

}  // namespace

absl::Status RegisterApproxTopKKernels(KernelRegistry& kernels) {
  return kernels.Register<ApproxTopKKernel>(Kernel("ApproxTopK").Cpu().Types("T", {DT_HALF, DT_BFLOAT16, DT_FLOAT}));
}

}  // namespace weir
