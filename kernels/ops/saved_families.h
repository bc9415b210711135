// Families of ops around saved datasets and serialised messages.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterSavedDatasetOps(OpRegistry& ops);
absl::Status RegisterProtoOps(OpRegistry& ops);

}  // namespace weir
