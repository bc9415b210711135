#include <algorithm>
#include <cmath>
#include <utility>

#include "client/training/board_events.h"
#include "client/training/hook_parts.h"
#include "client/training/hooks.h"
#include "core/clock.h"
#include "kernels/summary/summary_values.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

class SummaryWriting : public TrainingHook {
 public:
  explicit SummaryWriting(SummaryHookOptions options)
      : options_(std::move(options)), interval_(options_.every), events_(options_.directory, options_.files) {
    for (const ImageSummary& image : options_.images) in_step_.push_back(image.value);
    in_step_.insert(in_step_.end(), options_.summaries.begin(), options_.summaries.end());
  }

  bool RunsAs(TrainingRole role) const override { return options_.every_task || WritesByDefault(role); }

  absl::Status Begin(Session&, int64_t global_step) override {
    last_step_ = global_step;
    last_time_ = MonotonicNow();
    RETURN_IF_ERROR(interval_.Begin(global_step));
    RETURN_IF_ERROR(options_.files->Find(options_.directory).status());
    if (std::exchange(has_begun_, true)) return absl::OkStatus();
    if (!options_.hyper_parameters.empty()) {
      tensorflow::Event event;
      AddHyperParameters(options_.hyper_parameters, event.mutable_summary());
      events_.Write(&event);
    }
    return WriteGraph(global_step);
  }

  std::vector<Output> FetchesOfStep(int64_t global_step) override {
    return is_due_ || interval_.WouldBeDue(global_step) ? in_step_ : std::vector<Output>();
  }

  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override {
    WriteTrace(report);
    is_due_ |= interval_.IsDue(report.global_step);
    // Others may have made the steps up to one that is due: the next one then has the values.
    if (!is_due_ || report.hook_fetches.size() != in_step_.size()) return false;
    is_due_ = false;
    tensorflow::Event event;
    event.set_step(report.global_step);
    RETURN_IF_ERROR(AddScalars(report, event.mutable_summary()));
    AddSpeed(report.global_step, event.mutable_summary());
    RETURN_IF_ERROR(AddValuesOfStep(report, event.mutable_summary()));
    const absl::Status read = AddHistograms(session, event.mutable_summary());
    RETURN_IF_ERROR(UnlessTaskLoss(read, "histograms", report.global_step));
    if (options_.format == SummaryFormat::kTensors) ConvertToTensors(event.mutable_summary());
    events_.Write(&event);
    return false;
  }

  absl::Status End(Session&, int64_t global_step) override {
    // A loop that repeats its last steps ends again.
    if (options_.hyper_parameters.empty() || std::exchange(has_ended_, true)) return absl::OkStatus();
    tensorflow::Event event;
    event.set_step(global_step);
    AddHyperParametersEnd(event.mutable_summary());
    events_.Write(&event);
    return absl::OkStatus();
  }

 private:
  absl::Status WriteGraph(int64_t global_step) {
    if (!options_.graph.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(options_.graph->status());
    tensorflow::GraphDef graph = options_.graph->ToGraphDef();
    DropLargeConstants(&graph);
    tensorflow::Event event;
    event.set_step(global_step);
    if (!graph.SerializeToString(event.mutable_graph_def())) {
      return errors::InvalidArgument("The graph is too large for ", options_.directory);
    }
    events_.Write(&event);
    return absl::OkStatus();
  }

  // Beside the graph, because TensorBoard reads one file of a directory at a time.
  void WriteTrace(const StepReport& report) {
    if (!options_.graph.has_value() || report.trace == nullptr) return;
    tensorflow::RunMetadata metadata;
    *metadata.mutable_step_stats() = *report.trace;
    tensorflow::Event event;
    event.set_step(report.global_step);
    event.mutable_tagged_run_metadata()->set_tag(absl::StrCat("step ", report.global_step));
    *event.mutable_tagged_run_metadata()->mutable_run_metadata() = metadata.SerializeAsString();
    events_.Write(&event);
  }

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

  absl::Status AddValuesOfStep(const StepReport& report, tensorflow::Summary* summary) const {
    constexpr uint8_t kRed[] = {255, 0, 0, 255};
    for (size_t i = 0; i < in_step_.size(); ++i) {
      const Tensor& value = report.hook_fetches[i];
      absl::Status status;
      if (i < options_.images.size()) {
        const ImageSummary& image = options_.images[i];
        status = AddImages(image.tag, value, image.max_images, kRed, summary);
      } else if (value.dtype() != DT_STRING || value.NumElements() != 1 ||
                 !summary->MergeFromString(std::string(value.data<tstring>()[0]))) {
        status = errors::InvalidArgument("not a serialized summary");
      }
      if (!status.ok()) return Annotate(status, absl::StrCat("The summary '", in_step_[i].name(), "'"));
    }
    return absl::OkStatus();
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
  std::vector<Output> in_step_;  // images, then serialised summaries
  StepInterval interval_;
  EventLog events_;
  bool has_begun_ = false, has_ended_ = false, is_due_ = false;
  int64_t last_step_ = 0;
  absl::Time last_time_;
};

}  // namespace

std::unique_ptr<TrainingHook> SummaryHook(SummaryHookOptions options) {
  return std::make_unique<SummaryWriting>(std::move(options));
}

}  // namespace weir
