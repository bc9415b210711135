#include "tools/trace/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr int64_t kMostSpanNanos = int64_t{1} << 60;
constexpr absl::string_view kStreamSuffix = "/stream:all";

// "/job:a/replica:0/task:1/device:GPU:0/stream:all" in its parts.
struct DeviceParts {
  std::string task, device;
  bool is_stream = false;
};
DeviceParts PartsOfDevice(absl::string_view name, const std::string& default_task) {
  DeviceParts parts;
  parts.is_stream = absl::ConsumeSuffix(&name, kStreamSuffix);
  const size_t at = name.find("/device:");
  if (at == absl::string_view::npos) return {default_task, std::string(name), parts.is_stream};
  parts.task = std::string(name.substr(0, at));
  parts.device = std::string(name.substr(at + 8));
  return parts;
}

// "name = Op(arguments) rest", as the label of a node has it.
struct LabelParts {
  absl::string_view op, arguments;
};
LabelParts PartsOfLabel(absl::string_view label) {
  LabelParts parts;
  const size_t equals = label.find(" = ");
  if (equals == absl::string_view::npos) return parts;
  label.remove_prefix(equals + 3);
  const size_t open = label.find('('), close = label.rfind(')');
  parts.op = label.substr(0, open);
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) return parts;
  parts.arguments = label.substr(open + 1, close - open - 1);
  return parts;
}

int64_t BytesOf(const tensorflow::NodeExecStats& node) {
  int64_t bytes = 0;
  for (const auto& output : node.output()) {
    const int64_t size = output.tensor_description().allocation_description().requested_bytes();
    bytes += std::clamp<int64_t>(size, 0, kMostSpanNanos / 1024);
  }
  return bytes;
}

bool IsSendOp(absl::string_view op) { return op == "_Send" || op == "_HostSend"; }
bool IsReceiveOp(absl::string_view op) { return op == "_Recv" || op == "_HostRecv"; }

class TimelineBuilder {
 public:
  TimelineBuilder(const CollectedTrace& trace, const ActivityOfOp& activity_of)
      : trace_(trace), activity_of_(activity_of) {}

  Timeline Build() {
    for (const TracedStep& step : trace_.steps) {
      const int64_t start = trace_.clocks.ToReference(step.master(), step.start_nanos());
      const int64_t end = trace_.clocks.ToReference(step.master(), step.end_nanos());
      timeline_.steps.push_back({start, std::max(end, start + 1), step.master()});
      for (const auto& device : step.stats().dev_stats()) AddDevice(step, device);
      Pair();
    }
    return std::move(timeline_);
  }

 private:
  void AddDevice(const TracedStep& step, const tensorflow::DeviceStepStats& device) {
    const DeviceParts parts = PartsOfDevice(device.device(), step.master());
    for (const tensorflow::NodeExecStats& node : device.node_stats()) {
      NodeSlice slice{.step = timeline_.steps.size() - 1, .task = parts.task, .device = parts.device};
      SetTimes(node, &slice);
      slice.name = node.node_name();
      slice.label = node.timeline_label();
      slice.thread = node.thread_id();
      slice.bytes = BytesOf(node);
      const LabelParts label = PartsOfLabel(slice.label);
      slice.op = std::string(label.op);
      if (parts.is_stream) {
        slice.activity = Activity::kDevice;
        slice.is_copy = absl::StrContains(absl::AsciiStrToLower(slice.label), "memcpy");
      } else if (IsSendOp(slice.op) || IsReceiveOp(slice.op)) {
        AddTransfer(device.device(), label, &slice);
      } else {
        slice.activity = activity_of_(slice.op);
      }
      timeline_.slices.push_back(std::move(slice));
    }
  }

  void SetTimes(const tensorflow::NodeExecStats& node, NodeSlice* slice) const {
    const bool has_nanos = node.all_start_nanos() != 0 || node.all_end_rel_nanos() != 0;
    const auto micros = [](int64_t value) {
      return std::clamp(value, -kMostSpanNanos / 1000, kMostSpanNanos / 1000) * 1000;
    };
    const int64_t start = has_nanos ? node.all_start_nanos() : micros(node.all_start_micros());
    const int64_t length = has_nanos ? node.all_end_rel_nanos() : micros(node.all_end_rel_micros());
    slice->start = trace_.clocks.ToReference(slice->task, start);
    slice->end = slice->start + std::clamp<int64_t>(length, 1, kMostSpanNanos);
  }

  // Notes the ends of a transfer, which have the same key: "source;destination;tensor".
  void AddTransfer(const std::string& device, const LabelParts& label, NodeSlice* slice) {
    const bool is_send = IsSendOp(slice->op);
    slice->activity = is_send ? Activity::kSend : Activity::kReceive;
    const size_t at = label.arguments.rfind(" @");
    if (at == absl::string_view::npos) return;
    const absl::string_view peer = label.arguments.substr(at + 2);
    slice->peer = PartsOfDevice(peer, "").task;
    const std::string key =
        absl::StrCat(is_send ? device : peer, ";", is_send ? peer : device, ";", label.arguments.substr(0, at));
    Ends& ends = ends_[key];
    (is_send ? ends.sends : ends.receives).push_back(timeline_.slices.size());
  }

  // Loops send and receive a tensor under one key in each iteration: in the order of time.
  void Pair() {
    const auto by_end = [this](size_t a, size_t b) { return timeline_.slices[a].end < timeline_.slices[b].end; };
    for (auto& [key, ends] : ends_) {
      std::sort(ends.sends.begin(), ends.sends.end(), by_end);
      std::sort(ends.receives.begin(), ends.receives.end(), by_end);
      const size_t count = std::min(ends.sends.size(), ends.receives.size());
      for (size_t i = 0; i < count; ++i) {
        NodeSlice& send = timeline_.slices[ends.sends[i]];
        NodeSlice& receive = timeline_.slices[ends.receives[i]];
        send.bytes = receive.bytes;  // a send has no output
        timeline_.transfers.push_back({ends.sends[i], ends.receives[i]});
      }
    }
    ends_.clear();
  }

  struct Ends {
    std::vector<size_t> sends, receives;
  };
  const CollectedTrace& trace_;
  const ActivityOfOp& activity_of_;
  Timeline timeline_;
  std::map<std::string, Ends> ends_;  // of the current step
};

}  // namespace

const char* ActivityName(Activity activity) {
  switch (activity) {
    case Activity::kCompute:
      return "kernel";
    case Activity::kSend:
      return "send";
    case Activity::kReceive:
      return "receive";
    case Activity::kCollective:
      return "collective";
    case Activity::kInput:
      return "input";
    case Activity::kWait:
      return "wait";
    case Activity::kCall:
      return "call";
    case Activity::kDevice:
      return "device";
  }
  return "kernel";
}

Timeline BuildTimeline(const CollectedTrace& trace, const ActivityOfOp& activity_of) {
  return TimelineBuilder(trace, activity_of).Build();
}

}  // namespace weir
