// PNG, through libpng.
#pragma once

#include <string>

#include "kernels/image/pixels.h"

namespace weir {

// Decodes to `channels` channels (0: as many as the file has) of `bits` bits.
absl::StatusOr<Pixels> DecodePng(absl::string_view contents, int channels, int bits);

// `pixels`: rows of `channels` values of 8 or 16 bits. `compression`: zlib's level, -1 for its default.
absl::StatusOr<std::string> EncodePng(const void* pixels, int64_t height, int64_t width, int channels, int bits = 8,
                                      int compression = -1);

}  // namespace weir
