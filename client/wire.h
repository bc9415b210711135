// The wire format of ops' inputs and outputs between tasks, and of collectives' messages: casts and compression,
// requested as "bf16", "lz4", "bf16+lz4" and the like (core/wire/wire_options.h).
#pragma once

#include "absl/strings/string_view.h"
#include "client/graph_region.h"
#include "client/scope.h"

namespace weir {

// Of one op; empty: the session's. An error is recorded in the scope.
void SetWire(const Scope& scope, const Operation& operation, absl::string_view wire);
// Of all ops of the region without one of their own.
absl::Status SetWire(const GraphRegion& region, absl::string_view wire);

}  // namespace weir
