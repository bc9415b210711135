// EncodeJpeg, EncodeJpegVariableQuality and EncodePng.
#include "kernels/image/codec/jpeg_codec.h"
#include "kernels/image/codec/png_codec.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

class EncodeJpegKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    variable_ = ctx.op() == "EncodeJpegVariableQuality";
    if (variable_) return absl::OkStatus();
    std::string unit;
    int64_t quality, x_density, y_density;
    RETURN_IF_ERROR(ctx.GetAttr("format", &format_));
    RETURN_IF_ERROR(ctx.GetAttr("quality", &quality));
    RETURN_IF_ERROR(CheckQuality(quality));
    options_.quality = static_cast<int>(quality);
    RETURN_IF_ERROR(ctx.GetAttr("progressive", &options_.progressive));
    RETURN_IF_ERROR(ctx.GetAttr("optimize_size", &options_.optimize_size));
    RETURN_IF_ERROR(ctx.GetAttr("chroma_downsampling", &options_.chroma_downsampling));
    RETURN_IF_ERROR(ctx.GetAttr("density_unit", &unit));
    options_.density_in_cm = unit == "cm";
    RETURN_IF_ERROR(ctx.GetAttr("x_density", &x_density));
    RETURN_IF_ERROR(ctx.GetAttr("y_density", &y_density));
    constexpr int64_t kMost = 65535;
    if (x_density < 0 || y_density < 0 || x_density > kMost || y_density > kMost) {
      return errors::InvalidArgument("Invalid density: ", x_density, ", ", y_density);
    }
    options_.x_density = static_cast<int>(x_density);
    options_.y_density = static_cast<int>(y_density);
    return ctx.GetAttr("xmp_metadata", &options_.xmp_metadata);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    if (image.dims() != 3) {
      return errors::InvalidArgument("image must be 3-dimensional", image.shape().ToString());
    }
    if (image.NumElements() >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("Cannot encode images with >= max int32 elements");
    }
    const int64_t channels = image.dim_size(2);
    RETURN_IF_ERROR(CheckChannels(image.shape()));
    JpegEncodeOptions options = options_;
    if (variable_) {
      const Tensor& quality = ctx.input(1);
      if (quality.dims() != 0) {
        return errors::InvalidArgument("quality must be scalar: ", quality.shape().ToString());
      }
      RETURN_IF_ERROR(CheckQuality(quality.scalar<int32_t>()));
      options.quality = quality.scalar<int32_t>();
    }
    ASSIGN_OR_RETURN(std::string encoded, EncodeJpeg(image.data<uint8_t>(), image.dim_size(0), image.dim_size(1),
                                                     static_cast<int>(channels), options));
    ctx.set_output(0, Tensor::Scalar<tstring>(std::move(encoded)));
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckQuality(int64_t quality) {
    if (quality >= 0 && quality <= 100) return absl::OkStatus();
    return errors::InvalidArgument("quality must be in [0,100], got ", quality);
  }
  absl::Status CheckChannels(const TensorShape& shape) const {
    const int64_t channels = shape.dim_size(2), wanted = format_ == "grayscale" ? 1 : 3;
    if (format_.empty() && channels != 1 && channels != 3) {
      return errors::InvalidArgument("image must have 1 or 3 channels, got ", shape.ToString());
    }
    if (format_.empty() || channels == wanted) return absl::OkStatus();
    return errors::InvalidArgument("format ", format_, " expects ", wanted, " channels, got ", shape.ToString());
  }

  bool variable_ = false;
  std::string format_;
  JpegEncodeOptions options_;
};

class EncodePngKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("compression", &compression_));
    if (compression_ >= -1 && compression_ <= 9) return absl::OkStatus();
    return errors::InvalidArgument("compression should be in [-1,9], got ", compression_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const int rank = images.dims();
    if (rank < 3) {
      return errors::InvalidArgument("images must be at least rank 3", images.shape().ToString());
    }
    const int64_t height = images.dim_size(rank - 3), width = images.dim_size(rank - 2),
                  channels = images.dim_size(rank - 1);
    if (channels < 1 || channels > 4) {
      return errors::InvalidArgument("image must have 1, 2, 3, or 4 channels, got ", channels);
    }
    if (images.NumElements() == 0) {
      return errors::Internal("PNG encoding failed: an image cannot be empty, got shape ", images.shape().ToString());
    }
    TensorShape shape;
    for (int i = 0; i < rank - 3; ++i) RETURN_IF_ERROR(shape.AddDim(images.dim_size(i)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const int bits = images.dtype() == DT_UINT8 ? 8 : 16;
    const int64_t bytes = height * width * channels * (bits / 8);
    for (int64_t i = 0; i < output->NumElements(); ++i) {
      ASSIGN_OR_RETURN(output->data<tstring>()[i],
                       EncodePng(static_cast<const char*>(images.raw_data()) + i * bytes, height, width,
                                 static_cast<int>(channels), bits, static_cast<int>(compression_)));
    }
    return absl::OkStatus();
  }

 private:
  int64_t compression_ = -1;
};

}  // namespace

absl::Status RegisterImageEncodeKernels(KernelRegistry& kernels) {
  for (const char* op : {"EncodeJpeg", "EncodeJpegVariableQuality"}) {
    RETURN_IF_ERROR(kernels.Register<EncodeJpegKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<EncodePngKernel>(Kernel("EncodePng").Cpu().Types("T", {DT_UINT8, DT_UINT16}));
}

}  // namespace weir
