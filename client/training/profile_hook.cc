#include "client/training/chrome_trace.h"
#include "client/training/hook_parts.h"
#include "client/training/hooks.h"
#include "client/training/step_profile.h"
#include "core/logging.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {
namespace {

class Profiling : public TrainingHook {
 public:
  explicit Profiling(ProfileHookOptions options) : options_(std::move(options)), interval_(options_.every) {}

  bool RunsAs(TrainingRole role) const override { return options_.every_task || WritesByDefault(role); }
  absl::Status Begin(Session&, int64_t global_step) override {
    RETURN_IF_ERROR(interval_.Begin(global_step));
    ASSIGN_OR_RETURN(files_, options_.files->Find(options_.directory));
    return absl::OkStatus();
  }
  bool TracesStep(int64_t global_step) override { return interval_.IsDue(global_step); }
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.trace == nullptr) return false;
    const absl::Status written = Write(report);
    if (!written.ok()) {
      WEIR_LOG(WARNING) << "The profile of step " << report.global_step << " is not written: " << written.message();
    }
    return false;
  }

 private:
  absl::Status Write(const StepReport& report) const {
    RETURN_IF_ERROR(files_->CreateDir(options_.directory));
    const std::string timeline = absl::StrCat("timeline-", report.global_step, ".json");
    RETURN_IF_ERROR(WriteStringToFile(files_, JoinPath(options_.directory, timeline), ChromeTrace(*report.trace)));
    return WriteProfile(files_, options_.directory, absl::StrCat("step-", report.global_step),
                        ProfileOfStep(*report.trace, report.global_step));
  }

  const ProfileHookOptions options_;
  StepInterval interval_;
  FileSystem* files_ = nullptr;
};

}  // namespace

std::unique_ptr<TrainingHook> ProfileHook(ProfileHookOptions options) {
  return std::make_unique<Profiling>(std::move(options));
}

}  // namespace weir
