// Shared by hooks: when they act, and where events go.
#pragma once

#include <memory>
#include <string>

#include "client/training_state.h"
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
  // The same, without counting this step.
  bool WouldBeDue(int64_t global_step) const { return global_step / every_ > intervals_; }

 private:
  const int64_t every_;
  int64_t intervals_ = 0;
};

// A directory of TensorBoard events; directory and file are created with the first one. Not thread-safe.
class EventLog {
 public:
  EventLog(std::string directory, std::shared_ptr<FileSystemRegistry> files);
  ~EventLog();
  // Errors of the disk are warnings: the event is dropped. The next one then goes to a new file, because this one may
  // end within a record.
  void Write(tensorflow::Event* event);

 private:
  absl::Status TryToWrite(tensorflow::Event* event);

  const std::string directory_;
  const std::shared_ptr<FileSystemRegistry> files_;
  std::shared_ptr<EventWriter> writer_;
  int64_t dropped_ = 0;  // since the last event that was written
};

// Whether only this one of several loops writes by default.
bool WritesByDefault(TrainingRole role);

// OK, with a warning, for the loss of a task, after which the loop recovers.
absl::Status UnlessTaskLoss(const absl::Status& status, absl::string_view what, int64_t global_step);

}  // namespace weir
