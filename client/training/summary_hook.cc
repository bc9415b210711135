#include <cmath>

#include "client/training/hook_parts.h"
#include "client/training/hooks.h"
#include "core/clock.h"
#include "kernels/summary/summary_values.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

class SummaryWriting : public TrainingHook {
 public:
  explicit SummaryWriting(SummaryHookOptions options)
      : options_(std::move(options)), interval_(options_.every), events_(options_.directory, options_.files) {}

  absl::Status Begin(Session&, int64_t global_step) override {
    last_step_ = global_step;
    last_time_ = MonotonicNow();
    return interval_.Begin(global_step);
  }

  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override {
    if (!interval_.IsDue(report.global_step)) return false;
    tensorflow::Event event;
    event.set_step(report.global_step);
    RETURN_IF_ERROR(AddScalars(report, event.mutable_summary()));
    AddSpeed(report.global_step, event.mutable_summary());
    const absl::Status read = AddHistograms(session, event.mutable_summary());
    RETURN_IF_ERROR(UnlessTaskLoss(read, "histograms", report.global_step));
    RETURN_IF_ERROR(events_.Write(&event));
    return false;
  }

 private:
  absl::Status AddScalars(const StepReport& report, tensorflow::Summary* summary) const {
    for (const ScalarSummary& scalar : options_.scalars) {
      if (scalar.fetch < 0 || scalar.fetch >= static_cast<int>(report.fetches.size())) {
        return errors::InvalidArgument("The summary '", scalar.tag, "' reads fetch ", scalar.fetch, " of ",
                                       report.fetches.size());
      }
      const absl::StatusOr<double> number = NumberFrom(report.fetches[scalar.fetch]);
      if (!number.ok()) return Annotate(number.status(), absl::StrCat("The summary '", scalar.tag, "'"));
      AddScalar(scalar.tag, *number, summary);
    }
    return absl::OkStatus();
  }

  void AddSpeed(int64_t global_step, tensorflow::Summary* summary) {
    const absl::Time now = MonotonicNow();
    const double seconds = absl::ToDoubleSeconds(now - last_time_);
    const auto steps = static_cast<double>(global_step - last_step_);
    if (options_.steps_per_second && seconds > 0 && steps > 0) {
      AddScalar("global_step/sec", steps / seconds, summary);
    }
    last_time_ = now;
    last_step_ = global_step;
  }

  absl::Status AddHistograms(Session& session, tensorflow::Summary* summary) const {
    if (options_.histograms.empty()) return absl::OkStatus();
    std::vector<Output> outputs;
    for (const HistogramSummary& histogram : options_.histograms) outputs.push_back(histogram.value);
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(outputs));
    for (size_t i = 0; i < values.size(); ++i) {
      tensorflow::Summary::Value* const value = summary->add_value();
      value->set_tag(options_.histograms[i].tag);
      RETURN_IF_ERROR(FillHistogram(values[i], options_.histograms[i].value.name(), value->mutable_histo()));
    }
    return absl::OkStatus();
  }

  const SummaryHookOptions options_;
  StepInterval interval_;
  EventLog events_;
  int64_t last_step_ = 0;
  absl::Time last_time_;
};

}  // namespace

std::unique_ptr<TrainingHook> SummaryHook(SummaryHookOptions options) {
  return std::make_unique<SummaryWriting>(std::move(options));
}

}  // namespace weir
