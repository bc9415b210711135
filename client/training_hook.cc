#include "client/training_hook.h"

#include <cmath>

namespace weir {
namespace {

class StopAtStep : public TrainingHook {
 public:
  explicit StopAtStep(int64_t last_step) : last_step_(last_step) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    return report.global_step >= last_step_;
  }

 private:
  const int64_t last_step_;
};

absl::StatusOr<double> FloatFetch(const StepReport& report, int index) {
  if (index < 0 || index >= static_cast<int>(report.fetches.size())) {
    return errors::InvalidArgument("A training hook reads fetch ", index, " of ", report.fetches.size());
  }
  const Tensor& value = report.fetches[index];
  if (value.dtype() != DT_FLOAT || value.NumElements() != 1) {
    return errors::InvalidArgument("A training hook needs a float scalar; fetch ", index, " is ", value.DebugString());
  }
  return value.data<float>()[0];
}

class Log : public TrainingHook {
 public:
  Log(int64_t every, int index, std::function<void(int64_t, double)> log)
      : every_(every), index_(index), log_(std::move(log)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.global_step % every_ != 0) return false;
    ASSIGN_OR_RETURN(double value, FloatFetch(report, index_));
    log_(report.global_step, value);
    return false;
  }

 private:
  const int64_t every_;
  const int index_;
  const std::function<void(int64_t, double)> log_;
};

class Nan : public TrainingHook {
 public:
  explicit Nan(int index) : index_(index) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    ASSIGN_OR_RETURN(double value, FloatFetch(report, index_));
    if (std::isfinite(value)) return false;
    return errors::InvalidArgument("The loss is ", value, " at step ", report.global_step,
                                   ": training diverged. Lower the learning rate or check the input.");
  }

 private:
  const int index_;
};

}  // namespace

std::unique_ptr<TrainingHook> StopAtStepHook(int64_t last_step) { return std::make_unique<StopAtStep>(last_step); }
std::unique_ptr<TrainingHook> LogHook(int64_t every, int index, std::function<void(int64_t, double)> log) {
  return std::make_unique<Log>(every, index, std::move(log));
}
std::unique_ptr<TrainingHook> NanHook(int index) { return std::make_unique<Nan>(index); }

}  // namespace weir
