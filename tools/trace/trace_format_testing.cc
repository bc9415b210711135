#include "tools/trace/trace_format_testing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gtest/gtest.h"

namespace weir {
namespace {

using nlohmann::json;
using Thread = std::pair<int, int>;

struct TestSlice {
  int64_t start = 0, end = 0;
};

// Times are multiples of a nanosecond.
int64_t NanosOf(const json& micros) { return std::llround(micros.get<double>() * 1000); }

void CheckNesting(const Thread& thread, std::vector<TestSlice> slices) {
  std::sort(slices.begin(), slices.end(), [](const TestSlice& a, const TestSlice& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<int64_t> open;
  for (const TestSlice& slice : slices) {
    while (!open.empty() && open.back() <= slice.start) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(slice.end, open.back()) << "overlap in " << thread.first << "/" << thread.second;
    }
    open.push_back(slice.end);
  }
}

}  // namespace

void CheckTraceFormat(const json& trace) {
  ASSERT_TRUE(trace.is_object());
  ASSERT_TRUE(trace["traceEvents"].is_array());
  std::map<Thread, std::vector<TestSlice>> slices;
  std::set<int> named_processes;
  std::set<Thread> named_threads;
  std::map<int64_t, std::pair<int, int>> arrows;  // starts and ends by id
  std::vector<std::pair<Thread, int64_t>> points;
  for (const json& event : trace["traceEvents"]) {
    ASSERT_TRUE(event["ph"].is_string() && event["pid"].is_number_integer() && event["tid"].is_number_integer() &&
                event["name"].is_string())
        << event.dump();
    const std::string phase = event["ph"];
    const Thread thread(event["pid"].get<int>(), event["tid"].get<int>());
    if (phase == "M") {
      if (event["name"] == "process_name") named_processes.insert(thread.first);
      if (event["name"] == "thread_name") named_threads.insert(thread);
      continue;
    }
    ASSERT_TRUE(event["ts"].is_number()) << event.dump();
    const int64_t start = NanosOf(event["ts"]);
    EXPECT_GE(start, 0) << event.dump();
    if (phase == "X") {
      ASSERT_TRUE(event["dur"].is_number()) << event.dump();
      EXPECT_GT(NanosOf(event["dur"]), 0) << event.dump();
      slices[thread].push_back({start, start + NanosOf(event["dur"])});
    } else if (phase == "s" || phase == "f") {
      auto& ends = arrows[event["id"].get<int64_t>()];
      ++(phase == "s" ? ends.first : ends.second);
      points.emplace_back(thread, start);
      EXPECT_TRUE(phase == "s" || event["bp"] == "e");
    } else {
      ADD_FAILURE() << event.dump();
    }
  }
  for (const auto& [thread, of_thread] : slices) {
    CheckNesting(thread, of_thread);
    EXPECT_TRUE(named_processes.contains(thread.first));
    EXPECT_TRUE(named_threads.contains(thread));
  }
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, std::make_pair(1, 1)) << id;
  for (const auto& [thread, at] : points) {
    bool is_inside = false;
    for (const TestSlice& slice : slices[thread]) is_inside |= slice.start <= at && at < slice.end;
    EXPECT_TRUE(is_inside) << at;
  }
}

TraceCounts CountEvents(const json& trace) {
  TraceCounts counts;
  std::map<int, std::string> processes;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++counts.slices;
    if (event["ph"] == "s") ++counts.arrows;
    if (event["name"] == "process_name") processes[event["pid"].get<int>()] = event["args"]["name"];
  }
  for (const auto& [pid, name] : processes) counts.processes.push_back(name);
  return counts;
}

}  // namespace weir
