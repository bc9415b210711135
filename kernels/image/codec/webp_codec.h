// WebP, through libwebp.
#pragma once

#include "kernels/image/pixels.h"

namespace weir {

// Decodes to `channels` channels, which must be as many as the file has (0: any number); animations have 4. All frames,
// or the first.
absl::StatusOr<Pixels> DecodeWebP(absl::string_view contents, int64_t channels, bool all_frames);

}  // namespace weir
