// Writes models that TensorFlow and its servers load.
#pragma once

#include <map>
#include <string>

#include "client/scope.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

struct ModelSignature {
  std::map<std::string, Output> inputs, outputs;
};

// Writes the scope's graph, with variable values from `checkpoint` ("" for a graph without variables), as a SavedModel
// with tag "serve" and signature "serving_default". Its directory in `base`, named by the seconds since the epoch,
// appears only when it is complete. Loading the model fills its tables (InitializeTables); the text files that they are
// made from are copied into it as assets. Adds ops to the graph. Returns the directory.
absl::StatusOr<std::string> WriteSavedModel(const Scope& scope, const ModelSignature& signature,
                                            const std::string& checkpoint, const std::string& base);

}  // namespace weir
