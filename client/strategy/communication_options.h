// Options of a strategy's collectives.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

struct CommunicationOptions {
  // Gradients are reduced in packs of this many bytes, in the order of back-propagation: each pack as soon as its last
  // gradient is computed, concurrently with further ones. Larger gradients are neither split nor packed.
  // - 0: packs of 25 MiB after a small first one, which starts early.
  // - -1: each gradient separately.
  int64_t bytes_per_pack = 0;
  // Timeout of a collective; 0: the step's.
  double timeout_seconds = 0;
  // The wire format of gradients: "bf16", "lz4", "bf16+lz4" and the like (client/wire.h); empty: unchanged. Must be the
  // same on all workers.
  std::string wire;
};

// InvalidArgument, naming the strategy, for invalid values.
absl::Status CheckCommunication(absl::string_view strategy, const CommunicationOptions& options);

}  // namespace weir
