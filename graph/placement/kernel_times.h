// Measured times of kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/device/device_name.h"

namespace tensorflow {
class CostGraphDef;
class StepStats;
}  // namespace tensorflow

namespace weir {

// For each node, by name, the device that it ran on last and the mean time of a step there. Not thread-safe.
class KernelTimes {
 public:
  struct Time {
    std::string device;  // full name
    double seconds = 0;  // of all its executions in one step
  };

  // A traced step, as RunMetadata has it. Lanes other than whole devices, and transfers, are ignored.
  void Add(const tensorflow::StepStats& stats);
  // The compute_time of a cost graph, which has microseconds.
  void Add(const tensorflow::CostGraphDef& costs);

  // nullptr if the node was never measured.
  const Time* Find(absl::string_view node) const;
  bool empty() const { return times_.empty(); }
  int64_t num_steps() const { return steps_; }

 private:
  struct Sum {
    Time mean;
    int64_t steps = 0;
  };
  void AddOne(const std::string& node, const std::string& device, double seconds);

  absl::flat_hash_map<std::string, Sum> times_;
  int64_t steps_ = 0;
};

}  // namespace weir
