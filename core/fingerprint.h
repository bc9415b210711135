// String hashes that are stable across machines and releases, bit-identical to TensorFlow's.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weir {

// FarmHash's fingerprint.
uint64_t Fingerprint64(absl::string_view text);
// The fingerprint of a sequence, from those of its parts.
uint64_t FingerprintCat64(uint64_t first, uint64_t second);
// MurmurHash64A with TensorFlow's seed.
uint64_t Hash64(absl::string_view text, uint64_t seed = 0xDECAFCAFFE);
// SipHash-2-4: finding collisions requires the key.
uint64_t StrongKeyedHash(const uint64_t key[2], absl::string_view text);

}  // namespace weir
