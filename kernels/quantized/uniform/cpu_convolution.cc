// Convolutions of affinely quantised integers, and of real images with quantised kernels.
#include <functional>
#include <vector>

#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/uniform/args_convolution.h"
#include "kernels/quantized/uniform/uniform_products.h"

namespace weir {
namespace {

DimVector SizesAlong(const TensorShape& shape, const OperandDims& dims) {
  DimVector sizes;
  for (const int64_t dim : dims) sizes.push_back(shape.dim_size(static_cast<int>(dim)));
  return sizes;
}
DimVector StepsAlong(const TensorShape& shape, const OperandDims& dims) {
  const DimVector dense = DenseSteps(shape.dim_sizes());
  DimVector steps;
  for (const int64_t dim : dims) steps.push_back(dense[dim]);
  return steps;
}

// `tensor` with the dimensions in this order.
absl::StatusOr<Tensor> Ordered(OpKernelContext& ctx, const Tensor& tensor, const OperandDims& dims) {
  const DimVector sizes = SizesAlong(tensor.shape(), dims);
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
  ASSIGN_OR_RETURN(Tensor ordered, ctx.allocate_temp(tensor.dtype(), shape));
  if (shape.num_elements() == 0) return ordered;
  StridedCopy(ctx, tensor.dtype(), sizes, tensor.raw_data(), StepsAlong(tensor.shape(), dims), ordered.raw_data(),
              DenseSteps(sizes));
  return ordered;
}

// Image [batch, features, places...] and kernel [features out, features in, places...], ordered, with the image's zero
// points by batch. Padding stands for the zero point, as far as a byte can hold that.
class Convolver {
 public:
  Convolver(const QuantizedConvolution& convolution, const Tensor& image, const Tensor& kernel,
            std::function<int32_t(int64_t)> image_zero, QuantizationParams kernel_params)
      : convolution_(convolution),
        image_(image),
        kernel_(kernel),
        image_zero_(std::move(image_zero)),
        kernel_params_(kernel_params),
        output_sizes_(SizesAlong(convolution.output(), convolution.output_dims())),
        image_places_(Places(image.shape())),
        kernel_places_(Places(kernel.shape())) {}

  // Calls finish(batch of the image, feature, place in the output, sum), on many threads.
  template <typename Finish>
  void Run(OpKernelContext& ctx, Finish finish) const {
    const int64_t depth = kernel_.dim_size(1), features = output_sizes_[1];
    const DimVector steps = StepsAlong(convolution_.output(), convolution_.output_dims());
    ParallelRanges(ctx, convolution_.output().num_elements(), 3000 * (depth * kernel_places_ + 1),
                   [&](int64_t begin, int64_t end) {
                     DimVector at(output_sizes_.size(), 0);
                     for (int64_t i = begin; i < end; ++i) {
                       int64_t rest = i, place = 0;
                       for (int d = static_cast<int>(at.size()) - 1; d >= 0; --d) {
                         at[d] = rest % output_sizes_[d];
                         rest /= output_sizes_[d];
                         place += at[d] * steps[d];
                       }
                       const int64_t batch =
                           at[1] / (features / convolution_.batch_groups()) * output_sizes_[0] + at[0];
                       const int64_t first = at[1] / (features / convolution_.feature_groups()) * depth;
                       finish(batch, at[1], place, Sum(batch, first, at));
                     }
                   });
  }

 private:
  static int64_t Places(const TensorShape& shape) {
    int64_t places = 1;
    for (int d = 2; d < shape.dims(); ++d) places *= shape.dim_size(d);
    return places;
  }
  // Where the image has what kernel place `place` meets for output `at`; -1 in the padding.
  int64_t ImagePlace(int64_t place, const DimVector& at) const {
    int64_t found = 0, step = 1;
    for (int d = static_cast<int>(at.size()) - 1; d >= 2; --d) {
      const int i = d - 2;
      const int64_t from = at[d] * convolution_.strides()[i] - convolution_.padding_before(i) +
                           place % kernel_.dim_size(d) * convolution_.kernel_dilation()[i];
      const int64_t dilation = convolution_.image_dilation()[i];
      place /= kernel_.dim_size(d);
      if (from < 0 || from % dilation != 0 || from / dilation >= image_.dim_size(d)) return -1;
      found += from / dilation * step;
      step *= image_.dim_size(d);
    }
    return found;
  }
  int32_t Sum(int64_t batch, int64_t first, const DimVector& at) const {
    const int32_t zero = image_zero_(batch), kernel_zero = kernel_params_.zero_point(at[1]);
    const uint32_t padding = FromZero(static_cast<int8_t>(zero), zero);
    const int64_t depth = kernel_.dim_size(1);
    const int8_t* const x = Bytes(image_) + (batch * image_.dim_size(1) + first) * image_places_;
    const int8_t* const y = Bytes(kernel_) + at[1] * depth * kernel_places_;
    uint32_t sum = 0;
    for (int64_t place = 0; place < kernel_places_; ++place) {
      const int64_t from = ImagePlace(place, at);
      if (from < 0 && padding == 0) continue;
      for (int64_t d = 0; d < depth; ++d) {
        const uint32_t value = from < 0 ? padding : FromZero(x[d * image_places_ + from], zero);
        sum += value * FromZero(y[d * kernel_places_ + place], kernel_zero);
      }
    }
    return static_cast<int32_t>(sum);
  }

  const QuantizedConvolution& convolution_;
  const Tensor image_, kernel_;
  const std::function<int32_t(int64_t)> image_zero_;
  const QuantizationParams kernel_params_;
  const DimVector output_sizes_;
  const int64_t image_places_, kernel_places_;
};

class ConvolutionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, QuantizedConvolution::Read(ctx.node_def()));
    return ctx.GetAttr("rhs_quantization_axis", &kernel_axis_);
  }

 protected:
  // The convolution, with the kernel's parameters checked.
  absl::StatusOr<QuantizedConvolution> Check(OpKernelContext& ctx, const Tensor& scales,
                                             const Tensor& zero_points) const {
    ASSIGN_OR_RETURN(QuantizedConvolution convolution, attrs_.For(ctx.input(0).shape(), ctx.input(1).shape()));
    RETURN_IF_ERROR(CheckLeft(ctx));
    if (kernel_axis_ != -1 && kernel_axis_ != convolution.kernel_dims()[0]) {
      return errors::InvalidArgument(
          "rhs_quantization_axis Attr must be -1 (per-tensor) or dimension_numbers.kernel_output_feature_dimension "
          "(per-channel).");
    }
    RETURN_IF_ERROR(QuantizationParams::Check(ctx.input(1).shape(), scales, zero_points, kernel_axis_));
    return convolution;
  }

 private:
  virtual absl::Status CheckLeft(const OpKernelContext& ctx) const { return absl::OkStatus(); }

  QuantizedConvolution attrs_;
  int64_t kernel_axis_ = -1;
};

class UniformQuantizedConvolutionKernel : public ConvolutionKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ConvolutionKernel::Init(ctx));
    RETURN_IF_ERROR(ctx.GetAttr("output_quantization_min_val", &bounds_.low));
    RETURN_IF_ERROR(ctx.GetAttr("output_quantization_max_val", &bounds_.high));
    RETURN_IF_ERROR(CheckWholeLhs(ctx));
    return ctx.GetAttr("output_quantization_axis", &output_axis_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckAllScales(ctx));
    ASSIGN_OR_RETURN(const QuantizedConvolution convolution, Check(ctx, ctx.input(4), ctx.input(5)));
    if (output_axis_ != -1 && output_axis_ != convolution.output_dims()[1]) {
      return errors::InvalidArgument(
          "output_quantization_axis Attr must be -1 (per-tensor) or dimension_numbers.output_feature_dimension "
          "(per-channel).");
    }
    RETURN_IF_ERROR(QuantizationParams::Check(convolution.output(), ctx.input(6), ctx.input(7), output_axis_));
    if (ctx.input(4).dims() == 0 && ctx.input(6).dims() != 0) {
      return errors::InvalidArgument(
          "If rhs is per-tensor quantized, output must be also per-tensor quantized. Given output scales/zero_points "
          "of rank ",
          ctx.input(6).dims());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, convolution.output()));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor image, Ordered(ctx, ctx.input(0), convolution.image_dims()));
    ASSIGN_OR_RETURN(const Tensor kernel, Ordered(ctx, ctx.input(1), convolution.kernel_dims()));
    ASSIGN_OR_RETURN(const ProductScaling scaling, ProductScaling::Of(ctx, kernel.dim_size(0), bounds_));
    const int32_t zero = ctx.input(3).scalar<int32_t>();
    int32_t* const out = static_cast<int32_t*>(output->raw_data());
    Convolver(
        convolution, image, kernel, [zero](int64_t) { return zero; }, QuantizationParams(ctx.input(4), ctx.input(5)))
        .Run(ctx, [&](int64_t, int64_t feature, int64_t place, int32_t sum) { out[place] = scaling(feature, sum); });
    return absl::OkStatus();
  }

 private:
  absl::Status CheckLeft(const OpKernelContext& ctx) const override { return CheckLhsParams(ctx); }

  QuantizedBounds bounds_;
  int64_t output_axis_ = -1;
};

// Each image of real numbers is spread over signed bytes first.
class UniformQuantizedConvolutionHybridKernel : public ConvolutionKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (!AllPositive(ctx.input(2))) return errors::InvalidArgument("rhs scales elements must be all positive.");
    ASSIGN_OR_RETURN(const QuantizedConvolution convolution, Check(ctx, ctx.input(2), ctx.input(3)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, convolution.output()));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor real, Ordered(ctx, ctx.input(0), convolution.image_dims()));
    ASSIGN_OR_RETURN(const Tensor kernel, Ordered(ctx, ctx.input(1), convolution.kernel_dims()));
    ASSIGN_OR_RETURN(const Tensor image, ctx.allocate_temp(DT_QINT8, real.shape()));
    const int64_t size = real.NumElements() / real.dim_size(0);
    std::vector<DynamicRange> ranges(real.dim_size(0));
    for (size_t i = 0; i < ranges.size(); ++i) {
      ranges[i] = QuantizeToRange(real.data<float>() + i * size, size, Bytes(image) + i * size);
    }
    const QuantizationParams right(ctx.input(2), ctx.input(3));
    float* const out = output->data<float>();
    Convolver(
        convolution, image, kernel, [&](int64_t batch) { return ranges[batch].zero_point; }, right)
        .Run(ctx, [&](int64_t batch, int64_t feature, int64_t place, int32_t sum) {
          out[place] = static_cast<float>(sum) * ranges[batch].scale * right.scale(feature);
        });
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterUniformQuantizedConvolutionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<UniformQuantizedConvolutionKernel>(
      Kernel("UniformQuantizedConvolution").Cpu().Types("Tin", {DT_QINT8}).Types("Tout", {DT_QINT32})));
  return kernels.Register<UniformQuantizedConvolutionHybridKernel>(Kernel("UniformQuantizedConvolutionHybrid")
                                                                       .Cpu()
                                                                       .Types("Tlhs", {DT_FLOAT})
                                                                       .Types("Trhs", {DT_QINT8})
                                                                       .Types("Tout", {DT_FLOAT}));
}

}  // namespace weir
