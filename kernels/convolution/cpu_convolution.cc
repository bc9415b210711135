#include "kernels/convolution/cpu_convolution.h"

#include <cstring>

#include "core/kernel/determinism.h"
#include "kernels/convolution/family.h"
#include "kernels/device/indices.h"

namespace weir {
namespace {

// Conv2D and its gradients, and _FusedConv2D, which has an epilogue.
class ConvolutionKernel : public OpKernel {
 public:
  explicit ConvolutionKernel(ConvolutionKind kind) : kind_(kind) {}

  absl::Status Init(OpKernelConstruction& ctx) override {
    DataType type;
    RETURN_IF_ERROR(ctx.GetAttr("T", &type));
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    if (ctx.op() == "_FusedConv2D") RETURN_IF_ERROR(InitFused(ctx));
    convolution_ = NewConvolution(kind_, type, IsDeterministic(ctx.node_def()));
    if (convolution_ == nullptr) return errors::Unimplemented(ctx.op(), " has no kernel for ", DataTypeName(type));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    switch (kind_) {
      case ConvolutionKind::kForward:
        return Forward(ctx);
      case ConvolutionKind::kBackpropInput:
        return BackpropInput(ctx);
      default:
        return BackpropFilter(ctx);
    }
  }

 private:
  absl::Status InitFused(OpKernelConstruction& ctx) {
    std::string format;
    int64_t num_host_args = 0;
    RETURN_IF_ERROR(ctx.GetAttr("filter_format", &format));
    RETURN_IF_ERROR(ctx.GetAttr("num_host_args", &num_host_args));
    if (format != "HWIO")
      return errors::Unimplemented(ctx.op(), " with a filter in the format ", format, " on the CPU");
    if (num_host_args != 0) return errors::Unimplemented(ctx.op(), " with host_args on the CPU");
    for (const DataType type : ctx.input_types()) {
      if (type != ctx.input_types()[0])
        return errors::Unimplemented(ctx.op(), " with arguments of type ", DataTypeName(type));
    }
    return epilogue_.emplace().Init(ctx);
  }

  absl::Status Forward(OpKernelContext& ctx) {
    const Tensor& input = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    ASSIGN_OR_RETURN(const ConvolutionShape shape, ConvolutionShape::Of(attrs_, input.shape(), filter.shape()));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs_));
    std::optional<BoundEpilogue> epilogue;
    if (epilogue_.has_value()) {
      ASSIGN_OR_RETURN(epilogue, epilogue_->Bind(ctx, 2, shape.out_channels));
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out));
    return Run(ctx, shape,
               {input.raw_data(), filter.raw_data(), output->raw_data(), epilogue.has_value() ? &*epilogue : nullptr},
               *output);
  }

  absl::Status BackpropInput(OpKernelContext& ctx) {
    const Tensor& filter = ctx.input(1);
    const Tensor& gradient = ctx.input(2);
    if (ctx.input(0).dims() != 1) {
      return errors::InvalidArgument("Conv2DBackpropInput: input_sizes input must be 1-dim, not ", ctx.input(0).dims());
    }
    ASSIGN_OR_RETURN(TensorShape in, ShapeFromTensor(ctx.input(0), "input_sizes"));
    if (in.dims() == 2 && gradient.dims() == 4 && filter.dims() == 4) {  // rows and columns alone
      ASSIGN_OR_RETURN(in, attrs_.MakeShape(gradient.dim_size(0), in.dim_size(0), in.dim_size(1), filter.dim_size(2)));
    }
    if (in.dims() != 4) {
      return errors::InvalidArgument(
          "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: ", in.dims());
    }
    RETURN_IF_ERROR(ConvolutionShape::CheckOperands(in, filter.shape(), gradient.shape(), Label()));
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionShape::Of(attrs_, in, filter.shape(), absl::StrCat(Label(), ": ")));
    RETURN_IF_ERROR(shape.CheckGradient(attrs_, gradient.shape(), Label()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in));
    return Run(ctx, shape, {output->raw_data(), filter.raw_data(), gradient.raw_data()}, *output);
  }

  absl::Status BackpropFilter(OpKernelContext& ctx) {
    const Tensor& input = ctx.input(0);
    const Tensor& gradient = ctx.input(2);
    if (ctx.input(1).dims() != 1) {
      return errors::InvalidArgument("Conv2DCustomBackpropFilter: filter_sizes input must be 1-dim, not ",
                                     ctx.input(1).dims());
    }
    ASSIGN_OR_RETURN(const TensorShape filter, ShapeFromTensor(ctx.input(1), "filter_sizes"));
    RETURN_IF_ERROR(ConvolutionShape::CheckOperands(input.shape(), filter, gradient.shape(), Label()));
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionShape::Of(attrs_, input.shape(), filter, absl::StrCat(Label(), ": ")));
    RETURN_IF_ERROR(shape.CheckGradient(attrs_, gradient.shape(), Label()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, filter));
    return Run(ctx, shape, {input.raw_data(), output->raw_data(), gradient.raw_data()}, *output);
  }

  const char* Label() const {
    return kind_ == ConvolutionKind::kBackpropInput ? "Conv2DCustomBackpropInput" : "Conv2DCustomBackpropFilter";
  }

  absl::Status Run(OpKernelContext& ctx, const ConvolutionShape& shape, const ConvolutionBuffers& buffers,
                   Tensor& output) {
    if (output.NumElements() == 0) return absl::OkStatus();
    if (shape.InputElements() == 0 || shape.FilterElements() == 0 || shape.OutputElements() == 0) {
      std::memset(output.raw_data(), 0, output.TotalBytes());
      ApplyEpilogue(shape, buffers);
      return absl::OkStatus();
    }
    return convolution_->Run(ctx, shape, buffers);
  }

  const ConvolutionKind kind_;
  WindowAttrs attrs_;
  std::optional<Epilogue> epilogue_;
  std::unique_ptr<Convolution> convolution_;
};

template <ConvolutionKind kKind>
std::unique_ptr<OpKernel> Make() {
  return std::make_unique<ConvolutionKernel>(kKind);
}

}  // namespace

void ApplyEpilogue(const ConvolutionShape& shape, const ConvolutionBuffers& buffers) {
  if (buffers.epilogue == nullptr) return;
  const int64_t pixels = shape.rows.out * shape.columns.out, channels = shape.out_channels;
  if (shape.channels_first) {
    buffers.epilogue->ApplyToPlanes(buffers.output, shape.batch, pixels);
  } else {
    buffers.epilogue->ApplyToRows(buffers.output, shape.batch * pixels, channels, channels);
  }
}

std::unique_ptr<Convolution> NewConvolution(ConvolutionKind kind, DataType type, bool deterministic) {
  switch (type) {
    case DT_FLOAT:
    case DT_HALF:
    case DT_BFLOAT16:
      return NewDnnlConvolution(kind, type, deterministic);
    case DT_DOUBLE:
    case DT_INT32:
      return NewPlainConvolution(kind, type);
    default:
      return nullptr;
  }
}

absl::Status RegisterConvolutionKernels(KernelRegistry& kernels) {
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32}) {
    const auto kernel = [type](const char* op) { return Kernel(op).Cpu().Types("T", {type}); };
    RETURN_IF_ERROR(kernels.Register(kernel("Conv2D"), &Make<ConvolutionKind::kForward>));
    RETURN_IF_ERROR(kernels.Register(kernel("Conv2DBackpropInput"), &Make<ConvolutionKind::kBackpropInput>));
    if (type == DT_INT32) continue;
    if (type != DT_BFLOAT16) {
      RETURN_IF_ERROR(kernels.Register(kernel("_FusedConv2D"), &Make<ConvolutionKind::kForward>));
    }
    RETURN_IF_ERROR(kernels.Register(kernel("Conv2DBackpropFilter"), &Make<ConvolutionKind::kBackpropFilter>));
  }
  return absl::OkStatus();
}

}  // namespace weir
