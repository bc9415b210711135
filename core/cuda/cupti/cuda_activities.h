// CUDA device activity, recorded by CUPTI.
#pragma once

#include <memory>

#include "core/gpu/gpu_activities.h"

namespace weir {

// Records the device with that ordinal. UNAVAILABLE, with the reason, if CUPTI cannot be loaded or fails, and in a
// build without its header.
absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordCudaActivities(int ordinal);

}  // namespace weir
