// Images as codecs know them: rows of pixels, eight or sixteen bits a channel in the machine's byte order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

struct Pixels {
  int64_t frames = 1, height = 0, width = 0, channels = 0;
  int bits = 8;  // 8 or 16
  std::vector<uint8_t> bytes;

  int64_t size() const { return frames * height * width * channels; }
  // Sets the sizes and makes room. InvalidArgument, naming `format`, where that would be more than kMaxBytes.
  absl::Status Allocate(absl::string_view format, int64_t frames, int64_t height, int64_t width, int64_t channels,
                        int bits);
  static constexpr int64_t kMaxBytes = int64_t{1} << 29;
};

enum class ImageFormat { kUnknown, kJpeg, kPng, kGif, kBmp, kWebP };
// By the first bytes.
ImageFormat ImageFormatOf(absl::string_view contents);

}  // namespace weir
