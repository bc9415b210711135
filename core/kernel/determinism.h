// Nodes whose results must have the same bits in every run.
#pragma once

#include "core/status.h"

namespace tensorflow {
class NodeDef;
}

namespace weir {

// Set to true, by workers, on all nodes of a deterministic graph (graph/passes/determinism.h). TensorFlow's runtime
// ignores attributes that begin with "_".
inline constexpr char kDeterministicAttr[] = "_weir_deterministic";

// Whether a kernel of the node must compute the same bits whatever the number of threads and their timing. For a
// kernel's Init: it looks the attribute up by name.
bool IsDeterministic(const tensorflow::NodeDef& node);

// INVALID_ARGUMENT, with TensorFlow's text, if both are zero, which asks for a random seed, and the node is
// deterministic.
absl::Status CheckSeeds(const tensorflow::NodeDef& node, int64_t seed, int64_t seed2);

}  // namespace weir
