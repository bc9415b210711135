// Numbers that nobody can foresee: identities, tokens, seeds that nobody gave.
#pragma once

#include <cstdint>

namespace weir {

// 64 bits from the system's source of entropy, never 0. Any thread.
uint64_t RandomBits();

}  // namespace weir
