#include <cstdlib>
#include <cstring>

#include "kernels/image/codec/simple_formats.h"

namespace weir {
namespace {

template <typename T>
T LittleEndian(absl::string_view contents, size_t at) {
  T value;
  std::memcpy(&value, contents.data() + at, sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<Pixels> DecodeBmp(absl::string_view contents, int channels) {
  constexpr size_t kHeader = 32;
  if (contents.size() < kHeader) {
    return errors::InvalidArgument("Incomplete bmp content, requires at least 32 bytes to find the header size, ",
                                   "width, height, and bpp, got ", contents.size(), " bytes");
  }
  const int64_t start = LittleEndian<int32_t>(contents, 10), width = LittleEndian<int32_t>(contents, 18),
                signed_height = LittleEndian<int32_t>(contents, 22), bits = LittleEndian<int16_t>(contents, 28);
  if (channels != 0 && channels != 3 && channels != 4) {
    return errors::InvalidArgument("`channels` must be 0, 3 or 4 for BMP, but got ", channels);
  }
  const int64_t depth = bits / 8, height = std::abs(signed_height);
  if (depth != 1 && depth != 3 && depth != 4) {
    return errors::InvalidArgument("Number of channels inherent in the image must be 1, 3 or 4, was ", depth);
  }
  if (width <= 0) return errors::InvalidArgument("Width must be positive");
  if (height == 0) return errors::InvalidArgument("Height must be nonzero");
  if (start < 0) return errors::InvalidArgument("Header size must be non-negative, got ", start);
  Pixels pixels;
  const int64_t wanted = channels == 0 ? depth : channels;
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  if (width >= kMostBytes || height >= kMostBytes || height * width >= kMostBytes / wanted) {
    return errors::InvalidArgument("Total possible pixel bytes must be less than 2^30, got ", height, "x", width, "x",
                                   wanted);
  }
  RETURN_IF_ERROR(pixels.Allocate("BMP", 1, height, width, wanted, 8));
  const int64_t row = (depth * width + 3) / 4 * 4;
  const int64_t extra = static_cast<int64_t>(contents.size()) - start - height * row;
  if (extra != 0) {
    return errors::InvalidArgument("Input size should match (header_size + row_size * abs_height) but they differ by ",
                                   extra);
  }
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from = signed_height < 0 ? y : height - 1 - y;
    const auto* in = reinterpret_cast<const uint8_t*>(contents.data()) + start + from * row;
    uint8_t* out = pixels.bytes.data() + y * width * wanted;
    for (int64_t x = 0; x < width; ++x, in += depth, out += wanted) {
      // Blue comes first; gray stands for all three.
      out[0] = in[depth == 1 ? 0 : 2];
      if (wanted == 1) continue;
      out[1] = in[depth == 1 ? 0 : 1];
      out[2] = in[0];
      if (wanted == 4) out[3] = depth == 4 ? in[3] : 255;
    }
  }
  return pixels;
}

}  // namespace weir
