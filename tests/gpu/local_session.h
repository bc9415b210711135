// A session in this process on GPUs of the caller's choice.
#pragma once

#include <memory>

#include "client/session.h"
#include "core/gpu/gpu_devices.h"

namespace weir {

// Session::Local with the GPUs of `gpus` in place of the machine's, whose memory grows.
absl::StatusOr<std::unique_ptr<Session>> LocalSessionOn(const GpuPlatform& gpus, const Scope& scope,
                                                        SessionOptions options);

// The machine's GPUs. UNAVAILABLE, with the reason, where there is none.
absl::StatusOr<GpuPlatform> MachineGpusOrReason();

// Asks for graphs of all that can be captured, after `warm_ups` runs.
void CaptureGraphs(int warm_ups, tensorflow::ConfigProto* config);

// Asks for element-wise ops to be fused.
void FuseElementwise(tensorflow::ConfigProto* config);

}  // namespace weir
