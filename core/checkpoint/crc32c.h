// CRC-32C (Castagnoli), the checksum of records, tables and checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace weir::crc32c {

// The checksum of A followed by `data`, given the checksum `crc` of A. Uses the CPU's instruction if the build allows
// it.
uint32_t Extend(uint32_t crc, const void* data, size_t size);
inline uint32_t Value(absl::string_view data) { return Extend(0, data.data(), data.size()); }

// The checksum of A followed by B, given both checksums and the length of B: parts may be summed in parallel.
uint32_t Combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

// Table-driven software version: for other processors, and as a reference in tests.
uint32_t ExtendPortable(uint32_t crc, const void* data, size_t size);

// Stored checksums are masked, because the checksum of data that contains its own checksum is weak.
constexpr uint32_t kMaskDelta = 0xa282ead8u;
constexpr uint32_t Mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kMaskDelta; }
constexpr uint32_t Unmask(uint32_t masked) {
  const uint32_t rotated = masked - kMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace weir::crc32c
