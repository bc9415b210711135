// Formats that are decoded here, without a library.
#pragma once

#include "kernels/image/pixels.h"

namespace weir {

// All frames, or only the first; red, green and blue. A frame covers what was before it where it is not transparent.
absl::StatusOr<Pixels> DecodeGif(absl::string_view contents, bool all_frames);

// Uncompressed bitmaps of 8, 24 or 32 bits a pixel. `channels` 0: as many as the file has.
absl::StatusOr<Pixels> DecodeBmp(absl::string_view contents, int channels);

}  // namespace weir
