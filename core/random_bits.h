// Unpredictable numbers: identities, tokens, default seeds.
#pragma once

#include <cstdint>

namespace weir {

// 64 bits from the system's entropy source, never 0. Thread-safe.
uint64_t RandomBits();

}  // namespace weir
