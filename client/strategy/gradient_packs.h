// Groups gradients into packs.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/types.h"

namespace weir {

struct PackedGradient {
  int order = 0;  // position in back-propagation
  DataType dtype = DT_INVALID;
  int64_t bytes = 0;
};

// Indices into `gradients` per pack, in the order in which packs are complete. `bytes_per_pack` as in
// CommunicationOptions. A pack has one type; a gradient that fills a pack is alone.
std::vector<std::vector<int>> PackGradients(absl::Span<const PackedGradient> gradients, int64_t bytes_per_pack);

}  // namespace weir
