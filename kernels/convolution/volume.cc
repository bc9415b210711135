#include "kernels/convolution/volume.h"

namespace weir {

absl::StatusOr<Tensor> ChannelsLast(OpKernelContext& ctx, const Tensor& tensor) {
  DimVector sizes(tensor.shape().dim_sizes().begin(), tensor.shape().dim_sizes().end());
  sizes.erase(sizes.begin() + 1);
  sizes.push_back(tensor.dim_size(1));
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(tensor.dtype(), shape));
  const int64_t batch = tensor.dim_size(0), channels = tensor.dim_size(1);
  if (result.NumElements() == 0) return result;
  const int64_t pixels = result.NumElements() / (batch * channels);
  StridedCopy(ctx, tensor.dtype(), {batch, pixels, channels}, tensor.raw_data(), {pixels * channels, 1, pixels},
              result.raw_data(), {pixels * channels, channels, 1});
  return result;
}

absl::Status CopyChannelsFirst(OpKernelContext& ctx, const Tensor& channels_last, Tensor* channels_first) {
  if (channels_last.NumElements() == 0) return absl::OkStatus();
  const int64_t batch = channels_last.dim_size(0), channels = channels_last.dim_size(channels_last.dims() - 1);
  const int64_t pixels = channels_last.NumElements() / (batch * channels);
  StridedCopy(ctx, channels_last.dtype(), {batch, channels, pixels}, channels_last.raw_data(),
              {pixels * channels, 1, channels}, channels_first->raw_data(), {pixels * channels, pixels, 1});
  return absl::OkStatus();
}

}  // namespace weir
