// What a GPU did, and when, as its driver tells it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// A kernel, a copy or a fill. Times are those of the steady clock, in nanoseconds.
struct GpuActivity {
  std::string name;  // a kernel's, written out; "copy to host 4096 bytes"
  int64_t start_nanos = 0, end_nanos = 0;
  uint32_t stream = 0;
  // When, and on which thread of the operating system, the host asked for it.
  int64_t enqueued_nanos = 0;
  uint32_t thread = 0;
};

// Records from its making until Stop, or its end.
class GpuActivityRecording {
 public:
  virtual ~GpuActivityRecording() = default;
  // What has ended by now, by start. Once.
  virtual absl::StatusOr<std::vector<GpuActivity>> Stop() = 0;
};

// A GpuRuntime that can tell is one of these, too. Thread-safe; several recordings may be under way.
class GpuActivitySource {
 public:
  virtual ~GpuActivitySource() = default;
  // Of this device. UNAVAILABLE, with the reason, where it cannot.
  virtual absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordActivities() = 0;
};

}  // namespace weir
