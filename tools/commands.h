// The commands of weir that look at things and print what they find.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

class KernelRegistry;
class OpRegistry;

// weir status grpc://HOST:PORT: the devices of that task's cluster, with their incarnations, and the task's GPUs and
// links; with `resources` also its stateful objects.
absl::Status PrintStatus(const std::string& target, bool resources, std::ostream& out);

// weir probe TARGET…: OK when each of these tasks answers GetStatus, or does so before `wait` is over.
absl::Status ProbeTasks(const std::vector<std::string>& targets, absl::Duration wait);

// weir resolve: the TF_CONFIG that the environment of this process stands for. `from` is a name of a ClusterSource, or
// "auto".
absl::Status PrintResolvedCluster(const std::string& from, std::ostream& out);

// What a build knows of ops.
struct OpRegistries {
  const OpRegistry& ops;
  const KernelRegistry& kernels;
};
// weir ops: every op with its types, the devices that have kernels for it, and whether it has a gradient.
absl::Status PrintOps(const OpRegistries& registries, std::ostream& out);
// weir ops --markdown: the same in short, as the page docs/ops.md.
absl::Status PrintOpsPage(const OpRegistries& registries, std::ostream& out);
// weir ops --against FILE: where ops differ from those of the OpList in FILE, binary or text. Gives the number of ops
// that differ; ops that only one side has are counted apart.
absl::StatusOr<int> CompareOps(const OpRegistry& ops, const std::string& file, std::ostream& out);

// weir graph print FILE: a GraphDef, binary or text, in the text form. With `shapes`, each output has its inferred
// shape; those of a node whose inputs do not fit are unknown.
absl::Status PrintGraphFile(const OpRegistry& ops, const std::string& file, bool shapes, std::ostream& out);

// weir checkpoint list PREFIX: name, type and shape of every tensor.
absl::Status ListCheckpoint(const std::string& prefix, std::ostream& out);
// weir checkpoint show PREFIX [NAME…]: with values; all tensors when none is named.
absl::Status ShowCheckpoint(const std::string& prefix, const std::vector<std::string>& names, int max_entries,
                            std::ostream& out);

}  // namespace weir
