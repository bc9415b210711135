// How a strategy's collectives are made.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

struct CommunicationOptions {
  // Gradients are reduced in packs of so many bytes, in the order in which back-propagation makes them: each pack as
  // soon as its last gradient is there, while others are computed. 0: a small one first, so that it starts early, then
  // of 25 MiB. -1: each gradient on its own. A gradient that is larger is never cut, nor packed with others.
  int64_t bytes_per_pack = 0;
  // How long a collective waits for the others; 0: as long as the step.
  double timeout_seconds = 0;
  // How gradients look in messages: "bf16", "lz4", "bf16+lz4" and the like (client/wire.h); empty: as
  // they are. All workers say the same.
  std::string wire;
};

// InvalidArgument, naming the strategy, for values that are none.
absl::Status CheckCommunication(absl::string_view strategy, const CommunicationOptions& options);

}  // namespace weir
