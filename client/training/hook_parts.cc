#include "client/training/hook_parts.h"

#include <utility>

#include "client/task_loss.h"
#include "core/logging.h"
#include "kernels/summary/event_writer.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {

absl::Status StepInterval::Begin(int64_t global_step) {
  if (every_ < 1) return errors::InvalidArgument("A hook acts every ", every_, " steps; that must be 1 or more");
  intervals_ = global_step / every_;
  return absl::OkStatus();
}

bool StepInterval::IsDue(int64_t global_step) {
  const int64_t last = std::exchange(intervals_, global_step / every_);
  return intervals_ > last;  // after a recovery the step is smaller
}

EventLog::EventLog(std::string directory, std::shared_ptr<FileSystemRegistry> files)
    : directory_(std::move(directory)), files_(std::move(files)) {}
EventLog::~EventLog() = default;

void EventLog::Write(tensorflow::Event* event) {
  const absl::Status status = TryToWrite(event);
  if (status.ok()) {
    if (dropped_ > 0) WEIR_LOG(INFO) << directory_ << " has events again; " << dropped_ << " were dropped";
    dropped_ = 0;
    return;
  }
  writer_.reset();
  if (dropped_++ == 0) WEIR_LOG(WARNING) << "Events for " << directory_ << " are dropped: " << status.message();
}

absl::Status EventLog::TryToWrite(tensorflow::Event* event) {
  if (writer_ == nullptr) {
    ASSIGN_OR_RETURN(FileSystem * files, files_->Find(directory_));
    ASSIGN_OR_RETURN(writer_, EventWriter::Create(files, {.directory = directory_, .suffix = "v2"}));
  }
  RETURN_IF_ERROR(writer_->Write(event));
  return writer_->Flush();
}

bool WritesByDefault(TrainingRole role) { return role == TrainingRole::kOnly || role == TrainingRole::kChief; }

absl::Status UnlessTaskLoss(const absl::Status& status, absl::string_view what, int64_t global_step) {
  if (status.ok() || !(IsTaskLoss(status) || MayBeStateLoss(status))) return status;
  WEIR_LOG(WARNING) << "Step " << global_step << " is left without " << what << ": " << status.message();
  return absl::OkStatus();
}

}  // namespace weir
