#include "tools/trace/chrome_trace.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/json_text.h"
#include "tools/trace/lanes.h"

namespace weir {
namespace {

// Groups of threads in the order in which a viewer shows them.
enum Rank { kSteps, kCallsOfSteps, kKernels, kStreams, kCalls, kLinks, kCollectives, kWaits };

// Something to draw.
struct Event {
  std::string task;
  int rank = 0;
  std::string group;  // the threads' name, without the number of the lane
  int64_t start = 0, end = 0;
  uint64_t owner = 0;  // LaneAssignment
  const NodeSlice* slice = nullptr;
  std::string name, category, arguments;  // if there is no slice
  int pid = 0, tid = 0;
};

std::pair<int, std::string> GroupOf(const NodeSlice& slice) {
  switch (slice.activity) {
    case Activity::kCompute:
    case Activity::kSend:
      return {kKernels, absl::StrCat(slice.device, " thread")};
    case Activity::kDevice:
      return {kStreams, absl::StrCat(slice.device, " stream ", slice.thread)};
    case Activity::kCall:
      return {kCalls, absl::StrCat(slice.device, " calls")};
    case Activity::kReceive:
      return {kLinks, absl::StrCat(slice.device, " from ", slice.peer.empty() ? "elsewhere" : slice.peer)};
    case Activity::kCollective:
      return {kCollectives, absl::StrCat(slice.device, " collectives")};
    case Activity::kInput:
    case Activity::kWait:
      return {kWaits, absl::StrCat(slice.device, " waits")};
  }
  return {kKernels, slice.device};
}

// Microseconds with all digits of the nanoseconds.
std::string Micros(int64_t nanos) {
  const char* const sign = nanos < 0 ? "-" : "";
  const uint64_t size = nanos < 0 ? uint64_t{0} - static_cast<uint64_t>(nanos) : static_cast<uint64_t>(nanos);
  return absl::StrFormat("%s%d.%03d", sign, size / 1000, size % 1000);
}

class ChromeTraceWriter {
 public:
  ChromeTraceWriter(const CollectedTrace& trace, const Timeline& timeline) : trace_(trace), timeline_(timeline) {}

  std::string Write() {
    AddSteps();
    for (const NodeSlice& slice : timeline_.slices) {
      const auto [rank, group] = GroupOf(slice);
      // Kernels that run others, a While say, are one thread's in one step.
      const uint64_t owner = slice.activity == Activity::kCompute || slice.activity == Activity::kSend
                                 ? (uint64_t{slice.step} << 32 | slice.thread) + 1
                                 : 0;
      events_.push_back({.task = slice.task,
                         .rank = rank,
                         .group = group,
                         .start = slice.start,
                         .end = slice.end,
                         .owner = owner,
                         .slice = &slice});
    }
    Assign();
    out_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":";
    AppendMetadata();
    out_ += ",\"traceEvents\":[";
    AppendNames();
    AppendSlices();
    AppendFlows();
    return std::move(out_) + "\n]}\n";
  }

 private:
  void AddSteps() {
    for (size_t i = 0; i < trace_.steps.size(); ++i) {
      const TracedStep& step = trace_.steps[i];
      const StepSpan& span = timeline_.steps[i];
      std::string arguments =
          absl::StrCat("\"step_id\":\"", step.step_id(), "\",\"session\":", JsonString(step.session()));
      if (step.code() != 0) absl::StrAppend(&arguments, ",\"error\":", JsonString(step.error()));
      events_.push_back({.task = span.master,
                         .rank = kSteps,
                         .group = "steps",
                         .start = span.start,
                         .end = span.end,
                         .name = absl::StrCat("step ", i + 1, step.code() != 0 ? " (failed)" : ""),
                         .category = "step",
                         .arguments = std::move(arguments)});
      for (const TracedStep::Part& part : step.part()) {
        const int64_t start = trace_.clocks.ToReference(step.master(), part.start_nanos());
        const int64_t end = trace_.clocks.ToReference(step.master(), part.end_nanos());
        events_.push_back({.task = span.master,
                           .rank = kCallsOfSteps,
                           .group = absl::StrCat("RunGraph on ", part.task()),
                           .start = start,
                           .end = std::max(end, start + 1),
                           .name = absl::StrCat("RunGraph of step ", i + 1),
                           .category = "step",
                           .arguments = absl::StrCat("\"task\":", JsonString(part.task()), ",\"code\":", part.code())});
      }
    }
  }

  // Gives each event its process and thread.
  void Assign() {
    for (size_t i = 0; i < trace_.tasks.size(); ++i) pids_.emplace(trace_.tasks[i], static_cast<int>(i) + 1);
    order_.resize(events_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::sort(order_.begin(), order_.end(), [this](size_t a, size_t b) {
      return std::make_tuple(events_[a].start, -events_[a].end, a) <
             std::make_tuple(events_[b].start, -events_[b].end, b);
    });
    zero_ = order_.empty() ? 0 : events_[order_.front()].start;
    for (const size_t i : order_) {
      Event& event = events_[i];
      event.pid = pids_.emplace(event.task, static_cast<int>(pids_.size()) + 1).first->second;
      Group& group = groups_[{event.pid, event.rank, event.group}];
      event.tid = static_cast<int>(group.lanes.Place(event.start, event.end, event.owner));  // a lane, until Number
    }
    int tid = 0;
    for (auto& [key, group] : groups_) {
      group.first_tid = tid + 1;
      tid += static_cast<int>(group.lanes.size());
    }
    for (Event& event : events_) event.tid += groups_.at({event.pid, event.rank, event.group}).first_tid;
  }

  void AppendMetadata() {
    absl::StrAppend(&out_, "{\"producer\":\"weir trace\",\"steps_wanted\":", trace_.wanted,
                    ",\"steps_traced\":", trace_.steps.size(),
                    ",\"is_complete\":", trace_.is_complete() ? "true" : "false", ",\"notes\":[");
    for (size_t i = 0; i < trace_.notes.size(); ++i) {
      out_ += i > 0 ? "," : "";
      AppendJsonString(trace_.notes[i], &out_);
    }
    absl::StrAppend(&out_, "],\"reference_clock\":", JsonString(trace_.clocks.reference()), ",\"start_nanos\":\"",
                    zero_, "\",\"clocks\":{");
    bool is_first = true;
    for (const std::string& task : trace_.tasks) {
      const ClockOffset offset = trace_.clocks.OffsetOf(task);
      absl::StrAppend(&out_, is_first ? "" : ",", JsonString(task), ":");
      is_first = false;
      if (!offset.is_known) {
        out_ += "{\"is_aligned\":false}";
        continue;
      }
      absl::StrAppend(&out_, "{\"is_aligned\":true,\"offset_us\":", Micros(offset.offset_nanos),
                      ",\"error_bound_us\":", Micros(offset.error_nanos),
                      ",\"round_trip_us\":", Micros(offset.round_trip_nanos), "}");
    }
    out_ += "}}";
  }

  void Begin() {
    out_ += is_empty_ ? "\n" : ",\n";
    is_empty_ = false;
  }

  void AppendName(const char* what, int pid, int tid, const std::string& name, int sort) {
    Begin();
    absl::StrAppend(&out_, "{\"ph\":\"M\",\"name\":\"", what, "_name\",\"pid\":", pid, ",\"tid\":", tid,
                    ",\"args\":{\"name\":", JsonString(name), "}}");
    Begin();
    absl::StrAppend(&out_, "{\"ph\":\"M\",\"name\":\"", what, "_sort_index\",\"pid\":", pid, ",\"tid\":", tid,
                    ",\"args\":{\"sort_index\":", sort, "}}");
  }

  void AppendNames() {
    for (const auto& [task, pid] : pids_) AppendName("process", pid, 0, task, pid);
    for (const auto& [key, group] : groups_) {
      const auto& [pid, rank, name] = key;
      for (size_t lane = 0; lane < group.lanes.size(); ++lane) {
        const int tid = group.first_tid + static_cast<int>(lane);
        AppendName("thread", pid, tid, group.lanes.size() > 1 ? absl::StrCat(name, " #", lane + 1) : name, tid);
      }
    }
  }

  void AppendSlices() {
    for (const size_t i : order_) {
      const Event& event = events_[i];
      Begin();
      absl::StrAppend(&out_, "{\"ph\":\"X\",\"ts\":", Micros(event.start - zero_),
                      ",\"dur\":", Micros(event.end - event.start), ",\"pid\":", event.pid, ",\"tid\":", event.tid);
      if (event.slice == nullptr) {
        absl::StrAppend(&out_, ",\"name\":", JsonString(event.name), ",\"cat\":\"", event.category, "\",\"args\":{",
                        event.arguments, "}}");
        continue;
      }
      const NodeSlice& slice = *event.slice;
      absl::StrAppend(&out_, ",\"name\":", JsonString(slice.op.empty() ? slice.name : slice.op), ",\"cat\":\"",
                      ActivityName(slice.activity), "\",\"args\":{\"node\":", JsonString(slice.name),
                      ",\"label\":", JsonString(slice.label), ",\"step\":", slice.step + 1);
      if (slice.bytes > 0) absl::StrAppend(&out_, ",\"bytes\":", slice.bytes);
      out_ += "}}";
    }
  }

  // An arrow from the end of the send to the end of the receive. Its points lie within the slices.
  void AppendFlows() {
    // Slices are the events after those of steps, in the same order.
    const size_t first = events_.size() - timeline_.slices.size();
    for (size_t i = 0; i < timeline_.transfers.size(); ++i) {
      const Event& send = events_[first + timeline_.transfers[i].send];
      const Event& receive = events_[first + timeline_.transfers[i].receive];
      AppendFlow("\"ph\":\"s\"", i + 1, send);
      AppendFlow("\"ph\":\"f\",\"bp\":\"e\"", i + 1, receive);
    }
  }

  void AppendFlow(const char* phase, size_t id, const Event& event) {
    Begin();
    absl::StrAppend(&out_, "{", phase, ",\"id\":", id,
                    ",\"name\":\"tensor\",\"cat\":\"transfer\",\"ts\":", Micros(event.end - 1 - zero_),
                    ",\"pid\":", event.pid, ",\"tid\":", event.tid, "}");
  }

  struct Group {
    LaneAssignment lanes;
    int first_tid = 0;
  };
  const CollectedTrace& trace_;
  const Timeline& timeline_;
  std::vector<Event> events_;
  std::vector<size_t> order_;  // of events_, by start
  std::map<std::string, int> pids_;
  std::map<std::tuple<int, int, std::string>, Group> groups_;
  int64_t zero_ = 0;  // the earliest start
  std::string out_;
  bool is_empty_ = true;
};

}  // namespace

std::string ChromeTrace(const CollectedTrace& trace, const Timeline& timeline) {
  return ChromeTraceWriter(trace, timeline).Write();
}

}  // namespace weir
