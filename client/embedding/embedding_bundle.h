// Writes the rows of embeddings as one bundle.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/embedding/embedding_variable.h"
#include "client/session.h"
#include "core/api.h"
#include "core/files/file_system.h"

namespace WEIR_API weir {

struct EmbeddingBundleOptions {
  bool with_slots = true;
  // Whether others can still ask for the changes since an earlier version.
  bool keep_removals = false;
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};

// Each task writes its rows; then the parts are merged under the final name, so that readers find all of it or nothing.
// The tasks and the client must share a file system.
class EmbeddingBundleWriter {
 public:
  explicit EmbeddingBundleWriter(EmbeddingBundleOptions options) : options_(std::move(options)) {}

  // Adds ops to the scope's graph.
  void AddParts(const Scope& scope, const EmbeddingVariable& variable);
  size_t num_parts() const { return parts_.size(); }

  using Entries = std::vector<std::pair<std::string, Tensor>>;
  // Calls its argument where final files may change.
  using Guard = absl::FunctionRef<absl::Status(absl::FunctionRef<absl::Status()>)>;
  // Writes the rows that changed after since[i] (-1: all) in part i, and `entries`. Returns the parts' versions.
  absl::StatusOr<std::vector<int64_t>> Write(Session& session, const std::string& path,
                                             const std::vector<int64_t>& since, const Entries& entries,
                                             Guard guard) const;

 private:
  struct Part {
    Output prefix, since;  // fed
    Output saved;          // the saved version
  };

  absl::StatusOr<std::vector<int64_t>> WriteParts(Session& session, FileSystem* files, const std::string& path,
                                                  const std::string& temporary, const std::vector<int64_t>& since,
                                                  const Entries& entries, Guard guard) const;

  const EmbeddingBundleOptions options_;
  std::vector<Part> parts_;
};

}  // namespace weir
