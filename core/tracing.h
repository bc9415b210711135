// Trace spans, collected per step on request.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"

namespace tensorflow {
class StepStats;
}

namespace weir {

// An event on a thread of a device. Times are nanoseconds since the epoch.
struct TraceEvent {
  std::string name;      // the node's name, for kernels
  std::string category;  // "kernel", "send", "recv", "rpc"
  std::string device;
  uint32_t thread = 0;
  int64_t scheduled_nanos = 0;  // when it became ready; 0: unknown
  int64_t start_nanos = 0;
  int64_t end_nanos = 0;
  std::vector<std::pair<std::string, std::string>> args;  // "op", "bytes" and so on
};

// Collects the events of one step. Thread-safe. Traced code holds a Tracer* that is null when tracing is off, so that a
// span then costs one comparison.
class Tracer {
 public:
  void Add(TraceEvent event);
  // Moves the events out, ordered by start.
  std::vector<TraceEvent> Take();

 private:
  Mutex mu_;
  std::vector<TraceEvent> events_ GUARDED_BY(mu_);
};

// Since the epoch; monotonic within a process.
int64_t TraceNowNanos();
// A small number for the calling thread.
uint32_t TraceThreadId();

// Adds an event that spans its own lifetime to `tracer`; a no-op if that is null.
//   TraceSpan span(tracer, "RecvTensor", "rpc");
//   if (span) span.Arg("bytes", size);
class TraceSpan {
 public:
  TraceSpan(Tracer* tracer, absl::string_view name, absl::string_view category, absl::string_view device = "")
      : tracer_(tracer) {
    if (__builtin_expect(tracer != nullptr, 0)) Start(name, category, device);
  }
  ~TraceSpan() {
    if (__builtin_expect(tracer_ != nullptr, 0)) End();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  explicit operator bool() const { return tracer_ != nullptr; }
  template <typename T>
  void Arg(absl::string_view name, const T& value) {
    if (tracer_ != nullptr) event_.args.emplace_back(std::string(name), absl::StrCat(value));
  }

 private:
  void Start(absl::string_view name, absl::string_view category, absl::string_view device);
  void End();

  Tracer* const tracer_;
  TraceEvent event_;
};

// For chrome://tracing and Perfetto: one process per device, one row per thread.
std::string TraceToChromeJson(const std::vector<TraceEvent>& events);
// Appends to `stats`; events without a device go under "".
void TraceToStepStats(const std::vector<TraceEvent>& events, tensorflow::StepStats* stats);
std::vector<TraceEvent> TraceFromStepStats(const tensorflow::StepStats& stats);

}  // namespace weir
