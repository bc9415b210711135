#include "kernels/image/pixels.h"

#include "absl/strings/match.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

absl::Status Pixels::Allocate(absl::string_view format, int64_t frame_count, int64_t rows, int64_t columns,
                              int64_t depth, int bit_depth) {
  if (frame_count <= 0 || rows <= 0 || columns <= 0) {
    return errors::InvalidArgument("Invalid ", format, " data: ", frame_count, " frames of ", columns, "x", rows);
  }
  int64_t total = MultiplyWithoutOverflow(frame_count, rows);
  for (int64_t factor : {columns, depth, static_cast<int64_t>(bit_depth / 8)}) {
    total = MultiplyWithoutOverflow(total, factor);
  }
  if (total < 0 || total > kMaxBytes) {
    return errors::InvalidArgument("Image too large: ", format, " of ", frame_count, " frames of ", columns, "x", rows,
                                   " with ", depth, " channels");
  }
  frames = frame_count;
  height = rows;
  width = columns;
  channels = depth;
  bits = bit_depth;
  bytes.assign(total, 0);
  return absl::OkStatus();
}

ImageFormat ImageFormatOf(absl::string_view contents) {
  if (absl::StartsWith(contents, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (absl::StartsWith(contents, "\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (absl::StartsWith(contents, "GIF8")) return ImageFormat::kGif;
  if (absl::StartsWith(contents, "BM")) return ImageFormat::kBmp;
  if (contents.size() > 12 && absl::StartsWith(contents, "RIFF") && contents.substr(8, 4) == "WEBP") {
    return ImageFormat::kWebP;
  }
  return ImageFormat::kUnknown;
}

}  // namespace weir
