// Chains of element-wise ops become one node of a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/passes/pass.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// The name among RewriterConfig's custom_optimizers by which a session asks for it; it has no parameters.
inline constexpr char kGpuFusionOptimizer[] = "GpuFusion";

// Whether a session asks for it: by name, or by global_jit_level, TensorFlow's switch for compiling what its ops leave
// to be compiled. INVALID_ARGUMENT for parameters.
absl::StatusOr<bool> AsksForFusion(const tensorflow::GraphOptions& options);

// In a graph that is placed, connected element-wise ops of one device of type `device_type`, and perhaps a reduction
// behind them, become one node (core/fusion/fused_node.h). What is fetched, fed or run by name stays, and so do nodes
// of function bodies. Meant for a part of a graph, within which no client looks: its feeds and fetches are _Recv and
// _Send.
std::unique_ptr<Pass> MakeElementwiseFusionPass(std::string device_type);

}  // namespace weir
