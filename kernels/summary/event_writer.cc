#include "kernels/summary/event_writer.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "absl/strings/str_format.h"
#include "core/checkpoint/tf_record.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

int64_t NowMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

absl::StatusOr<std::shared_ptr<EventWriter>> EventWriter::Create(FileSystem* file_system, Options options) {
  static std::atomic<int64_t> next_file{0};  // several writers of a process may begin within one second
  RETURN_IF_ERROR(file_system->CreateDir(options.directory));
  const std::string suffix = absl::StrFormat(".%d.%d%s%s", getpid(), next_file.fetch_add(1),
                                             options.suffix.rfind('.', 0) == 0 ? "" : ".", options.suffix);
  const std::string path = JoinPath(options.directory, absl::StrFormat("events.out.tfevents.%010d.%s%s",
                                                                       NowMicros() / 1'000'000, HostName(), suffix));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system->NewWritableFile(path));
  auto writer = std::make_shared<EventWriter>(std::move(options), std::move(file), path);
  tensorflow::Event version;
  version.set_file_version("brain.Event:2");
  version.mutable_source_metadata()->set_writer("weir.event_writer");
  RETURN_IF_ERROR(writer->Write(&version));
  RETURN_IF_ERROR(writer->Flush());
  return writer;
}

EventWriter::EventWriter(Options options, std::unique_ptr<WritableFile> file, std::string path)
    : options_(std::move(options)),
      path_(std::move(path)),
      file_(std::move(file)),
      last_flush_millis_(NowMicros() / 1000) {}

EventWriter::~EventWriter() {
  Flush().IgnoreError();
  file_->Close().IgnoreError();
}

absl::Status EventWriter::Write(tensorflow::Event* event) {
  event->set_wall_time(static_cast<double>(NowMicros()) / 1e6);
  std::string data;
  if (!event->SerializeToString(&data)) return errors::InvalidArgument("The event is too large");
  MutexLock lock(mu_);
  kept_.push_back(std::move(data));
  const bool is_due = NowMicros() / 1000 - last_flush_millis_ > options_.flush_millis;
  if (static_cast<int64_t>(kept_.size()) <= options_.max_queue && !is_due) return absl::OkStatus();
  return FlushLocked();
}

absl::Status EventWriter::Flush() {
  MutexLock lock(mu_);
  return FlushLocked();
}

absl::Status EventWriter::FlushLocked() {
  last_flush_millis_ = NowMicros() / 1000;
  std::string records;
  for (const std::string& event : kept_) records += TfRecord(event);
  kept_.clear();
  if (!records.empty()) RETURN_IF_ERROR(file_->Append(records));
  return file_->Flush();
}

}  // namespace weir
