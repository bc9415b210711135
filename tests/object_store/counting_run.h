// A training loop in this process that adds one to a variable with each step.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/training_hook.h"
#include "core/status.h"

namespace weir {

// The flag of this test program that makes it train until it is killed.
inline constexpr char kTrainFlag[] = "--train";

struct CountingResult {
  int64_t first_step = 0, last_step = 0;
  int64_t total = 0;  // the variable
};

// Up to `max_steps` (0: endlessly), with a checkpoint in `dir` every other step.
absl::StatusOr<CountingResult> RunCounting(const std::string& dir, int64_t max_steps);

// Calls a function once, after a step, and counts recoveries.
class AtStep : public TrainingHook {
 public:
  AtStep(int64_t step, std::function<void()> run) : step_(step), run_(std::move(run)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (first_step == 0) first_step = report.global_step;
    if (report.global_step == step_ && !std::exchange(done_, true)) run_();
    return false;
  }
  void Recovered(const RecoveryReport& report) override { ++recoveries; }

  int recoveries = 0;
  int64_t first_step = 0;

 private:
  const int64_t step_;
  const std::function<void()> run_;
  bool done_ = false;
};

}  // namespace weir
