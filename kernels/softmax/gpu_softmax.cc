#include "kernels/device/gpu/body_kernel.h"
#include "kernels/softmax/device.h"
#include "kernels/softmax/family.h"

namespace weir {
namespace {

// The maximum and the sum of shifted exponentials of each row of logits.
class RowStatistics {
 public:
  absl::Status Init(DataType type) {
    type_ = type;
    sum_type_ = type == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
    ASSIGN_OR_RETURN(max_, FindBody("Max", type));
    ASSIGN_OR_RETURN(sum_, FindBody("SoftmaxSum", type));
    return absl::OkStatus();
  }
  // The caller keeps it until the kernels that read its tensors are enqueued.
  struct Rows {
    Tensor maxima, sums;
    SoftmaxArgs args;
  };
  absl::StatusOr<Rows> Enqueue(OpKernelContext& ctx, GpuStream& stream, const Tensor& logits, int64_t rows,
                               int64_t width) const {
    Rows of;
    ASSIGN_OR_RETURN(of.maxima, ctx.allocate_temp(type_, TensorShape({rows})));
    ASSIGN_OR_RETURN(of.sums, ctx.allocate_temp(sum_type_, TensorShape({rows})));
    FoldArgs fold{.in = logits.raw_data(), .out = of.maxima.raw_data(), .length = width, .count = rows};
    ASSIGN_OR_RETURN(fold.kept, LayoutOf({rows}, {width}));
    ASSIGN_OR_RETURN(fold.folded, LayoutOf({width}, {1}));
    RETURN_IF_ERROR(stream.LaunchWith(max_, fold, {ReadOf(logits), WriteOf(of.maxima)}));
    of.args = {.logits = logits.raw_data(),
               .maxima = of.maxima.raw_data(),
               .sums = of.sums.raw_data(),
               .width = width,
               .count = rows};
    RETURN_IF_ERROR(stream.LaunchWith(sum_, of.args, {ReadOf(logits), ReadOf(of.maxima), WriteOf(of.sums)}));
    return of;
  }

 private:
  DataType type_ = DT_INVALID, sum_type_ = DT_INVALID;
  GpuKernel max_, sum_;
};

// Softmax and LogSoftmax.
class SoftmaxKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(rows_.Init(ctx.input_types()[0]));
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& logits = ctx.input(0);
    const TensorShape& shape = logits.shape();
    if (shape.dims() < 1) {
      return errors::InvalidArgument("logits must have >= 1 dimension, got ", shape.ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t width = shape.dim_size(shape.dims() - 1);
    ASSIGN_OR_RETURN(RowStatistics::Rows rows, rows_.Enqueue(ctx, stream, logits, logits.NumElements() / width, width));
    rows.args.out = output->raw_data();
    rows.args.count = output->NumElements();
    return stream.LaunchWith(kernel_, rows.args,
                             {ReadOf(logits), ReadOf(rows.maxima), ReadOf(rows.sums), WriteOf(*output)});
  }
  RowStatistics rows_;
  GpuKernel kernel_;
};

// SoftmaxCrossEntropyWithLogits, for logits and labels of one shape, and SparseSoftmaxCrossEntropyWithLogits.
class CrossEntropyKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    is_sparse_ = ctx.op() == "SparseSoftmaxCrossEntropyWithLogits";
    RETURN_IF_ERROR(rows_.Init(type));
    ASSIGN_OR_RETURN(loss_, FindBody(is_sparse_ ? "SparseCrossEntropyLoss" : "CrossEntropyLoss", type));
    ASSIGN_OR_RETURN(backprop_, FindBody(is_sparse_ ? "SparseCrossEntropyBackprop" : "CrossEntropyBackprop", type));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& logits = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    RETURN_IF_ERROR(Check(logits.shape(), labels.shape()));
    const int64_t num_rows = logits.dim_size(0), width = logits.dim_size(1);
    ASSIGN_OR_RETURN(Tensor * losses, ctx.allocate_output(0, TensorShape({num_rows})));
    ASSIGN_OR_RETURN(Tensor * backprop, ctx.allocate_output(1, logits.shape()));
    if (logits.NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(RowStatistics::Rows rows, rows_.Enqueue(ctx, stream, logits, num_rows, width));
    rows.args.labels = labels.raw_data();
    rows.args.wide_labels = labels.dtype() == DT_INT64;
    rows.args.losses = losses->raw_data();
    rows.args.out = backprop->raw_data();
    const GpuAccess reads[] = {ReadOf(logits), ReadOf(labels), ReadOf(rows.maxima), ReadOf(rows.sums)};
    RETURN_IF_ERROR(stream.LaunchWith(loss_, rows.args, {reads[0], reads[1], reads[2], reads[3], WriteOf(*losses)}));
    rows.args.count = logits.NumElements();
    return stream.LaunchWith(backprop_, rows.args, {reads[0], reads[1], reads[2], reads[3], WriteOf(*backprop)});
  }

  absl::Status Check(const TensorShape& logits, const TensorShape& labels) const {
    if (!is_sparse_) {
      if (logits == labels && logits.dims() == 2) return absl::OkStatus();
      return errors::Unimplemented(
          "SoftmaxCrossEntropyWithLogits on a GPU takes logits and labels of one 2-D shape, not ", logits.ToString(),
          " and ", labels.ToString());
    }
    if (!logits.IsMatrix()) return errors::InvalidArgument("logits must be 2-D, but got shape ", logits.ToString());
    if (!labels.IsVector()) return errors::InvalidArgument("labels must be 1-D, but got shape ", labels.ToString());
    if (logits.dim_size(0) != labels.dim_size(0)) {
      return errors::InvalidArgument("logits and labels must have the same first dimension, got logits shape ",
                                     logits.ToString(), " and labels shape ", labels.ToString());
    }
    if (logits.dim_size(1) > 0) return absl::OkStatus();
    return errors::InvalidArgument("Must have at least one class, but got logits shape ", logits.ToString());
  }

  bool is_sparse_ = false;
  RowStatistics rows_;
  GpuKernel loss_, backprop_;
};

}  // namespace

absl::Status RegisterGpuSoftmaxKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  for (const char* op : {"Softmax", "LogSoftmax"}) RETURN_IF_ERROR(kernels.Register<SoftmaxKernel>(kernel(op)));
  RETURN_IF_ERROR(kernels.Register<CrossEntropyKernel>(kernel("SoftmaxCrossEntropyWithLogits")));
  return kernels.Register<CrossEntropyKernel>(
      kernel("SparseSoftmaxCrossEntropyWithLogits").Types("Tlabels", {DT_INT32, DT_INT64}));
}

}  // namespace weir
