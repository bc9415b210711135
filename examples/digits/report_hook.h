// Progress output during training.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/training_hook.h"

namespace weir::digits {

// Prints a progress line (step, loss, examples per second, time left), failures and recoveries. Fetch 0 is the loss.
class ReportHook : public TrainingHook {
 public:
  ReportHook(int64_t last_step, int64_t examples_per_step) : last_step_(last_step), examples_(examples_per_step) {}

  absl::Status Begin(Session& session, int64_t global_step) override;
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override;
  void Failed(const absl::Status& cause, int64_t global_step) override;
  void Recovered(const RecoveryReport& report) override;

  const std::vector<RecoveryReport>& recoveries() const { return recoveries_; }
  // Over the whole run, including recoveries.
  double examples_per_second() const;

 private:
  void PrintProgress(int64_t step, double loss);

  const int64_t last_step_, examples_;
  absl::Time start_, last_line_;
  int64_t steps_run_ = 0;
  std::vector<RecoveryReport> recoveries_;
};

// Calls `action` once, when the global step reaches `step`.
class OnceAtStepHook : public TrainingHook {
 public:
  OnceAtStepHook(int64_t step, std::function<void(int64_t step)> action) : step_(step), action_(std::move(action)) {}
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override;

 private:
  const int64_t step_;
  const std::function<void(int64_t)> action_;
  bool done_ = false;
};

}  // namespace weir::digits
