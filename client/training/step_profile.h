// Profiles in the format of TensorBoard's profile plug-in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/files/file_system.h"

namespace tensorflow {
class StepStats;
}

namespace weir {

// The timelines of one task, on one clock.
class TaskProfile {
 public:
  struct Interval {
    int64_t start = 0, end = 0;  // nanoseconds
    std::string name;            // of an op's node: "MatMul_3:MatMul"
    std::string label;           // details; may be empty
  };

  // On a thread of the plane "/host:CPU", or on a stream of "/device:GPU:0".
  void Add(const std::string& plane, const std::string& line, Interval interval) {
    planes_[plane][line].push_back(std::move(interval));
  }
  // Step number `step`.
  void AddStep(int64_t step, int64_t start, int64_t end) {
    steps_[step] = {.start = start, .end = end, .name = absl::StrCat("step ", step)};
  }
  // A serialised XSpace, the plug-in's format.
  std::string Serialize() const;

 private:
  using Lines = std::map<std::string, std::vector<Interval>>;
  std::map<std::string, Lines> planes_;
  std::map<int64_t, Interval> steps_;
};

// By task: "worker-0".
using Profile = std::map<std::string, TaskProfile>;

// "/job:worker/replica:0/task:0/device:CPU:0" as "worker-0"; "localhost" for a name without a task.
std::string ProfileName(absl::string_view device);
Profile ProfileOfStep(const tensorflow::StepStats& stats, int64_t step);
// "<directory>/plugins/profile/<run>/<task>.xplane.pb".
absl::Status WriteProfile(FileSystem* files, const std::string& directory, const std::string& run,
                          const Profile& profile);

}  // namespace weir
