// Resizing of quantized images.
#include "kernels/image/image_shapes.h"
#include "kernels/quantized/family.h"

namespace weir {
namespace {

absl::Status QuantizedResizeShape(InferenceContext& c) {
  RETURN_IF_ERROR(image_shapes::ResizeShape(c));
  for (int i : {2, 3}) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  for (int i : {1, 2}) c.set_output(i, c.Scalar());
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterQuantizedResizeOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("QuantizedResizeBilinear")
                                   .Input("images: T")
                                   .Input("size: int32")
                                   .Input("min: float")
                                   .Input("max: float")
                                   .Output("resized_images: T")
                                   .Output("out_min: float")
                                   .Output("out_max: float")
                                   .Attr("T: {quint8, qint32, float}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(QuantizedResizeShape)));
  return absl::OkStatus();
}

}  // namespace weir
