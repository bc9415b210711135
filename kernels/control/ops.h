// Ops that every graph is made of: constants, placeholders, control flow, function calls, sends and receives.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterCoreOps(OpRegistry& ops);

}  // namespace weir
