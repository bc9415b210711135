// Families of ops of one field each, and those that only old graphs have.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterAudioOps(OpRegistry& ops);
absl::Status RegisterClusterOps(OpRegistry& ops);
absl::Status RegisterCompositeOps(OpRegistry& ops);
absl::Status RegisterCsrOps(OpRegistry& ops);
absl::Status RegisterEmbeddingOps(OpRegistry& ops);
// After the ops of today's names.
absl::Status RegisterFormerOps(OpRegistry& ops);

}  // namespace weir
