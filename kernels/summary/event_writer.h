// The object behind SummaryWriter: events that go to a file for TensorBoard.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/resource_manager.h"
#include "core/files/file_system.h"
#include "core/mutex.h"

namespace tensorflow {
class Event;
}

namespace weir {

// Thread-safe. Blocks for I/O. The destructor writes what is kept back.
class EventWriter : public Resource {
 public:
  struct Options {
    std::string directory;
    int64_t max_queue = 0;     // events that may be kept back
    int64_t flush_millis = 0;  // and for how long
    std::string suffix;        // of the file's name
  };

  // Creates the directory and the file, which begins with its version.
  static absl::StatusOr<std::shared_ptr<EventWriter>> Create(FileSystem* file_system, Options options);
  EventWriter(Options options, std::unique_ptr<WritableFile> file, std::string path);
  ~EventWriter() override;

  std::string DebugString() const override { return "Event writer of " + path_; }
  // Fills in the time.
  absl::Status Write(tensorflow::Event* event);
  absl::Status Flush();

 private:
  absl::Status FlushLocked() REQUIRES(mu_);

  const Options options_;
  const std::string path_;
  Mutex mu_;
  const std::unique_ptr<WritableFile> file_ PT_GUARDED_BY(mu_);
  std::vector<std::string> kept_ GUARDED_BY(mu_);
  int64_t last_flush_millis_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
