// Fuses chains of element-wise ops into one GPU node.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/passes/pass.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// The name in RewriterConfig's custom_optimizers that enables it; it has no parameters.
inline constexpr char kGpuFusionOptimizer[] = "GpuFusion";

// Whether a session enables it: by name, or by global_jit_level, TensorFlow's switch for compilation. INVALID_ARGUMENT
// if it has parameters.
absl::StatusOr<bool> AsksForFusion(const tensorflow::GraphOptions& options);

// In a placed graph, fuses connected element-wise ops on one device of type `device_type`, and optionally a reduction
// after them, into one node (core/fusion/fused_node.h). Fetched, fed and targeted nodes stay, and so do function
// bodies. Meant for a worker's partition, whose feeds and fetches are _Recv and _Send nodes.
std::unique_ptr<Pass> MakeElementwiseFusionPass(std::string device_type);

}  // namespace weir
