// Makes of a graph for a GPU one whose parts are captured and replayed.
#pragma once

#include <optional>

#include "core/gpu/gpu_device.h"
#include "core/kernel_registry.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "worker/capture/segments.h"
#include "worker/plan.h"

namespace weir {

// The name among RewriterConfig's custom_optimizers by which a session asks for it. Its parameters min_kernels and
// warm_ups, ints, are SegmentOptions'.
inline constexpr char kGpuGraphsOptimizer[] = "GpuGraphs";

// What a session asks for; nullopt: nothing. INVALID_ARGUMENT for parameters that there are not.
absl::StatusOr<std::optional<SegmentOptions>> CaptureOptionsOf(const tensorflow::GraphOptions& options);

// Puts a node with a CapturedSegment in place of each segment of `graph`, which PrepareMemory has been through, and
// gives `options` the kernels of what there is now. `device` is `gpu`, or a view of it.
absl::Status CaptureSegments(const SegmentOptions& segments, const KernelRegistry& kernels, Device* device,
                             GpuDevice* gpu, Graph* graph, Plan::Options* options);

}  // namespace weir
