// Batch normalisation and its gradient. What a training step keeps for its gradient is the mean and the variance of the
// batch, as the CPU's kernel has it.
#include "core/channel_vector.h"
#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/norm_bodies.h"

namespace weir {
namespace {

class BatchNormBase : public GpuOpKernel {
 protected:
  absl::Status ReadAttrs(OpKernelConstruction& ctx) {
    std::string format;
    RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
    channels_first_ = format == "NCHW" || format == "NCDHW";
    RETURN_IF_ERROR(ctx.GetAttr("epsilon", &args_.epsilon));
    args_.average_factor = 1;
    if (ctx.HasAttr("exponential_avg_factor")) {
      RETURN_IF_ERROR(ctx.GetAttr("exponential_avg_factor", &args_.average_factor));
    }
    return ctx.GetAttr("is_training", &args_.is_training);
  }
  // What the attributes and a shape give.
  absl::StatusOr<NormArgs> ArgsFor(const TensorShape& x) const {
    if (x.dims() != 4 && x.dims() != 5) {
      return errors::InvalidArgument("input must be 4 or 5-dimensional: ", x.ToString());
    }
    const int axis = channels_first_ ? 1 : x.dims() - 1;
    NormArgs args = args_;
    args.channels = x.dim_size(axis);
    args.inner = x.num_elements() == 0 ? 1 : CountBehind(x, axis);
    args.per_channel = x.num_elements() == 0 ? 0 : CountBefore(x, axis) * args.inner;
    return args;
  }

 private:
  bool channels_first_ = false;
  NormArgs args_{};
};

class BatchNormKernel : public BatchNormBase {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(mean_, FindBody("NormMean", type));
    ASSIGN_OR_RETURN(variance_, FindBody("NormVariance", type));
    ASSIGN_OR_RETURN(apply_, FindBody("NormApply", type));
    return ReadAttrs(ctx);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor x = ctx.input(0), scale = ctx.input(1), offset = ctx.input(2);
    ASSIGN_OR_RETURN(NormArgs args, ArgsFor(x.shape()));
    const bool reads_statistics = !args.is_training || args.average_factor != 1;
    const char* const names[] = {"", "scale", "offset", "mean", "variance"};
    for (int i = 1; i <= (reads_statistics ? 4 : 2); ++i) {
      RETURN_IF_ERROR(CheckChannelVector(ctx.input(i), names[i], args.channels));
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.allocate_output(0, x.shape()));
    if (ctx.num_outputs() > 5) RETURN_IF_ERROR(ctx.allocate_output(5, TensorShape({0})).status());
    Tensor mean = ctx.input(3), variance = ctx.input(4);
    if (args.is_training) {
      RETURN_IF_ERROR(Statistics(ctx, stream, x, reads_statistics, &args, &mean, &variance));
    } else {
      for (int i : {1, 3}) ctx.set_output(i, mean);
      for (int i : {2, 4}) ctx.set_output(i, variance);
    }
    args.count = x.NumElements();
    if (args.count == 0) return absl::OkStatus();
    args.x = x.raw_data();
    args.result = y->raw_data();
    args.scale = scale.data<float>();
    args.offset = offset.data<float>();
    args.mean = static_cast<float*>(mean.raw_data());
    args.variance = static_cast<float*>(variance.raw_data());
    return stream.LaunchWith(apply_, args,
                             {ReadOf(x), ReadOf(scale), ReadOf(offset), ReadOf(mean), ReadOf(variance), WriteOf(*y)});
  }

  // Of the batch, and the running averages: outputs 1 to 4. Gives the former.
  absl::Status Statistics(OpKernelContext& ctx, GpuStream& stream, const Tensor& x, bool mixes, NormArgs* args,
                          Tensor* mean, Tensor* variance) const {
    const Tensor old_mean = *mean, old_variance = *variance;
    Tensor* outputs[5] = {};
    for (int i = 1; i < 5; ++i) {
      ASSIGN_OR_RETURN(outputs[i], ctx.allocate_output(i, TensorShape({args->channels})));
    }
    *mean = *outputs[3];
    *variance = *outputs[4];
    if (args->channels == 0) return absl::OkStatus();
    args->x = x.raw_data();
    args->new_mean = outputs[1]->data<float>();
    args->new_variance = outputs[2]->data<float>();
    args->mean = outputs[3]->data<float>();
    args->variance = outputs[4]->data<float>();
    args->count = args->channels;
    std::vector<GpuAccess> reads_mean = {ReadOf(x), WriteOf(*outputs[1]), WriteOf(*outputs[3])};
    std::vector<GpuAccess> reads_variance = {ReadOf(x), ReadOf(*outputs[3]), WriteOf(*outputs[2]),
                                             WriteOf(*outputs[4])};
    if (mixes) {
      args->old_mean = old_mean.data<float>();
      args->old_variance = old_variance.data<float>();
      reads_mean.push_back(ReadOf(old_mean));
      reads_variance.push_back(ReadOf(old_variance));
    }
    RETURN_IF_ERROR(stream.LaunchWith(mean_, *args, reads_mean));
    return stream.LaunchWith(variance_, *args, reads_variance);
  }

  GpuKernel mean_, variance_, apply_;
};

class BatchNormGradKernel : public BatchNormBase {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(sums_, FindBody("NormGradSums", type));
    ASSIGN_OR_RETURN(apply_, FindBody("NormGradApply", type));
    return ReadAttrs(ctx);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& dy = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const Tensor& scale = ctx.input(2);
    const Tensor& mean = ctx.input(3);
    const Tensor& variance = ctx.input(4);
    if (dy.shape() != x.shape()) {
      return errors::InvalidArgument("x and y_backprop must have same shape, but x has shape ", x.shape().ToString(),
                                     " and y_backprop has shape ", dy.shape().ToString());
    }
    ASSIGN_OR_RETURN(NormArgs args, ArgsFor(x.shape()));
    const char* const names[] = {"scale", "saved mean", "saved variance"};
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(CheckChannelVector(ctx.input(2 + i), names[i], args.channels));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.allocate_output(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor * dscale, ctx.allocate_output(1, TensorShape({args.channels})));
    ASSIGN_OR_RETURN(Tensor * doffset, ctx.allocate_output(2, TensorShape({args.channels})));
    for (int i : {3, 4}) {
      ASSIGN_OR_RETURN(Tensor * unused, ctx.allocate_output(i, TensorShape()));
      RETURN_IF_ERROR(stream.Fill(unused->raw_data(), 0, sizeof(float)));
    }
    if (args.channels == 0) return absl::OkStatus();
    args.dy = dy.raw_data();
    args.x = x.raw_data();
    args.scale = scale.data<float>();
    args.mean = static_cast<float*>(mean.raw_data());
    args.variance = static_cast<float*>(variance.raw_data());
    args.dscale = dscale->data<float>();
    args.doffset = doffset->data<float>();
    args.result = dx->raw_data();
    args.count = args.channels;
    RETURN_IF_ERROR(stream.LaunchWith(
        sums_, args, {ReadOf(dy), ReadOf(x), ReadOf(mean), ReadOf(variance), WriteOf(*dscale), WriteOf(*doffset)}));
    args.count = x.NumElements();
    if (args.count == 0) return absl::OkStatus();
    return stream.LaunchWith(apply_, args,
                             {ReadOf(dy), ReadOf(x), ReadOf(scale), ReadOf(mean), ReadOf(variance), ReadOf(*dscale),
                              ReadOf(*doffset), WriteOf(*dx)});
  }

  GpuKernel sums_, apply_;
};

}  // namespace

absl::Status RegisterGpuNormKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) {
    return Kernel(op).Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}).Types("U", {DT_FLOAT});
  };
  RETURN_IF_ERROR(
      kernels.Register<BatchNormKernel>(Kernel("FusedBatchNorm").Device(kDeviceGpu).Types("T", {DT_FLOAT})));
  RETURN_IF_ERROR(
      kernels.Register<BatchNormGradKernel>(Kernel("FusedBatchNormGrad").Device(kDeviceGpu).Types("T", {DT_FLOAT})));
  for (const char* op : {"FusedBatchNormV2", "FusedBatchNormV3"}) {
    RETURN_IF_ERROR(kernels.Register<BatchNormKernel>(kernel(op)));
  }
  for (const char* op : {"FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    RETURN_IF_ERROR(kernels.Register<BatchNormGradKernel>(kernel(op)));
  }
  return absl::OkStatus();
}

}  // namespace weir
