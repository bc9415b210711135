// A GPU's activities with times, as reported by its driver.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// A kernel, a copy or a fill. Times are in nanoseconds of the steady clock.
struct GpuActivity {
  std::string name;  // a kernel's demangled name, or "copy to host 4096 bytes"
  int64_t start_nanos = 0, end_nanos = 0;
  uint32_t stream = 0;
  // When and on which OS thread the host enqueued it.
  int64_t enqueued_nanos = 0;
  uint32_t thread = 0;
};

// Records from its creation until Stop or its destruction.
class GpuActivityRecording {
 public:
  virtual ~GpuActivityRecording() = default;
  // The activities that have ended by now, ordered by start. Call once.
  virtual absl::StatusOr<std::vector<GpuActivity>> Stop() = 0;
};

// Implemented by a GpuRuntime that can record. Thread-safe; several recordings may be active.
class GpuActivitySource {
 public:
  virtual ~GpuActivitySource() = default;
  // Records this device. UNAVAILABLE, with the reason, if it cannot.
  virtual absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordActivities() = 0;
};

}  // namespace weir
