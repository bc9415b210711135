// Deterministic sessions: the same bits in every run, whatever the number of threads and their timing.
#pragma once

#include <string>

#include "core/status.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// The name in RewriterConfig's custom_optimizers that makes a session deterministic; it has no parameters.
inline constexpr char kDeterministicOpsOptimizer[] = "DeterministicOps";

// INVALID_ARGUMENT if it has parameters.
absl::StatusOr<bool> AsksForDeterministicOps(const tensorflow::GraphOptions& options);
// Makes the session deterministic.
void AskForDeterministicOps(tensorflow::ConfigProto* config);

// The boolean value of the environment variable TF_DETERMINISTIC_OPS; nullptr, not set, is false. INVALID_ARGUMENT,
// quoting it, for anything but 0, 1, false and true.
absl::StatusOr<bool> ReadDeterministicOps(const std::string* value);

// For the part of a graph, or a function's body, that runs on `device`: marks its nodes for their kernels
// (core/kernel/determinism.h), and runs the iterations of loops one after the other where the loops may draw random
// numbers. UNIMPLEMENTED, naming node, op and device, if an op has no deterministic kernel.
absl::Status MakeDeterministic(const std::string& device, Graph* graph);

}  // namespace weir
