// Ops on regular expressions, and the summaries that become TensorBoard's events.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterTextOps(OpRegistry& ops);

}  // namespace weir
