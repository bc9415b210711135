// Steps of a cluster as intervals on one clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/trace/trace_collector.h"

namespace weir {

// The kinds of work of nodes.
enum class Activity { kCompute, kSend, kReceive, kCollective, kInput, kWait, kCall, kDevice };
const char* ActivityName(Activity activity);

// The activity of an op's nodes, apart from sends and receives. kDevice is that of a GPU's stream.
using ActivityOfOp = std::function<Activity(absl::string_view op)>;

// One run of a node. Times are nanoseconds of the reference clock.
struct NodeSlice {
  size_t step = 0;     // index in CollectedTrace::steps
  std::string task;    // "/job:worker/replica:0/task:0"
  std::string device;  // "CPU:0"; "GPU:0" of a stream too
  std::string name, op, label;
  Activity activity = Activity::kCompute;
  int64_t start = 0, end = 0;  // end > start
  uint32_t thread = 0;         // or the stream
  std::string peer;            // of a transfer: the other task
  int64_t bytes = 0;           // of the outputs
  bool is_copy = false;        // between memories of a GPU and the host
};

// A tensor's way from one device to another.
struct Transfer {
  size_t send = 0, receive = 0;  // indices of Timeline::slices
};

struct StepSpan {
  int64_t start = 0, end = 0;
  std::string master;
};

struct Timeline {
  std::vector<StepSpan> steps;  // of CollectedTrace::steps
  std::vector<NodeSlice> slices;
  std::vector<Transfer> transfers;
};

// Whatever the statistics hold, from any runtime: times and names without sense give slices without sense, no more.
Timeline BuildTimeline(const CollectedTrace& trace, const ActivityOfOp& activity_of);

}  // namespace weir
