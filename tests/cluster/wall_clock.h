// The wall clock of server processes, set by a test (jumping_clock.cc).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

class WallClock {
 public:
  // Keeps the offset in the file `path`.
  static absl::StatusOr<std::unique_ptr<WallClock>> Create(std::string path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(int64_t)) != 0) return errors::Internal("cannot create ", path);
    void* const mapped = mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return errors::Internal("cannot map ", path);
    return std::unique_ptr<WallClock>(new WallClock(std::move(path), static_cast<std::atomic<int64_t>*>(mapped)));
  }
  ~WallClock() { munmap(seconds_, sizeof(int64_t)); }
  WallClock(const WallClock&) = delete;

  // For processes that follow this clock. AddressSanitizer's runtime would insist on being loaded first.
  std::vector<std::string> Environment() const {
    return {absl::StrCat("LD_PRELOAD=", WEIR_JUMPING_CLOCK), absl::StrCat("WEIR_TEST_CLOCK=", path_),
            "ASAN_OPTIONS=verify_asan_link_order=0"};
  }
  // Sets the wall clock to the true time plus `offset`, in whole seconds.
  void Set(absl::Duration offset) { *seconds_ = absl::ToInt64Seconds(offset); }

 private:
  WallClock(std::string path, std::atomic<int64_t>* seconds) : path_(std::move(path)), seconds_(seconds) {}

  const std::string path_;
  std::atomic<int64_t>* const seconds_;
};

}  // namespace weir
