// What TensorFlow's debugger (tfdbg) reads: files with the tensors of watched nodes, with graphs, and with what a step
// was asked for.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/file_system.h"
#include "core/status.h"
#include "core/tensor.h"

namespace tensorflow {
class GraphDef;
}

namespace weir {

// A tensor that is published: output `slot` of `node`, as `debug_op` shows it.
struct DebugKey {
  // `tensor` is "node:slot". InvalidArgument where it is not.
  static absl::StatusOr<DebugKey> Parse(absl::string_view device, absl::string_view tensor, absl::string_view debug_op);

  std::string device, node, debug_op;
  int slot = 0;
};

// Each writes one new file below each of `urls`, which are directories with the scheme of a file system ("file://",
// which may be left out). Unimplemented for another scheme, such as "grpc://". They block, and may be called by several
// threads: the microseconds in the files' names, by which the debugger tells what came first, never repeat. A tensor
// that is not initialised is published without its values.
absl::Status PublishDebugTensor(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                                const DebugKey& key, const Tensor& tensor);
absl::Status PublishDebugGraph(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                               absl::string_view device, const tensorflow::GraphDef& graph);

// What a step was asked for.
struct DebugStep {
  int64_t global_step = -1;  // as the client counts
  int64_t run_index = 0;     // steps of the session with watches
  int64_t executor_index = 0;
  std::vector<std::string> inputs, outputs, targets;
};
absl::Status PublishDebugStep(const FileSystemRegistry& files, const std::vector<std::string>& urls,
                              const DebugStep& step);

}  // namespace weir
