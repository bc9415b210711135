// How what ops give to other tasks, or take from them, passes: cast and compressed, as "bf16", "lz4", "bf16+lz4" and
// the like ask for (core/wire/wire_options.h). Of collectives, how their messages look.
#pragma once

#include "absl/strings/string_view.h"
#include "client/graph_region.h"
#include "client/scope.h"

namespace weir {

// Of one op; empty: as the session says. An error is kept by the scope.
void SetWire(const Scope& scope, const Operation& operation, absl::string_view wire);
// Of all ops of the region that have none of their own.
absl::Status SetWire(const GraphRegion& region, absl::string_view wire);

}  // namespace weir
