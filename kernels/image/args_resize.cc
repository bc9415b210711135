#include "kernels/image/args_resize.h"

#include <algorithm>

namespace weir {
namespace {

absl::Status CheckSize(const TensorShape& image) {
  if (image.dims() != 4) return errors::InvalidArgument("input must be 4-dimensional", image.ToString());
  if (image.dim_size(1) <= 0 || image.dim_size(2) <= 0)
    return errors::InvalidArgument("input image must be of non-zero size");
  if (std::max(image.dim_size(1), image.dim_size(2)) >= int64_t{1} << 31) {
    return errors::InvalidArgument("input sizes must be between 0 and max int32");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ResizeAttrs::Read(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(ctx.GetAttr("align_corners", &corners));
  if (ctx.HasAttr("half_pixel_centers")) RETURN_IF_ERROR(ctx.GetAttr("half_pixel_centers", &centers));
  if (!(corners && centers)) return absl::OkStatus();
  return errors::InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
}

absl::StatusOr<std::pair<int64_t, int64_t>> ReadImageSize(const Tensor& size) {
  if (size.dims() != 1) return errors::InvalidArgument("shape_t must be 1-dimensional", size.shape().ToString());
  if (size.NumElements() != 2)
    return errors::InvalidArgument("shape_t must have two elements", size.shape().ToString());
  const int64_t rows = size.data<int32_t>()[0], columns = size.data<int32_t>()[1];
  if (rows <= 0 || columns <= 0) return errors::InvalidArgument("output dimensions must be positive");
  return std::pair{rows, columns};
}

absl::Status CheckResized(const TensorShape& image) {
  RETURN_IF_ERROR(CheckSize(image));
  if (image.dim_size(3) <= 0) return errors::InvalidArgument("image must have at least one channel");
  return absl::OkStatus();
}

absl::StatusOr<TensorShape> OriginalOfSize(const TensorShape& gradient, const Tensor& size) {
  RETURN_IF_ERROR(CheckResized(gradient));
  ASSIGN_OR_RETURN(const auto sizes, ReadImageSize(size));
  return TensorShape::Build({gradient.dim_size(0), sizes.first, sizes.second, gradient.dim_size(3)});
}

absl::StatusOr<TensorShape> OriginalOf(const TensorShape& gradient, const Tensor& original) {
  RETURN_IF_ERROR(CheckResized(gradient));
  // Of the original image only the size counts.
  TensorShape shape = original.shape();
  RETURN_IF_ERROR(CheckSize(shape));
  RETURN_IF_ERROR(shape.SetDim(0, gradient.dim_size(0)));
  RETURN_IF_ERROR(shape.SetDim(3, gradient.dim_size(3)));
  return shape;
}

}  // namespace weir
