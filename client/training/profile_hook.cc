#include "client/training/chrome_trace.h"
#include "client/training/hook_parts.h"
#include "client/training/hooks.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {
namespace {

class Profiling : public TrainingHook {
 public:
  explicit Profiling(ProfileHookOptions options) : options_(std::move(options)), interval_(options_.every) {}

  absl::Status Begin(Session&, int64_t global_step) override {
    RETURN_IF_ERROR(interval_.Begin(global_step));
    ASSIGN_OR_RETURN(files_, options_.files->Find(options_.directory));
    return files_->CreateDir(options_.directory);
  }
  bool TracesStep(int64_t global_step) override { return interval_.IsDue(global_step); }
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.trace == nullptr) return false;
    const std::string path = JoinPath(options_.directory, absl::StrCat("timeline-", report.global_step, ".json"));
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files_->NewWritableFile(path));
    RETURN_IF_ERROR(file->Append(ChromeTrace(*report.trace)));
    RETURN_IF_ERROR(file->Close());
    return false;
  }

 private:
  const ProfileHookOptions options_;
  StepInterval interval_;
  FileSystem* files_ = nullptr;
};

}  // namespace

std::unique_ptr<TrainingHook> ProfileHook(ProfileHookOptions options) {
  return std::make_unique<Profiling>(std::move(options));
}

}  // namespace weir
