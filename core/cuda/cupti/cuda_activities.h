// What CUDA's devices did, by CUPTI.
#pragma once

#include <memory>

#include "core/gpu/gpu_activities.h"

namespace weir {

// Of the device of that ordinal. UNAVAILABLE, with the reason, where CUPTI cannot be loaded or refuses, and in a build
// without its header.
absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordCudaActivities(int ordinal);

}  // namespace weir
