// Convolutions and depthwise convolutions over rows and columns, with their gradients: by cuDNN if it has a plan, else
// by plain loops.
#include "core/tensor/index_tensor.h"
#include "kernels/convolution/args.h"
#include "kernels/convolution/device.h"
#include "kernels/convolution/family.h"
#include "kernels/convolution/gpu/library_convolution.h"
#include "kernels/convolution/window_plan.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

using Kind = ConvolutionDirection;

// Inputs: image and filter. A gradient op takes the shape of its result in place of one of them, and the output's
// gradient third.
class ConvolutionKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const ConvolutionOp op(ctx.op());
    kind_ = op.direction;
    is_depthwise_ = op.is_depthwise;
    RETURN_IF_ERROR(ctx.GetAttr("T", &type_));
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    ASSIGN_OR_RETURN(kernel_, FindBody(kind_ == Kind::kForward        ? "Convolve"
                                       : kind_ == Kind::kBackwardData ? "ConvolveBackpropInput"
                                                                      : "ConvolveBackpropFilter",
                                       type_));
    if (AreConvolvedByLibraries(type_)) {
      ASSIGN_OR_RETURN(planner_, ConvolutionPlannerOf(gpu()));
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    TensorShape in, filter;
    RETURN_IF_ERROR(ReadShapes(ctx, &in, &filter));
    if (kind_ != Kind::kForward) {
      RETURN_IF_ERROR(ConvolutionShape::CheckOperands(in, filter, ctx.input(2).shape(), Label()));
    }
    ConvolutionShape shape;
    if (is_depthwise_) {
      ASSIGN_OR_RETURN(shape,
                       ConvolutionShape::Depthwise(attrs_, in, filter, kind_ == Kind::kForward ? "depth" : "in_depth"));
    } else {
      ASSIGN_OR_RETURN(
          shape, ConvolutionShape::Of(attrs_, in, filter, kind_ == Kind::kForward ? "" : absl::StrCat(Label(), ": ")));
    }
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs_));
    if (kind_ != Kind::kForward) RETURN_IF_ERROR(shape.CheckGradient(attrs_, ctx.input(2).shape(), Label()));
    const TensorShape& result_shape = kind_ == Kind::kForward ? out : kind_ == Kind::kBackwardData ? in : filter;
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, result_shape));
    if (result->NumElements() == 0) return absl::OkStatus();
    if (shape.InputElements() == 0 || filter.num_elements() == 0 || shape.OutputElements() == 0) {
      return stream.Fill(result->raw_data(), 0, static_cast<size_t>(result->TotalBytes()));
    }
    // In place of what the op makes stands its result.
    const Tensor& image = kind_ == Kind::kBackwardData ? *result : ctx.input(0);
    const Tensor& weights = kind_ == Kind::kBackwardFilter ? *result : ctx.input(1);
    const Tensor& output = kind_ == Kind::kForward ? *result : ctx.input(2);
    if (planner_ != nullptr) {
      ASSIGN_OR_RETURN(const bool is_done,
                       ConvolveByLibrary(ctx, stream, *planner_, shape, kind_, {image, weights, output}));
      if (is_done) return absl::OkStatus();
    }
    const ConvolutionArgs args{.input = image.raw_data(),
                               .filter = weights.raw_data(),
                               .output = output.raw_data(),
                               .result = result->raw_data(),
                               .batch = shape.batch,
                               .in_channels = shape.in_channels,
                               .out_channels = shape.out_channels,
                               .groups = shape.groups,
                               .channels_first = shape.channels_first,
                               .rows = PlanOf(shape.rows),
                               .columns = PlanOf(shape.columns),
                               .count = result->NumElements()};
    const auto access = [this](const Tensor& tensor, Kind made_by) {
      return kind_ == made_by ? WriteOf(tensor) : ReadOf(tensor);
    };
    return stream.LaunchWith(
        kernel_, args,
        {access(image, Kind::kBackwardData), access(weights, Kind::kBackwardFilter), access(output, Kind::kForward)});
  }

  absl::Status ReadShapes(OpKernelContext& ctx, TensorShape* in, TensorShape* filter) const {
    *in = ctx.input(0).shape();
    *filter = ctx.input(1).shape();
    if (kind_ == Kind::kBackwardFilter) {
      ASSIGN_OR_RETURN(*filter, ReadShape(ctx.input(1)));
    }
    if (kind_ != Kind::kBackwardData) return absl::OkStatus();
    ASSIGN_OR_RETURN(*in, ReadShape(ctx.input(0)));
    if (in->dims() != 2 || is_depthwise_) return absl::OkStatus();
    // Rows and columns alone.
    const TensorShape& gradient = ctx.input(2).shape();
    if (filter->dims() != 4 || gradient.dims() != 4) {
      return errors::InvalidArgument("filter and out_backprop must be 4-dimensional: ", filter->ToString(), " and ",
                                     gradient.ToString());
    }
    ASSIGN_OR_RETURN(*in,
                     attrs_.MakeShape(gradient.dim_size(0), in->dim_size(0), in->dim_size(1), filter->dim_size(2)));
    return absl::OkStatus();
  }

  const char* Label() const {
    if (is_depthwise_) {
      return kind_ == Kind::kBackwardData ? "DepthwiseConv2DBackpropInput" : "DepthwiseConv2DBackpropFilter";
    }
    return kind_ == Kind::kBackwardData ? "Conv2DCustomBackpropInput" : "Conv2DCustomBackpropFilter";
  }

  Kind kind_ = Kind::kForward;
  bool is_depthwise_ = false;
  DataType type_ = DT_INVALID;
  WindowAttrs attrs_;
  GpuKernel kernel_;
  std::shared_ptr<ConvolutionPlanner> planner_;
};

}  // namespace

WindowPlan PlanOf(const WindowDim& dim) {
  return {.in = dim.in,
          .filter = dim.filter,
          .out = dim.out,
          .stride = dim.stride,
          .dilation = dim.dilation,
          .before = dim.before};
}

absl::Status RegisterGpuConvolutionKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
    RETURN_IF_ERROR(kernels.Register<ConvolutionKernel>(kernel(op)));
  }
  for (const char* op : {"Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput"}) {
    RETURN_IF_ERROR(kernels.Register<ConvolutionKernel>(kernel(op).HostMemory("input_sizes")));
  }
  for (const char* op : {"Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter"}) {
    RETURN_IF_ERROR(kernels.Register<ConvolutionKernel>(kernel(op).HostMemory("filter_sizes")));
  }
  return absl::OkStatus();
}

}  // namespace weir
