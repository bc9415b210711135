#include "kernels/convolution/window_shapes.h"

#include "graph/shapes/common_shapes.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

constexpr int64_t kMaxBatchDims = 254;

// The indices of a layout's first spatial dimension and of its channels.
struct WindowLayout {
  int rank = 0, spatial = 0, channel = 0;
};
absl::StatusOr<WindowLayout> ReadWindowLayout(InferenceContext& c, const std::vector<int64_t>& strides) {
  std::string format;
  if (!c.GetAttr("data_format", &format).ok()) format = "";
  const bool first = format == "CHANNELS_FIRST" || (format.size() >= 4 && format.substr(0, 2) == "NC");
  const int rank = static_cast<int>(strides.size());
  return WindowLayout{rank, first ? 2 : 1, first ? 1 : rank - 1};
}

}  // namespace

absl::Status WindowedOutputShape(InferenceContext& c, const std::vector<int64_t>& window, bool filter) {
  std::vector<int64_t> strides, dilations, explicit_paddings;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (!c.GetAttr("dilations", &dilations).ok() || dilations.empty()) dilations.assign(strides.size(), 1);
  ASSIGN_OR_RETURN(const WindowLayout layout, ReadWindowLayout(c, strides));
  if (dilations.size() != strides.size() || layout.rank < 3) {
    return errors::InvalidArgument("strides and dilations must have the same length, got ", strides.size(), " and ",
                                   dilations.size());
  }
  int64_t batch_dims = 1;
  if (c.GetAttr("batch_dims", &batch_dims).ok() && (batch_dims < 0 || batch_dims > kMaxBatchDims)) {
    return errors::InvalidArgument("batch_dims must be between 0 and ", kMaxBatchDims, ", got ", batch_dims);
  }
  // Dimension d of an image with one batch dimension is dimension d + more of the input.
  const int more = static_cast<int>(batch_dims) - 1;
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), layout.rank + more));
  const bool explicit_given = padding == "EXPLICIT" && c.GetAttr("explicit_paddings", &explicit_paddings).ok() &&
                              explicit_paddings.size() == 2 * strides.size();
  if (padding == "EXPLICIT" && !explicit_given) {
    return errors::InvalidArgument("explicit_paddings must have ", 2 * strides.size(), " values");
  }
  DimVector out(layout.rank + more, kUnknown);
  for (int64_t d = 0; d < batch_dims; ++d) out[d] = in.dim_size(static_cast<int>(d));
  out[layout.channel + more] = in.dim_size(layout.channel + more);
  if (filter) {
    ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(1), layout.rank));
    out[layout.channel + more] = shape.dim_size(layout.rank - 1);
  }
  for (int i = 0; i < layout.rank - 2; ++i) {
    const int d = layout.spatial + i;
    const int64_t size = filter ? c.input(1).unknown_rank() ? kUnknown : c.input(1).dim_size(i) : window[d];
    ASSIGN_OR_RETURN(out[d + more], shapes::WindowedSize(in.dim_size(d + more), size, strides[d], dilations[d], padding,
                                                         explicit_given ? explicit_paddings[2 * d] : 0,
                                                         explicit_given ? explicit_paddings[2 * d + 1] : 0));
  }
  c.set_output(0, c.Of(out));
  return absl::OkStatus();
}

}  // namespace weir
