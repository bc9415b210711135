#include "examples/digits/report_hook.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "weir/core/clock.h"

namespace weir::digits {
namespace {

constexpr absl::Duration kLineInterval = absl::Milliseconds(500);

}  // namespace

absl::Status ReportHook::Begin(Session&, int64_t global_step) {
  start_ = MonotonicNow();
  if (global_step > 0) absl::PrintF("Resuming at step %d.\n", global_step);
  return absl::OkStatus();
}

absl::StatusOr<bool> ReportHook::AfterStep(Session&, const StepReport& report) {
  ++steps_run_;
  const bool last = report.global_step >= last_step_;
  if (last || MonotonicNow() - last_line_ >= kLineInterval) {
    PrintProgress(report.global_step, report.fetches[0].scalar<float>());
    last_line_ = MonotonicNow();
  }
  return false;
}

double ReportHook::examples_per_second() const {
  return static_cast<double>(steps_run_ * examples_) / absl::ToDoubleSeconds(MonotonicNow() - start_);
}

void ReportHook::PrintProgress(int64_t step, double loss) {
  const double rate = examples_per_second();
  const double left = static_cast<double>((last_step_ - step) * examples_) / rate;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  absl::PrintF("%sstep %5d/%d   loss %8.5f   %7.0f examples/s   %4.0f s left%s", terminal ? "\r\033[K" : "", step,
               last_step_, loss, rate, left, terminal && step < last_step_ ? "" : "\n");
  std::fflush(stdout);
}

void ReportHook::Failed(const absl::Status& cause, int64_t global_step) {
  const std::string origin = OriginOf(cause).value_or(ErrorOrigin()).ToString();
  absl::PrintF("\nStep %d failed: %s\n  %s%s\n", global_step + 1, absl::StatusCodeToString(cause.code()),
               cause.message(), origin.empty() ? "" : absl::StrCat("\n  at ", origin));
  std::fflush(stdout);
}

void ReportHook::Recovered(const RecoveryReport& report) {
  recoveries_.push_back(report);
  absl::PrintF("Recovered in %.2f s: %s; going on at step %d.\n", absl::ToDoubleSeconds(report.duration),
               report.restored_from.empty() ? "the variables were still whole"
                                            : absl::StrCat("restored from ", report.restored_from),
               report.resumed_at + 1);
  std::fflush(stdout);
}

absl::StatusOr<bool> OnceAtStepHook::AfterStep(Session&, const StepReport& report) {
  if (!done_ && report.global_step >= step_) {
    done_ = true;
    action_(report.global_step);
  }
  return false;
}

}  // namespace weir::digits
