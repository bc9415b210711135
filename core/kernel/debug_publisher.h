// Writes the files that TensorFlow's debugger (tfdbg) reads: tensors of watched nodes, graphs, and step metadata.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/files/file_system.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class GraphDef;
}

namespace weir {

// A published tensor: output `slot` of `node`, as transformed by `debug_op`.
struct DebugKey {
  // `tensor` is "node:slot"; InvalidArgument otherwise.
  static absl::StatusOr<DebugKey> Parse(absl::string_view device, absl::string_view tensor, absl::string_view debug_op);

  std::string device, node, debug_op;
  int slot = 0;
};

// Each function writes one new file below each of `urls`, which are directories with a file system scheme ("file://",
// which may be omitted). Unimplemented for other schemes, such as "grpc://".
// - They block, and may be called from several threads.
// - The microseconds in file names, which the debugger orders files by, never repeat.
// - An uninitialised tensor is published without values.
absl::Status PublishDebugTensor(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                                const DebugKey& key, const Tensor& tensor);
absl::Status PublishDebugGraph(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                               absl::string_view device, const tensorflow::GraphDef& graph);

// Metadata of a step.
struct DebugStep {
  int64_t global_step = -1;  // the client's counter
  int64_t run_index = 0;     // counts the session's steps with watches
  int64_t executor_index = 0;
  std::vector<std::string> inputs, outputs, targets;
};
absl::Status PublishDebugStep(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                              const DebugStep& step);

}  // namespace weir
