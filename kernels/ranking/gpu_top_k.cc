#include <bit>
#include <limits>

#include "core/tensor/index_tensor.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/sort.h"
#include "kernels/ranking/device.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

// TopK takes k as an attribute, TopKV2 as an input. For small k it makes one pass over a row for each result; otherwise
// it sorts rows: all at once if a row's number fits into the key above the element's bits, else one by one.
class TopKKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    if (ctx.HasAttr("k")) RETURN_IF_ERROR(ctx.GetAttr("k", &k_));
    ASSIGN_OR_RETURN(kernel_, FindBody("TopK", ctx.input_types()[0], ctx.output_types()[1]));
    ASSIGN_OR_RETURN(keys_, FindBody("TopKeys", ctx.input_types()[0]));
    ASSIGN_OR_RETURN(take_, FindBody("TopTake", ctx.input_types()[0], ctx.output_types()[1]));
    is_wide_ = DataTypeSize(ctx.input_types()[0]) == 8;
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    int64_t k = k_;
    if (ctx.num_inputs() > 1) {
      if (ctx.input(1).dims() != 0) {
        return errors::InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
      }
      ASSIGN_OR_RETURN(k, ReadInteger(ctx.input(1), "k"));
    }
    const Tensor& input = ctx.input(0);
    if (k < 0) return errors::InvalidArgument("Need k >= 0, got ", k);
    if (input.dims() < 1) return errors::InvalidArgument("input must be >= 1-D, got shape ", input.shape().ToString());
    const int64_t width = input.dim_size(input.dims() - 1);
    if (width < k) return errors::InvalidArgument("input must have at least k columns. Had ", width, ", needed ", k);
    if (ctx.expected_output_dtype(1) == DT_INT32 && width > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("input has ", width, " columns, which index_type int32 cannot count");
    }
    TensorShape shape = input.shape();
    RETURN_IF_ERROR(shape.SetDim(shape.dims() - 1, k));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(1, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t rows = shape.num_elements() / k;
    if (PaysToSort(rows, width, k)) return Sort(ctx, stream, rows, width, k, *values, *indices);
    return stream.LaunchWith(kernel_,
                             TopArgs{.in = input.raw_data(),
                                     .values = values->raw_data(),
                                     .indices = indices->raw_data(),
                                     .width = width,
                                     .k = k,
                                     .count = rows},
                             {ReadOf(input), WriteOf(*values), WriteOf(*indices)});
  }

  bool PaysToSort(int64_t rows, int64_t width, int64_t k) const {
    constexpr int64_t kFew = 32, kFewRows = 64;
    return k > kFew && rows * width <= kMostSorted && (!is_wide_ || rows <= kFewRows);
  }

  absl::Status Sort(OpKernelContext& ctx, GpuStream& stream, int64_t rows, int64_t width, int64_t k,
                    const Tensor& values, const Tensor& indices) {
    constexpr int kNarrow = 32;  // bits of a key below the row's number
    const Tensor& input = ctx.input(0);
    const int64_t n = rows * width, each = is_wide_ ? width : n;
    Tensor keys[2], columns[2];
    for (int i : {0, 1}) {
      ASSIGN_OR_RETURN(keys[i], ctx.allocate_temp(DT_UINT64, TensorShape({n})));
      ASSIGN_OR_RETURN(columns[i], ctx.allocate_temp(DT_INT32, TensorShape({n})));
    }
    ASSIGN_OR_RETURN(const Tensor workspace, SortWorkspace(ctx, stream, each));
    TopSortArgs args{.in = input.raw_data(),
                     .keys = keys[0].data<uint64_t>(),
                     .columns = columns[0].data<int32_t>(),
                     .row_shift = is_wide_ ? 0 : kNarrow,
                     .values = values.raw_data(),
                     .indices = indices.raw_data(),
                     .width = width,
                     .k = k,
                     .count = n};
    RETURN_IF_ERROR(stream.LaunchWith(keys_, args, {ReadOf(input), WriteOf(keys[0]), WriteOf(columns[0])}));
    const int bits = is_wide_ ? 64 : kNarrow + static_cast<int>(std::bit_width(static_cast<uint64_t>(rows - 1)));
    for (int64_t first = 0; first < n; first += each) {
      RETURN_IF_ERROR(EnqueueSort(stream,
                                  {.keys_in = keys[0].data<uint64_t>() + first,
                                   .keys_out = keys[1].data<uint64_t>() + first,
                                   .values_in = columns[0].data<int32_t>() + first,
                                   .values_out = columns[1].data<int32_t>() + first,
                                   .bits = bits,
                                   .count = each},
                                  workspace,
                                  {ReadOf(keys[0]), ReadOf(columns[0]), WriteOf(keys[1]), WriteOf(columns[1])}));
    }
    args.columns = columns[1].data<int32_t>();
    args.count = rows * k;
    return stream.LaunchWith(take_, args, {ReadOf(input), ReadOf(columns[1]), WriteOf(values), WriteOf(indices)});
  }

  int64_t k_ = 0;
  bool is_wide_ = false;
  GpuKernel kernel_, keys_, take_;
};

}  // namespace

absl::Status RegisterGpuTopKKernels(KernelRegistry& kernels) {
  constexpr DataType kNumbers[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  constexpr DataType kIndices[] = {DT_INT32, DT_INT64};
  const auto kernel = [&](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kNumbers); };
  RETURN_IF_ERROR(kernels.Register<TopKKernel>(kernel("TopK")));
  return kernels.Register<TopKKernel>(kernel("TopKV2").Types("index_type", kIndices).HostMemory("k"));
}

}  // namespace weir
