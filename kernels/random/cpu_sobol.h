// Direction numbers of Sobol's quasirandom sequence.
#pragma once

#include <cstdint>

namespace weir::sobol {

inline constexpr int kMaxDimensions = 1111;
// The first dimension has none.
extern const uint16_t kNumbers[];

}  // namespace weir::sobol
