// Preloaded into a server, sets its wall clock on or back by the seconds in the file WEIR_TEST_CLOCK, as if an operator
// or NTP had changed it. Other clocks are left alone, as they are then.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/cluster/clock_offset.h"

namespace {

// Null if there is no file.
ClockOffset* MapOffset() {
  const char* const path = getenv("WEIR_TEST_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const mapped = mmap(nullptr, sizeof(ClockOffset), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<ClockOffset*>(mapped);
}

// Shared with the test.
ClockOffset* Offset() {
  static ClockOffset* const offset = MapOffset();
  return offset;
}

int RealTime(clockid_t clock, timespec* time) {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real(clock, time);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = RealTime(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && Offset() != nullptr) {
    const int64_t seconds = Offset()->seconds;
    time->tv_sec += seconds;
    if (seconds != 0) ++Offset()->followed;
  }
  return result;
}

int gettimeofday(timeval* time, void* zone) noexcept {
  timespec now;
  if (zone != nullptr || clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
