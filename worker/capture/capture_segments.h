// Replaces parts of a GPU's graph with captured segments.
#pragma once

#include <optional>

#include "core/gpu/gpu_device.h"
#include "core/kernel/kernel_registry.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "worker/capture/segments.h"
#include "worker/executor/plan.h"

namespace weir {

// The name in RewriterConfig.custom_optimizers that enables capture in a session. Its int parameters min_kernels and
// warm_ups are SegmentOptions'.
inline constexpr char kGpuGraphsOptimizer[] = "GpuGraphs";

// The session's options; nullopt: capture is off. INVALID_ARGUMENT for unknown parameters.
absl::StatusOr<std::optional<SegmentOptions>> CaptureOptionsOf(const tensorflow::GraphOptions& options);

// Replaces each segment of `graph` with a CapturedSegment node and adds the new kernels to `options`. PrepareMemory has
// run on the graph. `device` is `gpu`, or a view of it.
absl::Status CaptureSegments(const SegmentOptions& segments, const KernelRegistry& kernels, Device* device,
                             GpuDevice* gpu, Graph* graph, Plan::Options* options);

}  // namespace weir
