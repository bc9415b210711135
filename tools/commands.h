// The weir commands that inspect something and print it.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

class KernelRegistry;
class OpRegistry;

// weir status grpc://HOST:PORT: the devices of that task's cluster with their incarnations, and the task's GPUs and
// links; with `resources` also its stateful objects.
absl::Status PrintStatus(const std::string& target, bool resources, std::ostream& out);

// weir probe TARGET…: OK if each of these tasks answers GetStatus within `wait`.
absl::Status ProbeTasks(const std::vector<std::string>& targets, absl::Duration wait);

// weir resolve: the TF_CONFIG derived from this process's environment. `from` is the name of a ClusterSource, or
// "auto".
absl::Status PrintResolvedCluster(const std::string& from, std::ostream& out);

// The ops and kernels of a build.
struct OpRegistries {
  const OpRegistry& ops;
  const KernelRegistry& kernels;
};
// weir ops: every op with its types, the devices that have kernels for it, and whether it has a gradient.
absl::Status PrintOps(const OpRegistries& registries, std::ostream& out);
// weir ops --markdown: a short form, the page docs/ops.md.
absl::Status PrintOpsPage(const OpRegistries& registries, std::ostream& out);
// weir ops --against FILE: prints differences from the OpList in FILE, binary or text. Returns the number of ops that
// differ; ops that exist on one side only are counted separately.
absl::StatusOr<int> CompareOps(const OpRegistry& ops, const std::string& file, std::ostream& out);

// weir graph print FILE: prints a GraphDef, binary or text, in the text form. With `shapes`, includes the inferred
// shape of each output; unknown for a node whose inputs do not match.
absl::Status PrintGraphFile(const OpRegistry& ops, const std::string& file, bool shapes, std::ostream& out);

// weir checkpoint list PREFIX: prints name, type and shape of every tensor.
absl::Status ListCheckpoint(const std::string& prefix, std::ostream& out);
// weir checkpoint show PREFIX [NAME…]: also prints values; of all tensors if no name is given.
absl::Status ShowCheckpoint(const std::string& prefix, const std::vector<std::string>& names, int max_entries,
                            std::ostream& out);

}  // namespace weir
