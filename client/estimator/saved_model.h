// Models that TensorFlow and its servers load.
#pragma once

#include <map>
#include <string>

#include "client/scope.h"
#include "core/status.h"

namespace weir {

struct ModelSignature {
  std::map<std::string, Output> inputs, outputs;
};

// Writes the scope's graph, with the values that `checkpoint` has for its variables, as a SavedModel: tag "serve",
// signature "serving_default". It goes into a new directory of `base`, named by the seconds since the epoch, which is
// there only when it is complete. Adds ops to the graph. Returns the directory.
absl::StatusOr<std::string> WriteSavedModel(const Scope& scope, const ModelSignature& signature,
                                            const std::string& checkpoint, const std::string& base);

}  // namespace weir
