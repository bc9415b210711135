#include "core/cuda/cupti/cuda_activities.h"
#include "core/cuda/cupti/cupti_tracer.h"

namespace weir {

absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordCudaActivities(int ordinal) {
  ASSIGN_OR_RETURN(CuptiTracer* const tracer, CuptiTracer::Get());
  return tracer->Record(ordinal);
}

}  // namespace weir
