// JPEG, through libjpeg.
#pragma once

#include <optional>
#include <string>

#include "kernels/image/pixels.h"

namespace weir {

// A part of an image.
struct JpegWindow {
  int64_t y = 0, x = 0, height = 0, width = 0;
};
struct JpegDecodeOptions {
  int channels = 0;  // 0: as many as the file has, 1: gray, 3: red, green and blue
  int ratio = 1;     // sizes are divided by 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool recover_truncated = false;  // what is missing becomes gray
  float acceptable_fraction = 1;   // of the rows
  bool fast = true;                // the less accurate cosine transform
  std::optional<JpegWindow> crop;  // of the image after `ratio`
};
absl::StatusOr<Pixels> DecodeJpeg(absl::string_view contents, const JpegDecodeOptions& options);

struct JpegShape {
  int64_t height = 0, width = 0, channels = 0;
};
absl::StatusOr<JpegShape> ReadJpegShape(absl::string_view contents);

struct JpegEncodeOptions {
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true, density_in_cm = false;
  int x_density = 300, y_density = 300;
  std::string xmp_metadata;
};
// `channels` is 1 or 3.
absl::StatusOr<std::string> EncodeJpeg(const uint8_t* pixels, int64_t height, int64_t width, int channels,
                                       const JpegEncodeOptions& options);

}  // namespace weir
