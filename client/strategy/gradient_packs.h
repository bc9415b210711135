// Which gradients are reduced together.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/types.h"

namespace weir {

struct PackedGradient {
  int order = 0;  // in which back-propagation makes them
  DataType dtype = DT_INVALID;
  int64_t bytes = 0;
};

// Positions in `gradients`, pack by pack, in the order in which packs are complete. `bytes_per_pack` as in
// CommunicationOptions. A pack is of one type; a gradient that fills one is alone.
std::vector<std::vector<int>> PackGradients(absl::Span<const PackedGradient> gradients, int64_t bytes_per_pack);

}  // namespace weir
