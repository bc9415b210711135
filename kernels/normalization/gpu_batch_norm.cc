// Batch normalisation and its gradient: training steps by a library where it has a plan, and all else by kernels of its
// own. What a training step keeps for its gradient is the mean and the variance of the batch, as the CPU's kernel has
// it, whoever computed it.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/normalization/args.h"
#include "kernels/normalization/device.h"
#include "kernels/normalization/family.h"
#include "kernels/normalization/gpu/norm_library.h"

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
    if (ctx.HasAttr("activation_mode")) RETURN_IF_ERROR(ReadFused(ctx));
    RETURN_IF_ERROR(ctx.GetAttr("is_training", &args_.is_training));
    if (!args_.is_training) return absl::OkStatus();
    ASSIGN_OR_RETURN(planner_, NormPlannerOf(gpu()));
    return absl::OkStatus();
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
  NormProblem ProblemOf(NormDirection direction, DataType type, const TensorShape& x) const {
    return NormProblem::Of(direction, type, channels_first_, x);
  }
  bool is_training() const { return args_.is_training; }
  bool has_relu() const { return args_.relu; }
  int64_t num_sides() const { return num_sides_; }
  NormPlanner& planner() const { return *planner_; }

 private:
  // What the ops that TensorFlow's optimizer makes have besides.
  absl::Status ReadFused(OpKernelConstruction& ctx) {
    std::string mode;
    RETURN_IF_ERROR(ctx.GetAttr("activation_mode", &mode));
    RETURN_IF_ERROR(ctx.GetAttr("num_side_inputs", &num_sides_));
    args_.relu = mode == "Relu";
    if (mode == "Relu" || mode == "Identity") return absl::OkStatus();
    return errors::Unimplemented(ctx.op(), " on a GPU has the activations Identity and Relu, not ", mode);
  }

  bool channels_first_ = false;
  int64_t num_sides_ = 0;
  NormArgs args_{};
  std::shared_ptr<NormPlanner> planner_;  // of training steps
};

class BatchNormKernel : public BatchNormBase {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(mean_, FindBody("NormMean", type));
    ASSIGN_OR_RETURN(variance_, FindBody("NormVariance", type));
    ASSIGN_OR_RETURN(apply_, FindBody("NormApply", type));
    ASSIGN_OR_RETURN(average_, FindBody("NormAverage", type));
    RETURN_IF_ERROR(ReadAttrs(ctx));
    if (num_sides() <= 1) return absl::OkStatus();
    return errors::Unimplemented(ctx.op(), " on a GPU adds at most one image, not ", num_sides());
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor x = ctx.input(0), scale = ctx.input(1), offset = ctx.input(2);
    ASSIGN_OR_RETURN(NormArgs args, ArgsFor(x.shape()));
    const bool reads_statistics = !args.is_training || args.average_factor != 1;
    const char* const names[] = {"", "scale", "offset", "mean", "variance"};
    for (int i = 1; i <= (reads_statistics ? 4 : 2); ++i) {
      RETURN_IF_ERROR(CheckChannelVector(ctx.input(i), names[i], args.channels));
    }
    if (num_sides() > 0 && ctx.input(5).shape() != x.shape()) {
      return errors::InvalidArgument("side_input must have the shape of x, ", x.shape().ToString(), ", not ",
                                     ctx.input(5).shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.allocate_output(0, x.shape()));
    if (ctx.num_outputs() > 5) RETURN_IF_ERROR(ctx.allocate_output(5, TensorShape({0})).status());
    Tensor mean = ctx.input(3), variance = ctx.input(4);
    if (args.is_training) {
      RETURN_IF_ERROR(PrepareStatistics(ctx, reads_statistics, &args, &mean, &variance));
      ASSIGN_OR_RETURN(const bool is_done, ByLibrary(ctx, stream, args, x, *y));
      if (is_done) return absl::OkStatus();
      RETURN_IF_ERROR(Statistics(ctx, stream, x, args));
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
    std::vector<GpuAccess> accesses = {ReadOf(x),    ReadOf(scale),    ReadOf(offset),
                                       ReadOf(mean), ReadOf(variance), WriteOf(*y)};
    if (num_sides() > 0) {
      args.side = ctx.input(5).raw_data();
      accesses.push_back(ReadOf(ctx.input(5)));
    }
    return stream.LaunchWith(apply_, args, accesses);
  }

  // Outputs 1 to 4, the running averages and those of the batch; gives the latter.
  static absl::Status PrepareStatistics(OpKernelContext& ctx, bool mixes, NormArgs* args, Tensor* mean,
                                        Tensor* variance) {
    if (mixes) {
      args->old_mean = mean->data<float>();
      args->old_variance = variance->data<float>();
    }
    Tensor* outputs[5] = {};
    for (int i = 1; i < 5; ++i) {
      ASSIGN_OR_RETURN(outputs[i], ctx.allocate_output(i, TensorShape({args->channels})));
    }
    *mean = *outputs[3];
    *variance = *outputs[4];
    args->new_mean = outputs[1]->data<float>();
    args->new_variance = outputs[2]->data<float>();
    args->mean = outputs[3]->data<float>();
    args->variance = outputs[4]->data<float>();
    return absl::OkStatus();
  }

  static GpuAccess Vector(const NormArgs& args, const float* data, bool is_written) {
    const size_t bytes = static_cast<size_t>(args.channels) * sizeof(float);
    return is_written ? GpuAccess::Write(const_cast<float*>(data), bytes) : GpuAccess::Read(data, bytes);
  }

  absl::Status Statistics(OpKernelContext& ctx, GpuStream& stream, const Tensor& x, NormArgs args) const {
    if (args.channels == 0) return absl::OkStatus();
    args.x = x.raw_data();
    args.count = args.channels;
    std::vector<GpuAccess> for_mean = {ReadOf(x), Vector(args, args.new_mean, true), Vector(args, args.mean, true)};
    std::vector<GpuAccess> for_variance = {ReadOf(x), Vector(args, args.mean, false),
                                           Vector(args, args.new_variance, true), Vector(args, args.variance, true)};
    if (args.old_mean != nullptr) {
      for_mean.push_back(Vector(args, args.old_mean, false));
      for_variance.push_back(Vector(args, args.old_variance, false));
    }
    RETURN_IF_ERROR(stream.LaunchWith(mean_, args, for_mean));
    return stream.LaunchWith(variance_, args, for_variance);
  }

  // All outputs. The library averages the batch alone, and NormAverage mixes that with what was: so the variance of the
  // batch is as exact as the sample's. False: it cannot, and nothing was enqueued that matters.
  absl::StatusOr<bool> ByLibrary(OpKernelContext& ctx, GpuStream& stream, NormArgs args, const Tensor& x,
                                 const Tensor& y) const {
    NormProblem problem = ProblemOf(NormDirection::kForward, x.dtype(), x.shape());
    problem.has_side = num_sides() > 0;
    problem.has_relu = has_relu();
    NormBuffers buffers{.x = x.raw_data(),
                        .side = problem.has_side ? ctx.input(5).raw_data() : nullptr,
                        .result = y.raw_data(),
                        .scale = ctx.input(1).data<float>(),
                        .offset = ctx.input(2).data<float>(),
                        .mean = args.mean,
                        .epsilon = args.epsilon};
    if (!IsForLibraries(problem, buffers)) return false;
    Tensor vectors[4];
    for (Tensor& vector : vectors) {
      ASSIGN_OR_RETURN(vector, ctx.allocate_temp(DT_FLOAT, TensorShape({args.channels})));
    }
    buffers.zeros = vectors[0].data<float>();
    buffers.running_mean = vectors[1].data<float>();
    buffers.running_variance = vectors[2].data<float>();
    buffers.inverse_deviation = vectors[3].data<float>();
    RETURN_IF_ERROR(stream.Fill(vectors[0].raw_data(), 0, static_cast<size_t>(vectors[0].TotalBytes())));
    ASSIGN_OR_RETURN(const bool is_done, NormaliseByLibrary(ctx, stream, planner(), problem, buffers));
    if (!is_done) return false;
    args.sample_variance = buffers.running_variance;
    args.count = args.channels;
    std::vector<GpuAccess> accesses = {ReadOf(vectors[2]), Vector(args, args.mean, false),
                                       Vector(args, args.variance, true), Vector(args, args.new_mean, true),
                                       Vector(args, args.new_variance, true)};
    if (args.old_mean != nullptr) {
      accesses.push_back(Vector(args, args.old_mean, false));
      accesses.push_back(Vector(args, args.old_variance, false));
    }
    RETURN_IF_ERROR(stream.LaunchWith(average_, args, accesses));
    return true;
  }

  GpuKernel mean_, variance_, apply_, average_;
};

class BatchNormGradKernel : public BatchNormBase {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(sums_, FindBody("NormGradSums", type));
    ASSIGN_OR_RETURN(apply_, FindBody("NormGradApply", type));
    ASSIGN_OR_RETURN(inverse_, FindBody("NormInverse", type));
    ASSIGN_OR_RETURN(relu_, FindBody("NormReluGrad", type));
    return ReadAttrs(ctx);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    Tensor dy = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const Tensor& scale = ctx.input(2);
    const Tensor& mean = ctx.input(3);
    const Tensor& variance = ctx.input(4);
    if (dy.shape() != x.shape()) {
      return errors::InvalidArgument("x and y_backprop must have same shape, but x has shape ", x.shape().ToString(),
                                     " and y_backprop has shape ", dy.shape().ToString());
    }
    ASSIGN_OR_RETURN(NormArgs args, ArgsFor(x.shape()));
    if (has_relu()) {
      ASSIGN_OR_RETURN(dy, ThroughRelu(ctx, stream, dy, args));
    }
    for (int64_t i = 0; i < num_sides(); ++i) ctx.set_output(static_cast<int>(5 + i), dy);
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
    if (is_training()) {
      ASSIGN_OR_RETURN(const bool is_done, ByLibrary(ctx, stream, args, dy, x, *dx, *dscale, *doffset));
      if (is_done) return absl::OkStatus();
    }
    args.count = args.channels;
    RETURN_IF_ERROR(stream.LaunchWith(
        sums_, args, {ReadOf(dy), ReadOf(x), ReadOf(mean), ReadOf(variance), WriteOf(*dscale), WriteOf(*doffset)}));
    args.count = x.NumElements();
    if (args.count == 0) return absl::OkStatus();
    return stream.LaunchWith(apply_, args,
                             {ReadOf(dy), ReadOf(x), ReadOf(scale), ReadOf(mean), ReadOf(variance), ReadOf(*dscale),
                              ReadOf(*doffset), WriteOf(*dx)});
  }

  // What of dy passes where y, the last input, is positive.
  absl::StatusOr<Tensor> ThroughRelu(OpKernelContext& ctx, GpuStream& stream, const Tensor& dy, NormArgs args) const {
    const Tensor& y = ctx.input(7);
    if (y.shape() != dy.shape()) {
      return errors::InvalidArgument("y and y_backprop must have same shape, but y has shape ", y.shape().ToString(),
                                     " and y_backprop has shape ", dy.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor passed, ctx.allocate_temp(dy.dtype(), dy.shape()));
    args.dy = dy.raw_data();
    args.y = y.raw_data();
    args.result = passed.raw_data();
    args.count = dy.NumElements();
    if (args.count == 0) return passed;
    RETURN_IF_ERROR(stream.LaunchWith(relu_, args, {ReadOf(dy), ReadOf(y), WriteOf(passed)}));
    return passed;
  }

  absl::StatusOr<bool> ByLibrary(OpKernelContext& ctx, GpuStream& stream, NormArgs args, const Tensor& dy,
                                 const Tensor& x, const Tensor& dx, const Tensor& dscale, const Tensor& doffset) const {
    const NormProblem problem = ProblemOf(NormDirection::kBackward, x.dtype(), x.shape());
    NormBuffers buffers{.x = x.raw_data(),
                        .dy = dy.raw_data(),
                        .result = dx.raw_data(),
                        .scale = args.scale,
                        .mean = args.mean,
                        .dscale = args.dscale,
                        .doffset = args.doffset,
                        .epsilon = args.epsilon};
    if (!IsForLibraries(problem, buffers)) return false;
    ASSIGN_OR_RETURN(Tensor inverse, ctx.allocate_temp(DT_FLOAT, TensorShape({args.channels})));
    args.inverse_deviation = buffers.inverse_deviation = inverse.data<float>();
    args.count = args.channels;
    RETURN_IF_ERROR(stream.LaunchWith(inverse_, args, {ReadOf(ctx.input(4)), WriteOf(inverse)}));
    return NormaliseByLibrary(ctx, stream, planner(), problem, buffers);
  }

  GpuKernel sums_, apply_, inverse_, relu_;
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
  RETURN_IF_ERROR(kernels.Register<BatchNormKernel>(kernel("_FusedBatchNormEx")));
  RETURN_IF_ERROR(kernels.Register<BatchNormGradKernel>(
      Kernel("_FusedBatchNormGradEx").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF}).Types("U", {DT_FLOAT})));
  return absl::OkStatus();
}

}  // namespace weir
