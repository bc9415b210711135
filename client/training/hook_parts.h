// Shared by hooks: when they act, and where events go.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/status.h"

namespace tensorflow {
class Event;
}

namespace weir {

class EventWriter;

// Every so many steps. Steps of other loops count too, so the global step may jump.
class StepInterval {
 public:
  explicit StepInterval(int64_t every) : every_(every) {}
  // InvalidArgument unless the interval is positive.
  absl::Status Begin(int64_t global_step);
  // Whether a multiple of the interval was reached since the last due step.
  bool IsDue(int64_t global_step);

 private:
  const int64_t every_;
  int64_t intervals_ = 0;
};

// A directory of TensorBoard events, created with the first one.
class EventLog {
 public:
  EventLog(std::string directory, std::shared_ptr<FileSystemRegistry> files);
  ~EventLog();
  absl::Status Write(tensorflow::Event* event);

 private:
  const std::string directory_;
  const std::shared_ptr<FileSystemRegistry> files_;
  std::shared_ptr<EventWriter> writer_;
};

// OK, with a warning, for the loss of a task, after which the loop recovers.
absl::Status UnlessTaskLoss(const absl::Status& status, absl::string_view what, int64_t global_step);

}  // namespace weir
