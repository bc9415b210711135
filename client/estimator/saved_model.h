// Writes models that TensorFlow and its servers load.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "client/scope.h"
#include "core/api.h"
#include "core/files/file_system.h"
#include "core/status.h"

namespace WEIR_API weir {

struct ModelSignature {
  std::map<std::string, Output> inputs, outputs;
};

// Writes the scope's graph, with variable values from `checkpoint` ("" for a graph without variables), as a SavedModel
// with tag "serve" and signature "serving_default". Adds ops to the graph. Returns its directory in `base`, named by
// the seconds since the epoch, or a later number if there is such a model.
// - The directory appears only when it is complete. In an object store, which cannot rename directories, saved_model.pb
//   appears last: until then a server may see a version without it. TensorFlow Serving reports that it cannot load
//   such a version, serves the old one, and retries. A killed export leaves such a version.
// - Loading the model fills its tables (InitializeTables); the text files that they are made from are copied into it as
//   assets.
// - Calls may write to one `base` at the same time, from several processes. A failed call deletes only its own files.
// - `files` finds `base` and the assets; variables are written by a session, with FileSystemRegistry::Default().
absl::StatusOr<std::string> WriteSavedModel(
    const Scope& scope, const ModelSignature& signature, const std::string& checkpoint, const std::string& base,
    const std::shared_ptr<FileSystemRegistry>& files = FileSystemRegistry::Default());

}  // namespace weir
