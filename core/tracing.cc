#include "core/tracing.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {
namespace {

std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Chrome's times are in microseconds.
std::string Micros(int64_t nanos) { return absl::StrFormat("%d.%03d", nanos / 1000, nanos % 1000); }

std::string ChromeEvent(const TraceEvent& event, int process) {
  std::string json =
      absl::StrCat("{\"ph\":\"X\",\"name\":", Quoted(event.name), ",\"cat\":", Quoted(event.category),
                   ",\"pid\":", process, ",\"tid\":", event.thread, ",\"ts\":", Micros(event.start_nanos),
                   ",\"dur\":", Micros(std::max<int64_t>(event.end_nanos - event.start_nanos, 0)));
  if (!event.args.empty()) {
    absl::StrAppend(&json, ",\"args\":{",
                    absl::StrJoin(event.args, ",",
                                  [](std::string* out, const auto& arg) {
                                    absl::StrAppend(out, Quoted(arg.first), ":", Quoted(arg.second));
                                  }),
                    "}");
  }
  return json + "}";
}

}  // namespace

void Tracer::Add(TraceEvent event) {
  MutexLock lock(mu_);
  events_.push_back(std::move(event));
}

std::vector<TraceEvent> Tracer::Take() {
  std::vector<TraceEvent> events;
  {
    MutexLock lock(mu_);
    events.swap(events_);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.start_nanos < b.start_nanos; });
  return events;
}

int64_t TraceNowNanos() {
  using std::chrono::nanoseconds;
  static const int64_t epoch_offset =
      std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count() -
      std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return epoch_offset +
         std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint32_t TraceThreadId() {
  static std::atomic<uint32_t> next{1};
  thread_local const uint32_t id = next.fetch_add(1, std::memory_order_relaxed);
  return id;
}

void TraceSpan::Start(absl::string_view name, absl::string_view category, absl::string_view device) {
  event_.name = std::string(name);
  event_.category = std::string(category);
  event_.device = std::string(device);
  event_.thread = TraceThreadId();
  event_.start_nanos = TraceNowNanos();
}

void TraceSpan::End() {
  event_.end_nanos = TraceNowNanos();
  tracer_->Add(std::move(event_));
}

std::string TraceToChromeJson(const std::vector<TraceEvent>& events) {
  std::map<std::string, int> processes;
  std::vector<std::string> lines;
  for (const TraceEvent& event : events) {
    auto [process, is_new] = processes.try_emplace(event.device, static_cast<int>(processes.size()));
    if (is_new) {
      lines.push_back(absl::StrCat("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", process->second,
                                   ",\"args\":{\"name\":", Quoted(event.device), "}}"));
    }
    lines.push_back(ChromeEvent(event, process->second));
  }
  return absl::StrCat("{\"traceEvents\":[\n", absl::StrJoin(lines, ",\n"), "\n]}\n");
}

void TraceToStepStats(const std::vector<TraceEvent>& events, tensorflow::StepStats* stats) {
  std::map<std::string, tensorflow::DeviceStepStats*> devices;
  for (auto& device : *stats->mutable_dev_stats()) devices[device.device()] = &device;
  for (const TraceEvent& event : events) {
    tensorflow::DeviceStepStats*& device = devices[event.device];
    if (device == nullptr) {
      device = stats->add_dev_stats();
      device->set_device(event.device);
    }
    tensorflow::NodeExecStats* node = device->add_node_stats();
    const int64_t duration = event.end_nanos - event.start_nanos;
    node->set_node_name(event.name);
    node->set_all_start_nanos(event.start_nanos);
    node->set_all_start_micros(event.start_nanos / 1000);
    node->set_op_end_rel_nanos(duration);
    node->set_op_end_rel_micros(duration / 1000);
    node->set_all_end_rel_nanos(duration);
    node->set_all_end_rel_micros(duration / 1000);
    node->set_scheduled_nanos(event.scheduled_nanos);
    node->set_scheduled_micros(event.scheduled_nanos / 1000);
    node->set_thread_id(event.thread);
    std::string label = event.category;
    for (const auto& [name, value] : event.args) absl::StrAppend(&label, " ", name, "=", value);
    node->set_timeline_label(label);
  }
}

std::vector<TraceEvent> TraceFromStepStats(const tensorflow::StepStats& stats) {
  std::vector<TraceEvent> events;
  for (const auto& device : stats.dev_stats()) {
    for (const auto& node : device.node_stats()) {
      TraceEvent event;
      event.name = node.node_name();
      event.category = node.timeline_label().substr(0, node.timeline_label().find(' '));
      event.device = device.device();
      event.thread = node.thread_id();
      event.scheduled_nanos = node.scheduled_nanos();
      event.start_nanos = node.all_start_nanos() != 0 ? node.all_start_nanos() : node.all_start_micros() * 1000;
      const int64_t duration =
          node.all_end_rel_nanos() != 0 ? node.all_end_rel_nanos() : node.all_end_rel_micros() * 1000;
      event.end_nanos = event.start_nanos + duration;
      events.push_back(std::move(event));
    }
  }
  return events;
}

}  // namespace weir
