#include "core/threads/low_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <system_error>
#include <thread>

namespace weir {
namespace {

constexpr int kNice = 19;
// Of linux/ioprio.h: the calling thread; the last level of the best-effort class.
constexpr int kIoPriorityOfThread = 1;
constexpr int kLowBestEffort = (2 << 13) | 7;

void LowerPriority() {
  // Advice: the work is right without it.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
  syscall(SYS_ioprio_set, kIoPriorityOfThread, 0, kLowBestEffort);
}

}  // namespace

absl::Status RunAtLowPriority(absl::FunctionRef<absl::Status()> work) {
  absl::Status status;
  std::thread thread;
  try {
    thread = std::thread([&] {
      LowerPriority();
      status = work();
    });
  } catch (const std::system_error&) {
    return work();
  }
  thread.join();
  return status;
}

}  // namespace weir
