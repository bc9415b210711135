// Pooling over three dimensions, pooling with argmax, and second-order gradients: plain loops, a thread for each
// output.
#include "absl/strings/match.h"
#include "core/tensor/index_tensor.h"
#include "kernels/convolution/args_volume.h"
#include "kernels/convolution/window_plan.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

absl::Status CheckShape(const Tensor& tensor, const TensorShape& expected, const char* name) {
  if (tensor.shape() == expected) return absl::OkStatus();
  return errors::InvalidArgument("Expected ", name, " shape to be ", expected.ToString(), ", but got ",
                                 tensor.shape().ToString());
}

// Inputs: the image; original input (or its shape), for maxima the original output, and the gradient. The second
// version of a two-dimensional op has ksize and strides as its last inputs.
class VolumePoolKernel : public GpuOpKernel {
  enum class Kind { kForward, kGrad, kGradGrad };

  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const std::string& op = ctx.op();
    kind_ = absl::StrContains(op, "GradGrad") ? Kind::kGradGrad
            : absl::StrContains(op, "Grad")   ? Kind::kGrad
                                              : Kind::kForward;
    is_average_ = absl::StartsWith(op, "Avg");
    ASSIGN_OR_RETURN(kernel_, FindBody(absl::StrCat(is_average_ ? "Avg" : "Max", "Pool3D",
                                                    kind_ == Kind::kGradGrad ? "GradGrad"
                                                    : kind_ == Kind::kGrad   ? "Grad"
                                                                             : ""),
                                       ctx.output_types()[0]));
    has_window_inputs_ = !ctx.HasAttr("ksize");
    if (!has_window_inputs_) {
      ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
      return absl::OkStatus();
    }
    std::string format;
    RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
    attrs_.spatial = 2;
    attrs_.channels_first = format == "NCHW";
    return ctx.GetAttr("padding", &attrs_.padding);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    VolumeAttrs attrs = attrs_;
    if (has_window_inputs_) {
      ASSIGN_OR_RETURN(const DimVector ksize, ReadIntegers(ctx.input(3)));
      ASSIGN_OR_RETURN(const DimVector strides, ReadIntegers(ctx.input(4)));
      RETURN_IF_ERROR(attrs.SetWindows(ksize, strides));
    }
    const bool is_from_shape = is_average_ && kind_ == Kind::kGrad;
    TensorShape in = ctx.input(0).shape();
    if (is_from_shape) {
      ASSIGN_OR_RETURN(in, ReadSizes(ctx.input(0), "orig_input_shape"));
    }
    ASSIGN_OR_RETURN(const VolumeShape shape, VolumeShape::Make(attrs, in, nullptr));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(shape.channels));
    if (is_from_shape) {
      RETURN_IF_ERROR(CheckShape(ctx.input(1), out, "grad"));
    } else if (kind_ != Kind::kForward) {
      RETURN_IF_ERROR(CheckShape(ctx.input(1), out, "orig_output"));
      RETURN_IF_ERROR(CheckShape(ctx.input(2), kind_ == Kind::kGrad ? out : in, "grad"));
    }
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, kind_ == Kind::kGrad ? in : out));
    if (result->NumElements() == 0) return absl::OkStatus();
    VolumeArgs args = PlanOf(shape);
    args.result = result->raw_data();
    args.count = result->NumElements();
    std::vector<GpuAccess> accesses = {WriteOf(*result)};
    const auto read = [&](const Tensor& tensor) {
      accesses.push_back(ReadOf(tensor));
      return tensor.raw_data();
    };
    if (!is_from_shape) args.input = read(ctx.input(0));
    if (kind_ == Kind::kGrad) args.output = read(ctx.input(is_from_shape ? 1 : 2));
    if (kind_ == Kind::kGradGrad) args.other = read(ctx.input(2));
    return stream.LaunchWith(kernel_, args, accesses);
  }

  Kind kind_ = Kind::kForward;
  bool is_average_ = false, has_window_inputs_ = false;
  VolumeAttrs attrs_;
  GpuKernel kernel_;
};

class MaxPoolWithArgmaxKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("include_batch_in_index", &include_batch_));
    ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
    if (attrs_.spatial != 2) {
      return errors::InvalidArgument("Sliding window ksize field must specify 4 dimensions");
    }
    ASSIGN_OR_RETURN(kernel_, FindBody("MaxPoolWithArgmax", ctx.input_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const VolumeShape shape, VolumeShape::Make(attrs_, in.shape(), nullptr));
    if (in.NumElements() == 0) return errors::InvalidArgument("tensor_in must not be empty (2)");
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(shape.channels));
    ASSIGN_OR_RETURN(Tensor * best, ctx.allocate_output(0, out));
    ASSIGN_OR_RETURN(Tensor * places, ctx.allocate_output(1, out));
    if (best->NumElements() == 0) return absl::OkStatus();
    VolumeArgs args = PlanOf(shape);
    args.input = in.raw_data();
    args.result = best->raw_data();
    args.places = places->raw_data();
    args.batch_in_places = include_batch_;
    args.count = best->NumElements();
    return stream.LaunchWith(kernel_, args, {ReadOf(in), WriteOf(*best), WriteOf(*places)});
  }

  VolumeAttrs attrs_;
  bool include_batch_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuVolumePoolingKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
    RETURN_IF_ERROR(kernels.Register<VolumePoolKernel>(Kernel("MaxPool3D").Device(kDeviceGpu).Types("T", {type})));
    RETURN_IF_ERROR(kernels.Register<VolumePoolKernel>(
        Kernel("MaxPool3DGrad").Device(kDeviceGpu).Types("T", {type}).Types("TInput", {type})));
  }
  for (const char* op : {"MaxPool3DGradGrad", "AvgPool3D", "MaxPoolGradGrad"}) {
    RETURN_IF_ERROR(kernels.Register<VolumePoolKernel>(kernel(op)));
  }
  RETURN_IF_ERROR(kernels.Register<VolumePoolKernel>(kernel("AvgPool3DGrad").HostMemory("orig_input_shape")));
  RETURN_IF_ERROR(
      kernels.Register<VolumePoolKernel>(kernel("MaxPoolGradGradV2").HostMemory("ksize").HostMemory("strides")));
  return kernels.Register<MaxPoolWithArgmaxKernel>(kernel("MaxPoolWithArgmax").Types("Targmax", {DT_INT64}));
}

}  // namespace weir
