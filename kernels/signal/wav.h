// Sounds as WAV files of 16-bit samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

struct Sound {
  std::vector<float> samples;  // from -1 to 1, frame by frame
  int64_t frames = 0, channels = 0;
  uint32_t rate = 0;  // frames in a second
};

std::string EncodeWav(const float* samples, int64_t frames, int64_t channels, uint32_t sample_rate);
// InvalidArgument for all but uncompressed files of 16 bits a sample. Allocates no more than the file holds.
absl::StatusOr<Sound> DecodeWav(absl::string_view file);

}  // namespace weir
