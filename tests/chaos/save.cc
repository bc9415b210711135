#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/job_run.h"
#include "tests/chaos/measures.h"
#include "tests/chaos/report.h"

namespace weir::chaos {
namespace {

constexpr int64_t kSteps = 200, kCheckpointSteps = 3;
constexpr int64_t kMostSaves = 3;  // of a chief before it is killed
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kSaveTime = absl::Milliseconds(12);  // about; kills are spread over all of it

// Flips a random bit of a random file of the checkpoint. Returns what it did.
absl::StatusOr<std::string> FlipBit(const std::string& checkpoint, Dice& dice) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(DirectoryOf(checkpoint))) {
    if (absl::StartsWith(entry.path().string(), checkpoint + ".")) paths.push_back(entry.path());
  }
  if (paths.empty()) return errors::Internal(checkpoint, " has no files");
  std::sort(paths.begin(), paths.end());
  const std::string& path = dice.Pick(paths);
  const auto place = dice.Below(static_cast<int64_t>(std::filesystem::file_size(path)));
  const int64_t bit = dice.Below(8);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const int byte = file.get();
  file.seekp(place);
  file.put(static_cast<char>(byte ^ (1 << bit)));
  file.close();
  if (!file) return errors::Internal("cannot change ", path);
  return absl::StrCat("bit ", bit, " of byte ", place, " of ", path);
}

class Saves {
 public:
  Saves(const Settings& settings, int64_t runs) : settings_(settings), runs_(runs) {}

  absl::StatusOr<Verdict> Measure() {
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(cluster_, JobCluster::Start(settings_.weir, settings_.directory));
    RETURN_IF_ERROR(StartJob());
    RETURN_IF_ERROR(Await(Progress::kEnded).status());
    ASSIGN_OR_RETURN(expected_, run_->Result());
    for (const bool background : {false, true}) {
      background_ = background;
      RETURN_IF_ERROR(StartJob());
      for (int64_t i = 0; i < runs_ / 2; ++i) RETURN_IF_ERROR(KillInSave());
      for (int64_t i = 0; i < runs_ / 2; ++i) RETURN_IF_ERROR(FlipInNewest());
      RETURN_IF_ERROR(Await(Progress::kEnded).status());
      RETURN_IF_ERROR(CompareResult());
    }
    return Print({.measure = "save",
                  .runs = absl::StrCat(num_kills_, " kills (", cut_, " cut a save short), ", num_flips_,
                                       " flipped bits, ", Seconds(MonotonicNow() - start)),
                  .figure = absl::StrCat(wrong_, " resumed elsewhere, ", differ_, " differ in a bit"),
                  .bound = "0, 0",
                  .ok = wrong_ == 0 && differ_ == 0});
  }

 private:
  absl::Status StartJob() {
    run_.reset();
    saved_ = kNothing;
    ASSIGN_OR_RETURN(run_, JobRun::Start({.target = cluster_->target(),
                                          .directory = absl::StrCat(settings_.directory, "/job-", num_jobs_++),
                                          .steps = kSteps,
                                          .checkpoint_steps = kCheckpointSteps,
                                          .background = background_}));
    return absl::OkStatus();
  }

  absl::Status CompareResult() {
    ASSIGN_OR_RETURN(const std::string result, run_->Result());
    const std::string difference = Difference(expected_, result);
    if (difference.empty()) return absl::OkStatus();
    ++differ_;
    Explain(absl::StrCat("save: job ", num_jobs_ - 1, ": ", difference));
    return absl::OkStatus();
  }

  // The next message of this kind. If the job ends first, the faults go on in another one.
  absl::StatusOr<Progress> Await(Progress::Kind kind) {
    while (true) {
      ASSIGN_OR_RETURN(const Progress progress, run_->Next(kPatience));
      if (progress.kind == Progress::kSaved) saved_ = progress.step;
      if (progress.kind == kind) return progress;
      if (progress.kind != Progress::kEnded) continue;
      RETURN_IF_ERROR(CompareResult());
      RETURN_IF_ERROR(StartJob());
    }
  }

  // The steps of the checkpoints that are whole, each byte compared with the manifest, newest first.
  std::vector<int64_t> WholeSteps() const {
    std::vector<int64_t> steps;
    const auto complete = CompleteCheckpoints(files_.get(), run_->checkpoints());
    if (!complete.ok()) return steps;
    for (const std::string& prefix : *complete) {
      const auto manifest = ReadManifest(files_.get(), prefix);
      const auto split = SplitCheckpointStep(prefix);
      if (!manifest.ok() || !split || !VerifyManifest(files_.get(), prefix, *manifest).ok()) continue;
      steps.push_back(split->second);
    }
    std::sort(steps.rbegin(), steps.rend());
    return steps;
  }

  // Starts the chief again, which must resume from the checkpoint of this step.
  absl::Status ExpectResume(int64_t step, const std::string& after) {
    RETURN_IF_ERROR(run_->LaunchChief());
    ASSIGN_OR_RETURN(const Progress begun, Await(Progress::kBegun));
    saved_ = begun.step;
    if (begun.step == step) return absl::OkStatus();
    ++wrong_;
    Explain(absl::StrCat("save: resumed from step ", begun.step, " instead of ", step, " after ", after));
    return absl::OkStatus();
  }

  absl::Status KillInSave() {
    Dice dice(settings_.seed, static_cast<uint64_t>(num_kills_++));
    Progress saving;
    for (int64_t save = dice.Between(1, kMostSaves); save > 0; --save) {
      ASSIGN_OR_RETURN(saving, Await(Progress::kSaving));
    }
    absl::SleepFor(dice.Time(kSaveTime));
    RETURN_IF_ERROR(run_->KillChief());
    const std::vector<int64_t> whole = WholeSteps();
    const int64_t newest = whole.empty() ? kNothing : whole[0];
    if (newest < saved_) {
      return errors::DataLoss("the completed checkpoint of step ", saved_, " is not whole in ", run_->checkpoints());
    }
    if (newest < saving.step) ++cut_;
    return ExpectResume(std::max(newest, int64_t{0}), absl::StrCat("a kill in the save of step ", saving.step));
  }

  absl::Status FlipInNewest() {
    Dice dice(settings_.seed, static_cast<uint64_t>(num_flips_++) + (uint64_t{1} << 32));
    for (int64_t save = dice.Between(1, kMostSaves); save > 0; --save) {
      RETURN_IF_ERROR(Await(Progress::kSaved).status());
    }
    // A new job has one checkpoint after its first save.
    while (WholeSteps().size() < 2) RETURN_IF_ERROR(Await(Progress::kSaved).status());
    RETURN_IF_ERROR(run_->KillChief());
    const std::vector<int64_t> whole = WholeSteps();
    if (whole.size() < 2) return errors::Internal("fewer than two checkpoints in ", run_->checkpoints());
    const std::string newest = absl::StrCat(run_->checkpoints(), "/model.ckpt-", whole[0]);
    ASSIGN_OR_RETURN(const CheckpointManifest before, ReadManifest(files_.get(), newest));
    ASSIGN_OR_RETURN(const std::string flip, FlipBit(newest, dice));
    // A manifest is text: a space that becomes a line break means the same.
    const auto after = ReadManifest(files_.get(), newest);
    const bool is_same =
        absl::EndsWith(flip, ".manifest") && after.ok() && after->SerializeAsString() == before.SerializeAsString();
    return ExpectResume(whole[is_same ? 0 : 1], flip);
  }

  const Settings& settings_;
  const int64_t runs_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  std::unique_ptr<JobCluster> cluster_;
  std::unique_ptr<JobRun> run_;
  std::string expected_;
  static constexpr int64_t kNothing = -1;
  int64_t saved_ = kNothing;  // the newest step whose save the chief reported as complete
  int64_t num_jobs_ = 0, num_kills_ = 0, num_flips_ = 0, cut_ = 0, wrong_ = 0, differ_ = 0;
  bool background_ = false;  // saves of the job
};

}  // namespace

absl::StatusOr<Verdict> MeasureSave(const Settings& settings) {
  return Saves(settings, settings.runs > 0 ? settings.runs : settings.brief ? 4 : 100).Measure();
}

}  // namespace weir::chaos
