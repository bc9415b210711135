// The wall clock of server processes, set by a test (jumping_clock.cc).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/status.h"
#include "tests/cluster/clock_offset.h"

namespace weir {

class WallClock {
 public:
  // Keeps the offset in the file `path`.
  static absl::StatusOr<std::unique_ptr<WallClock>> Create(std::string path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(ClockOffset)) != 0) return errors::Internal("cannot create ", path);
    void* const mapped = mmap(nullptr, sizeof(ClockOffset), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return errors::Internal("cannot map ", path);
    return std::unique_ptr<WallClock>(new WallClock(std::move(path), static_cast<ClockOffset*>(mapped)));
  }
  ~WallClock() { munmap(offset_, sizeof(ClockOffset)); }
  WallClock(const WallClock&) = delete;

  // For processes that follow this clock. AddressSanitizer's runtime would insist on being loaded first.
  std::vector<std::string> Environment() const {
    return {absl::StrCat("LD_PRELOAD=", WEIR_JUMPING_CLOCK), absl::StrCat("WEIR_TEST_CLOCK=", path_),
            "ASAN_OPTIONS=verify_asan_link_order=0"};
  }
  // Sets the wall clock to the true time plus `offset`, in whole seconds.
  void Set(absl::Duration offset) { offset_->seconds = absl::ToInt64Seconds(offset); }
  // Whether a process has been told a time that is not the true one.
  bool IsFollowed() const { return offset_->followed > 0; }

 private:
  WallClock(std::string path, ClockOffset* offset) : path_(std::move(path)), offset_(offset) {}

  const std::string path_;
  ClockOffset* const offset_;
};

}  // namespace weir
