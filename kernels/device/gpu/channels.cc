#include "kernels/device/gpu/channels.h"

#include "kernels/device/gpu/body_kernel.h"

namespace weir {

absl::StatusOr<Channels> Channels::Of(const TensorShape& shape, bool channels_first) {
  if (shape.dims() < 2) return errors::InvalidArgument("Input tensor must be at least 2D: ", shape.ToString());
  Channels view;
  view.axis = channels_first ? 1 : shape.dims() - 1;
  view.outer = CountBefore(shape, view.axis);
  view.channels = shape.dim_size(view.axis);
  view.inner = CountBehind(shape, view.axis);
  return view;
}

absl::StatusOr<Channels> Channels::OfBias(const TensorShape& shape, const TensorShape& bias, bool channels_first) {
  if (!bias.IsVector()) return errors::InvalidArgument("Biases must be 1D: ", bias.ToString());
  ASSIGN_OR_RETURN(const Channels view, Of(shape, channels_first));
  if (bias.dim_size(0) == view.channels) return view;
  return errors::InvalidArgument("Must provide as many biases as the ", channels_first ? "channel" : "last",
                                 " dimension of the input tensor: ", bias.ToString(), " vs. ", shape.ToString());
}

}  // namespace weir
