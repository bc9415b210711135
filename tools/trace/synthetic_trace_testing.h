// Traces made by hand, for tests.
#pragma once

#include <string>

#include "tools/trace/timeline.h"
#include "tools/trace/trace_collector.h"

namespace weir {

// Times are microseconds of the clock of the node's task.
class SyntheticTrace {
 public:
  static constexpr char kWorker[] = "/job:worker/replica:0/task:0";
  static constexpr char kWorker1[] = "/job:worker/replica:0/task:1";
  static constexpr char kPs[] = "/job:ps/replica:0/task:0";
  static constexpr char kPs1[] = "/job:ps/replica:0/task:1";

  SyntheticTrace();
  // The nodes that follow belong to this step, whose master is kWorker.
  void Step(int64_t start, int64_t end);
  // A node of device CPU:0 of `task`, "name = Op()".
  tensorflow::NodeExecStats* Node(const std::string& task, const std::string& name, const std::string& op,
                                  int64_t start, int64_t end, uint32_t thread = 0);
  // A tensor from CPU:0 of one task to that of another. It is sent at `sent`, and awaited from `start` to `end`.
  void Tensor(const std::string& from, const std::string& to, const std::string& tensor, int64_t sent, int64_t start,
              int64_t end, int64_t bytes = 0);

  CollectedTrace& trace() { return trace_; }
  Timeline Build() const;

 private:
  tensorflow::DeviceStepStats* Device(const std::string& name);
  CollectedTrace trace_;
};

// By the ops' names.
Activity ActivityForTest(absl::string_view op);

}  // namespace weir
