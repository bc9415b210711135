#include "kernels/image/args_crop.h"

#include <string>

namespace weir {
namespace {

absl::Status CheckImage(const TensorShape& image) {
  if (image.dims() != 4) return errors::InvalidArgument("input image must be 4-D", image.ToString());
  if (image.dim_size(1) <= 0 || image.dim_size(2) <= 0) {
    return errors::InvalidArgument("image dimensions must be positive");
  }
  return absl::OkStatus();
}

absl::Status CheckGradients(const TensorShape& gradients) {
  if (gradients.dims() != 4) return errors::InvalidArgument("grads image must be 4-D", gradients.ToString());
  if (gradients.dim_size(1) <= 0 || gradients.dim_size(2) <= 0) {
    return errors::InvalidArgument("grads dimensions must be positive");
  }
  return absl::OkStatus();
}

absl::Status CheckVector(const char* name, const Tensor& sizes, int64_t count, const char* count_in_words) {
  if (sizes.dims() != 1) return errors::InvalidArgument(name, " must be 1-D", sizes.shape().ToString());
  if (sizes.dim_size(0) == count) return absl::OkStatus();
  return errors::InvalidArgument(name, " must have ", count_in_words, " elements", sizes.shape().ToString());
}

// How many boxes [n, 4] there are, each with an index.
absl::StatusOr<int64_t> CountBoxes(const Tensor& boxes, const Tensor& indices) {
  if (boxes.NumElements() == 0 && indices.NumElements() == 0) return 0;
  if (boxes.dims() != 2) return errors::InvalidArgument("boxes must be 2-D", boxes.shape().ToString());
  if (boxes.dim_size(1) != 4) return errors::InvalidArgument("boxes must have 4 columns");
  if (indices.dims() != 1) return errors::InvalidArgument("box_index must be 1-D", indices.shape().ToString());
  if (indices.dim_size(0) != boxes.dim_size(0)) return errors::InvalidArgument("box_index has incompatible shape");
  return boxes.dim_size(0);
}

absl::Status CheckGradientsOf(const Tensor& boxes, const Tensor& indices, const TensorShape& gradients) {
  ASSIGN_OR_RETURN(const int64_t count, CountBoxes(boxes, indices));
  if (count == gradients.dim_size(0)) return absl::OkStatus();
  return errors::InvalidArgument("boxes and grads have incompatible shape");
}

}  // namespace

absl::Status CropAttrs::Read(OpKernelConstruction& ctx) {
  std::string method;
  RETURN_IF_ERROR(ctx.GetAttr("method", &method));
  nearest = method == "nearest";
  if (method != "nearest" && method != "bilinear") {
    return errors::InvalidArgument("method must be 'bilinear' or 'nearest'", method);
  }
  return ctx.HasAttr("extrapolation_value") ? ctx.GetAttr("extrapolation_value", &outside) : absl::OkStatus();
}

absl::StatusOr<CropSizes> CropSizes::Of(OpKernelContext& ctx) {
  CropSizes sizes{.image = ctx.input(0).shape()};
  RETURN_IF_ERROR(CheckImage(sizes.image));
  const Tensor& size = ctx.input(3);
  RETURN_IF_ERROR(CheckVector("crop_size", size, 2, "two"));
  const int64_t rows = size.data<int32_t>()[0], columns = size.data<int32_t>()[1];
  if (rows <= 0 || columns <= 0) return errors::InvalidArgument("crop dimensions must be positive");
  ASSIGN_OR_RETURN(const int64_t boxes, CountBoxes(ctx.input(1), ctx.input(2)));
  ASSIGN_OR_RETURN(sizes.crops, TensorShape::Build({boxes, rows, columns, sizes.image.dim_size(3)}));
  return sizes;
}

absl::StatusOr<CropSizes> CropSizes::OfImageGradient(OpKernelContext& ctx) {
  CropSizes sizes{.crops = ctx.input(0).shape()};
  RETURN_IF_ERROR(CheckGradients(sizes.crops));
  const Tensor& size = ctx.input(3);
  RETURN_IF_ERROR(CheckVector("image_size", size, 4, "4"));
  const auto values = size.flat<int32_t>();
  ASSIGN_OR_RETURN(sizes.image, TensorShape::Build(DimVector(values.begin(), values.end())));
  RETURN_IF_ERROR(CheckImage(sizes.image));
  if (sizes.image.dim_size(3) != sizes.crops.dim_size(3)) {
    return errors::InvalidArgument("image_size and grads are incompatible");
  }
  RETURN_IF_ERROR(CheckGradientsOf(ctx.input(1), ctx.input(2), sizes.crops));
  return sizes;
}

absl::StatusOr<CropSizes> CropSizes::OfBoxesGradient(OpKernelContext& ctx) {
  CropSizes sizes{.image = ctx.input(1).shape(), .crops = ctx.input(0).shape()};
  RETURN_IF_ERROR(CheckImage(sizes.image));
  RETURN_IF_ERROR(CheckGradients(sizes.crops));
  if (sizes.image.dim_size(3) != sizes.crops.dim_size(3)) {
    return errors::InvalidArgument("image, grads depth differ");
  }
  RETURN_IF_ERROR(CheckGradientsOf(ctx.input(2), ctx.input(3), sizes.crops));
  return sizes;
}

absl::Status BoxIndexOutOfRange() { return errors::OutOfRange("box_index has values outside [0, batch_size)"); }

}  // namespace weir
