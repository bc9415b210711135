#include "client/training/step_profile.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/device/device_name.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "xla/tsl/profiler/protobuf/xplane.pb.h"

namespace weir {
namespace {

using tensorflow::profiler::XEvent;
using tensorflow::profiler::XLine;
using tensorflow::profiler::XPlane;
using tensorflow::profiler::XSpace;
using tensorflow::profiler::XStat;

constexpr char kHostPlane[] = "/host:CPU";
constexpr int64_t kPicosPerNano = 1000;
// Longer ones overflow in picoseconds.
constexpr int64_t kMostNanos = std::numeric_limits<int64_t>::max() / kPicosPerNano;
// Times beyond have no sense; within, differences do not overflow.
constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max() / 2 - kMostNanos;

// A plane whose names are stored once.
class PlaneWriter {
 public:
  PlaneWriter(XPlane* plane, const std::string& name) : plane_(plane) { plane_->set_name(name); }

  XLine* AddLine(const std::string& name, int64_t origin) {
    XLine* const line = plane_->add_lines();
    line->set_id(plane_->lines_size());
    line->set_name(name);
    line->set_timestamp_ns(origin);
    return line;
  }
  XEvent* AddEvent(XLine* line, const TaskProfile::Interval& interval) {
    XEvent* const event = line->add_events();
    const int64_t id = IdOf(interval.name, &events_);
    (*plane_->mutable_event_metadata())[id].set_id(id);
    (*plane_->mutable_event_metadata())[id].set_name(interval.name);
    event->set_metadata_id(id);
    event->set_offset_ps(std::clamp(interval.start - line->timestamp_ns(), int64_t{0}, kMostNanos) * kPicosPerNano);
    event->set_duration_ps(std::clamp(interval.end - interval.start, int64_t{1}, kMostNanos) * kPicosPerNano);
    return event;
  }
  XStat* AddStat(XEvent* event, const std::string& name) {
    const int64_t id = IdOf(name, &stats_);
    (*plane_->mutable_stat_metadata())[id].set_id(id);
    (*plane_->mutable_stat_metadata())[id].set_name(name);
    XStat* const stat = event->add_stats();
    stat->set_metadata_id(id);
    return stat;
  }

 private:
  static int64_t IdOf(const std::string& name, std::map<std::string, int64_t>* ids) {
    return ids->emplace(name, static_cast<int64_t>(ids->size()) + 1).first->second;
  }

  XPlane* const plane_;
  std::map<std::string, int64_t> events_, stats_;
};

std::vector<TaskProfile::Interval> Sorted(std::vector<TaskProfile::Interval> intervals) {
  std::stable_sort(intervals.begin(), intervals.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return intervals;
}

void AddSteps(const std::map<int64_t, TaskProfile::Interval>& steps, PlaneWriter& plane, XLine* line) {
  for (const auto& [number, step] : steps) {
    XEvent* const event = plane.AddEvent(line, step);
    plane.AddStat(event, "step_num")->set_int64_value(number);
    plane.AddStat(event, "_r")->set_int64_value(1);  // a root: it begins a group of events
  }
}

// "node:Op" of a node whose label is "node = Op(inputs)".
std::string NodeAndOp(const tensorflow::NodeExecStats& node) {
  absl::string_view op = node.timeline_label();
  const size_t equals = op.find(" = ");
  if (equals == absl::string_view::npos) return node.node_name();
  op.remove_prefix(equals + 3);
  return absl::StrCat(node.node_name(), ":", op.substr(0, op.find('(')));
}

TaskProfile::Interval IntervalOf(const tensorflow::NodeExecStats& node) {
  const bool has_nanos = node.all_start_nanos() != 0 || node.all_end_rel_nanos() != 0;
  const auto micros = [](int64_t value) { return std::clamp(value, -kMostNanos, kMostNanos) * 1000; };
  const int64_t given = has_nanos ? node.all_start_nanos() : micros(node.all_start_micros());
  const int64_t start = std::clamp(given, -kFarthest, kFarthest);
  const int64_t length = has_nanos ? node.all_end_rel_nanos() : micros(node.all_end_rel_micros());
  return {.start = start,
          .end = start + std::clamp(length, int64_t{1}, kMostNanos - 1),
          .name = NodeAndOp(node),
          .label = node.timeline_label()};
}

// "CPU:0" of "/job:worker/replica:0/task:0/device:CPU:0".
std::string LocalName(absl::string_view device) {
  const size_t at = device.rfind("/device:");
  return std::string(at == absl::string_view::npos ? device : device.substr(at + 8));
}

}  // namespace

std::string TaskProfile::Serialize() const {
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const auto& [number, step] : steps_) origin = std::min(origin, step.start);
  for (const auto& [name, lines] : planes_) {
    for (const auto& [line, intervals] : lines) {
      for (const Interval& interval : intervals) origin = std::min(origin, interval.start);
    }
  }
  XSpace space;
  for (const auto& [name, lines] : planes_) {
    PlaneWriter plane(space.add_planes(), name);
    for (const auto& [line_name, intervals] : lines) {
      XLine* const line = plane.AddLine(line_name, origin);
      // The plug-in counts events to a step that lie within it on their line.
      if (name == kHostPlane) AddSteps(steps_, plane, line);
      for (const Interval& interval : Sorted(intervals)) {
        XEvent* const event = plane.AddEvent(line, interval);
        if (!interval.label.empty()) plane.AddStat(event, "label")->set_str_value(interval.label);
      }
    }
  }
  return space.SerializeAsString();
}

std::string ProfileName(absl::string_view device) {
  const auto parsed = DeviceName::Parse(device.substr(0, device.find("/stream:")));
  if (parsed.ok() && parsed->job && parsed->task) return absl::StrCat(*parsed->job, "-", *parsed->task);
  return "localhost";
}

Profile ProfileOfStep(const tensorflow::StepStats& stats, int64_t step) {
  Profile profile;
  int64_t start = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  for (const tensorflow::DeviceStepStats& device : stats.dev_stats()) {
    absl::string_view name = device.device();
    const bool is_stream = absl::ConsumeSuffix(&name, "/stream:all");
    const std::string local = LocalName(name);
    const std::string plane = is_stream ? absl::StrCat("/device:", local) : kHostPlane;
    TaskProfile& task = profile[ProfileName(name)];
    for (const tensorflow::NodeExecStats& node : device.node_stats()) {
      TaskProfile::Interval interval = IntervalOf(node);
      start = std::min(start, interval.start);
      end = std::max(end, interval.end);
      const std::string line =
          is_stream ? absl::StrCat("Stream #", node.thread_id()) : absl::StrCat(local, " thread ", node.thread_id());
      task.Add(plane, line, std::move(interval));
    }
  }
  if (start > end) return profile;  // without nodes
  for (auto& [name, task] : profile) task.AddStep(step, start, end);
  return profile;
}

absl::Status WriteProfile(FileSystem* files, const std::string& directory, const std::string& run,
                          const Profile& profile) {
  const std::string folder = JoinPath(JoinPath(directory, "plugins/profile"), run);
  RETURN_IF_ERROR(files->CreateDir(folder));
  for (const auto& [task, part] : profile) {
    RETURN_IF_ERROR(WriteStringToFile(files, JoinPath(folder, absl::StrCat(task, ".xplane.pb")), part.Serialize()));
  }
  return absl::OkStatus();
}

}  // namespace weir
