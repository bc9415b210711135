#include "client/training/hook_parts.h"
#include "client/training/hooks.h"
#include "kernels/summary/summary_values.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

class Evaluating : public TrainingHook {
 public:
  explicit Evaluating(EvaluationHookOptions options)
      : options_(std::move(options)), interval_(options_.every), events_(options_.directory, options_.files) {}

  absl::Status Begin(Session&, int64_t global_step) override {
    if (!options_.evaluate) return errors::InvalidArgument("An evaluation hook needs a function `evaluate`");
    return interval_.Begin(global_step);
  }
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override {
    if (!interval_.IsDue(report.global_step)) return false;
    return Evaluate(session, report.global_step);
  }
  absl::Status End(Session& session, int64_t global_step) override {
    if (!options_.at_end || evaluated_ == global_step) return absl::OkStatus();
    return Evaluate(session, global_step).status();
  }

 private:
  absl::StatusOr<bool> Evaluate(Session& session, int64_t global_step) {
    const absl::StatusOr<EvaluationResult> result = options_.evaluate(session, global_step);
    if (!result.ok()) {
      RETURN_IF_ERROR(UnlessTaskLoss(result.status(), "an evaluation", global_step));
      return false;
    }
    evaluated_ = global_step;
    if (!options_.directory.empty()) {
      tensorflow::Event event;
      event.set_step(global_step);
      for (const auto& [name, number] : *result) AddScalar(name, number, event.mutable_summary());
      events_.Write(&event);
    }
    return options_.report ? options_.report(global_step, *result) : false;
  }

  const EvaluationHookOptions options_;
  StepInterval interval_;
  EventLog events_;
  int64_t evaluated_ = -1;
};

}  // namespace

std::unique_ptr<TrainingHook> EvaluationHook(EvaluationHookOptions options) {
  return std::make_unique<Evaluating>(std::move(options));
}

}  // namespace weir
