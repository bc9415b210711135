// DecodeJpeg, DecodePng, DecodeGif, DecodeBmp, DecodeWebP and DecodeImage: each takes any format; what it gives
// differs.
#include <cstring>

#include "core/tensor/index_tensor.h"
#include "kernels/image/codec/jpeg_codec.h"
#include "kernels/image/codec/png_codec.h"
#include "kernels/image/codec/simple_formats.h"
#include "kernels/image/codec/webp_codec.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

absl::StatusOr<absl::string_view> Contents(const Tensor& tensor) {
  if (tensor.dims() != 0) {
    return errors::InvalidArgument("`contents` must be scalar but got shape", tensor.shape().ToString());
  }
  const std::string& contents = tensor.scalar<tstring>();
  if (contents.empty()) return errors::InvalidArgument("Input is empty.");
  if (contents.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return errors::InvalidArgument("Input contents are too large for int: ", contents.size());
  }
  return absl::string_view(contents);
}

absl::Status ReadJpegAttrs(OpKernelConstruction& ctx, JpegDecodeOptions* options) {
  int64_t ratio;
  std::string method;
  RETURN_IF_ERROR(ctx.GetAttr("ratio", &ratio));
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    return errors::InvalidArgument("ratio must be 1, 2, 4, or 8, got ", ratio);
  }
  options->ratio = static_cast<int>(ratio);
  RETURN_IF_ERROR(ctx.GetAttr("fancy_upscaling", &options->fancy_upscaling));
  RETURN_IF_ERROR(ctx.GetAttr("try_recover_truncated", &options->recover_truncated));
  RETURN_IF_ERROR(ctx.GetAttr("acceptable_fraction", &options->acceptable_fraction));
  RETURN_IF_ERROR(ctx.GetAttr("dct_method", &method));
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    return errors::InvalidArgument("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
  }
  options->fast = method != "INTEGER_ACCURATE";
  return absl::OkStatus();
}

class DecodeImageKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    op_ = ctx.op();
    if (op_ == "DecodeGif") return absl::OkStatus();
    RETURN_IF_ERROR(ctx.GetAttr("channels", &channels_));
    if (channels_ != 0 && channels_ != 1 && channels_ != 3 && channels_ != 4) {
      return errors::InvalidArgument("`channels` must be 0, 1, 3 or 4 but got ", channels_);
    }
    if (op_ == "DecodeImage") {
      RETURN_IF_ERROR(ctx.GetAttr("expand_animations", &expand_));
    }
    return op_ == "DecodeJpeg" || op_ == "DecodeAndCropJpeg" ? ReadJpegAttrs(ctx, &jpeg_) : absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const absl::string_view contents, Contents(ctx.input(0)));
    const DataType type = ctx.expected_output_dtype(0);
    ASSIGN_OR_RETURN(const Pixels pixels, Decode(ctx, contents, type == DT_UINT8 ? 8 : 16));
    TensorShape shape({pixels.height, pixels.width, pixels.channels});
    if (HasFrames(ImageFormatOf(contents))) RETURN_IF_ERROR(shape.InsertDim(0, pixels.frames));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    return Store(pixels, output);
  }

 private:
  // Whether the output's first dimension counts frames.
  bool HasFrames(ImageFormat format) const {
    if (format == ImageFormat::kWebP) return expand_;
    return op_ == "DecodeGif" || (op_ == "DecodeImage" && format == ImageFormat::kGif && expand_);
  }

  absl::StatusOr<Pixels> Decode(OpKernelContext& ctx, absl::string_view contents, int bits) const {
    switch (ImageFormatOf(contents)) {
      case ImageFormat::kJpeg:
        return Jpeg(ctx, contents);
      case ImageFormat::kPng:
        RETURN_IF_ERROR(Expect("PNG", "decode_png"));
        return DecodePng(contents, Channels(), bits);
      case ImageFormat::kGif:
        return Gif(contents);
      case ImageFormat::kBmp:
        if (op_ == "DecodeAndCropJpeg") return NoJpeg("BMP");
        if (channels_ == 1) return errors::InvalidArgument("`channels` must be 0, 3 or 4 for BMP, but got 1");
        if (op_ != "DecodeBmp" && op_ != "DecodeImage") {
          return errors::InvalidArgument(
              "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` instead. Op used: ",
              op_);
        }
        return DecodeBmp(contents, static_cast<int>(channels_));
      case ImageFormat::kWebP:
        if (channels_ == 1) return errors::InvalidArgument("WebP only supports 3 or 4 channels");
        if (ctx.expected_output_dtype(0) != DT_UINT8) {
          return errors::InvalidArgument("WebP only supports uint8 for dtype");
        }
        return DecodeWebP(contents, Channels(), expand_);
      default:
        return errors::InvalidArgument(
            "Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required.");
    }
  }

  // Any op but those for bitmaps and for parts of a JPEG decodes the formats of the others.
  absl::Status Expect(const char* format, const char* right) const {
    if (op_ == "DecodeAndCropJpeg") return NoJpeg(format);
    if (op_ != "DecodeBmp") return absl::OkStatus();
    return errors::InvalidArgument("Trying to decode ", format, " format using ", op_, " op. Use `", right,
                                   "` or `decode_image` instead.");
  }
  static absl::Status NoJpeg(const char* format) {
    return errors::InvalidArgument("DecodeAndCropJpeg operation can run on JPEG only, but detected ", format,
                                   ". Use `decode_image`, then `crop_to_bounding_box`");
  }
  int Channels() const { return op_ == "DecodeGif" ? 3 : static_cast<int>(channels_); }

  absl::StatusOr<Pixels> Jpeg(OpKernelContext& ctx, absl::string_view contents) const {
    if (channels_ == 4) {
      if (op_ != "DecodeJpeg" && op_ != "DecodeAndCropJpeg") {
        return errors::InvalidArgument("JPEG does not support 4 channels");
      }
      return errors::InvalidArgument("`channels` must be 0, 1, or 3 for JPEG, but got ", channels_);
    }
    if (op_ == "DecodeBmp") {
      return errors::InvalidArgument(
          "Trying to decode JPEG format using DecodeBmp op. Use `decode_jpeg` or `decode_image` instead.");
    }
    JpegDecodeOptions options = jpeg_;
    options.channels = Channels();
    if (op_ == "DecodeAndCropJpeg") {
      const Tensor& window = ctx.input(1);
      if (window.dims() != 1) {
        return errors::InvalidArgument("crop_window must be 1-D, got shape ", window.shape().ToString());
      }
      if (window.dim_size(0) != 4) {
        return errors::InvalidArgument("crop_size must have four elements ", window.shape().ToString());
      }
      const int32_t* const w = window.data<int32_t>();
      options.crop = JpegWindow{w[0], w[1], w[2], w[3]};
    }
    return DecodeJpeg(contents, options);
  }

  absl::StatusOr<Pixels> Gif(absl::string_view contents) const {
    if (op_ == "DecodeAndCropJpeg") return NoJpeg("GIF");
    if (op_ != "DecodeGif" && channels_ != 0 && channels_ != 3) {
      return errors::InvalidArgument("channels must be 0 or 3 for GIF, got ", channels_);
    }
    RETURN_IF_ERROR(Expect("GIF", "decode_gif"));
    ASSIGN_OR_RETURN(Pixels pixels, DecodeGif(contents, expand_));
    if (op_ == "DecodeWebP") return errors::InvalidArgument("Bad op type ", op_);
    if (pixels.frames > 1 && op_ != "DecodeGif" && op_ != "DecodeImage") {
      return errors::InvalidArgument("Got ", pixels.frames, " frames, but animated gifs can only be decoded by ",
                                     "tf.io.decode_gif or tf.io.decode_image");
    }
    return pixels;
  }

  // Eight bits become the upper ones of sixteen; floats lie between 0 and 1.
  static absl::Status Store(const Pixels& pixels, Tensor* output) {
    const int64_t n = pixels.size();
    const uint8_t* const narrow = pixels.bytes.data();
    const auto* const wide = reinterpret_cast<const uint16_t*>(narrow);
    switch (output->dtype()) {
      case DT_UINT8:
        std::memcpy(output->data<uint8_t>(), narrow, n);
        return absl::OkStatus();
      case DT_UINT16:
        for (int64_t i = 0; i < n; ++i) {
          output->data<uint16_t>()[i] = pixels.bits == 16 ? wide[i] : static_cast<uint16_t>(narrow[i] << 8);
        }
        return absl::OkStatus();
      case DT_FLOAT: {
        const float scale = pixels.bits == 16 ? 1.0f / 65535 : 1.0f / 255;
        for (int64_t i = 0; i < n; ++i) {
          output->data<float>()[i] = static_cast<float>(pixels.bits == 16 ? wide[i] : narrow[i]) * scale;
        }
        return absl::OkStatus();
      }
      default:
        return errors::InvalidArgument("`dtype` must be one of uint8, uint16 and float, not ",
                                       DataTypeName(output->dtype()));
    }
  }

  std::string op_;
  int64_t channels_ = 0;
  bool expand_ = true;
  JpegDecodeOptions jpeg_;
};

class ExtractJpegShapeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 0) {
      return errors::InvalidArgument("contents must be scalar, got shape ", ctx.input(0).shape().ToString());
    }
    const std::string& contents = ctx.input(0).scalar<tstring>();
    if (contents.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return errors::InvalidArgument("JPEG contents are too large for int: ", contents.size());
    }
    ASSIGN_OR_RETURN(const JpegShape shape, ReadJpegShape(contents));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({3})));
    return WriteIntegers({shape.height, shape.width, shape.channels}, output);
  }
};

}  // namespace

absl::Status RegisterImageDecodeKernels(KernelRegistry& kernels) {
  for (const char* op :
       {"DecodeJpeg", "DecodeAndCropJpeg", "DecodePng", "DecodeGif", "DecodeBmp", "DecodeWebP", "DecodeImage"}) {
    RETURN_IF_ERROR(kernels.Register<DecodeImageKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<ExtractJpegShapeKernel>(Kernel("ExtractJpegShape").Cpu());
}

}  // namespace weir
