// Image files: what reads and writes them.
#include "graph/shapes/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// [height, width, channels], of unknown rank where it may be an animation.
absl::Status DecodedShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  bool animated = false;
  if (!c.GetAttr("expand_animations", &animated).ok()) animated = false;
  int64_t channels;
  RETURN_IF_ERROR(c.GetAttr("channels", &channels));
  if (channels < 0) return errors::InvalidArgument("channels must be non-negative, got ", channels);
  c.set_output(0, animated ? PartialTensorShape() : c.Of({kUnknown, kUnknown, channels == 0 ? kUnknown : channels}));
  return absl::OkStatus();
}
absl::Status CroppedShape(InferenceContext& c) {
  RETURN_IF_ERROR(DecodedShape(c));
  ASSIGN_OR_RETURN(PartialTensorShape window, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(window, 0), 4).status());
  int64_t height = kUnknown, width = kUnknown;
  if (const auto values = op_shapes::ConstantVector(c, 1); values && values->size() == 4) {
    if ((*values)[2] < 0 || (*values)[3] < 0) return errors::InvalidArgument("crop_window must be non-negative");
    height = (*values)[2];
    width = (*values)[3];
  }
  c.set_output(0, c.Of({height, width, c.Dim(c.output(0), 2)}));
  return absl::OkStatus();
}
absl::Status WebPShape(InferenceContext& c) {
  RETURN_IF_ERROR(DecodedShape(c));
  c.set_output(0, c.Of({kUnknown, kUnknown, kUnknown, c.Dim(c.output(0), 2)}));
  return absl::OkStatus();
}
absl::Status GifShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  c.set_output(0, c.Of({kUnknown, kUnknown, kUnknown, 3}));
  return absl::OkStatus();
}
absl::Status JpegSizeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  c.set_output(0, c.Vector(3));
  return absl::OkStatus();
}
absl::Status EncodeJpegShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 3).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}
absl::Status EncodePngShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRankAtLeast(c.input(0), 3));
  ASSIGN_OR_RETURN(PartialTensorShape batch, c.Subshape(image, 0, -3));
  c.set_output(0, std::move(batch));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterImageFileOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("DecodeJpeg")
                                   .Input("contents: string")
                                   .Output("image: uint8")
                                   .Attr("channels: int = 0")
                                   .Attr("ratio: int = 1")
                                   .Attr("fancy_upscaling: bool = true")
                                   .Attr("try_recover_truncated: bool = false")
                                   .Attr("acceptable_fraction: float = 1.0")
                                   .Attr("dct_method: string = ''")
                                   .Shape(DecodedShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeAndCropJpeg")
                                   .Input("contents: string")
                                   .Input("crop_window: int32")
                                   .Output("image: uint8")
                                   .Attr("channels: int = 0")
                                   .Attr("ratio: int = 1")
                                   .Attr("fancy_upscaling: bool = true")
                                   .Attr("try_recover_truncated: bool = false")
                                   .Attr("acceptable_fraction: float = 1.0")
                                   .Attr("dct_method: string = ''")
                                   .Shape(CroppedShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodePng")
                                   .Input("contents: string")
                                   .Output("image: dtype")
                                   .Attr("channels: int = 0")
                                   .Attr("dtype: {uint8, uint16} = DT_UINT8")
                                   .Shape(DecodedShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("DecodeBmp").Input("contents: string").Output("image: uint8").Attr("channels: int = 0").Shape(DecodedShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeImage")
                                   .Input("contents: string")
                                   .Output("image: dtype")
                                   .Attr("channels: int = 0")
                                   .Attr("dtype: {uint8, uint16, float} = DT_UINT8")
                                   .Attr("expand_animations: bool = true")
                                   .Shape(DecodedShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeGif").Input("contents: string").Output("image: uint8").Shape(GifShape)));
  RETURN_IF_ERROR(ops.Register(Op("DecodeWebP")
                                   .Input("contents: string")
                                   .Output("image: dtype")
                                   .Attr("channels: int = 0")
                                   .Attr("dtype: {uint8} = DT_UINT8")
                                   .Shape(WebPShape)));
  RETURN_IF_ERROR(ops.Register(Op("ExtractJpegShape")
                                   .Input("contents: string")
                                   .Output("image_shape: output_type")
                                   .Attr("output_type: {int32, int64} = DT_INT32")
                                   .Shape(JpegSizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("EncodeJpeg")
                                   .Input("image: uint8")
                                   .Output("contents: string")
                                   .Attr("format: {'', 'grayscale', 'rgb'} = ''")
                                   .Attr("quality: int = 95")
                                   .Attr("progressive: bool = false")
                                   .Attr("optimize_size: bool = false")
                                   .Attr("chroma_downsampling: bool = true")
                                   .Attr("density_unit: {'in', 'cm'} = 'in'")
                                   .Attr("x_density: int = 300")
                                   .Attr("y_density: int = 300")
                                   .Attr("xmp_metadata: string = ''")
                                   .Shape(EncodeJpegShape)));
  RETURN_IF_ERROR(ops.Register(Op("EncodeJpegVariableQuality")
                                   .Input("images: uint8")
                                   .Input("quality: int32")
                                   .Output("contents: string")
                                   .Shape(EncodeJpegShape)));
  RETURN_IF_ERROR(ops.Register(Op("EncodePng")
                                   .Input("image: T")
                                   .Output("contents: string")
                                   .Attr("compression: int = -1")
                                   .Attr("T: {uint8, uint16} = DT_UINT8")
                                   .Shape(EncodePngShape)));
  return absl::OkStatus();
}

}  // namespace weir
