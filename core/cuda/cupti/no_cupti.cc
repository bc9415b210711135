// Replaces cupti_*.cc in a build without CUPTI's header.
#include "core/cuda/cupti/cuda_activities.h"

namespace weir {

absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordCudaActivities(int) {
  return errors::Unavailable("this build has no CUPTI");
}

}  // namespace weir
