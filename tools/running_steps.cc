#include "tools/running_steps.h"

#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "tools/task_client.h"

namespace weir {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kPause = absl::Milliseconds(200);

// The steps that run on the task, of whatever master, and those of its own master.
absl::StatusOr<int64_t> RunningSteps(const std::string& address) {
  GrpcChannel channel({.address = address}, nullptr);
  ASSIGN_OR_RETURN(const TaskReport report, GetTaskReport(&channel, {.deadline = MonotonicNow() + kCallTimeout}));
  int64_t running = 0;
  for (const auto& session : report.worker_session()) running += session.running_steps();
  for (const auto& session : report.session()) running += session.running_steps();
  return running;
}

}  // namespace

absl::Status AwaitRunningSteps(const std::string& task, const std::string& address, absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  while (true) {
    const absl::StatusOr<int64_t> running = RunningSteps(address);
    if (absl::IsUnavailable(running.status()) || absl::IsUnimplemented(running.status()) ||
        absl::IsDeadlineExceeded(running.status()) || (running.ok() && *running == 0))
      return absl::OkStatus();
    RETURN_IF_ERROR(running.status());
    const absl::Time next = MonotonicNow() + kPause;
    if (next > deadline) {
      return errors::DeadlineExceeded("Task ", task, " still runs ", *running, " steps after ",
                                      absl::FormatDuration(timeout));
    }
    RETURN_IF_ERROR(SleepUntil(next, nullptr));
  }
}

}  // namespace weir
