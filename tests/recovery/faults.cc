#include "tests/recovery/faults.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace weir {

std::string FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "None";
    case Fault::kKill:
      return "Kill";
    case Fault::kStop:
      return "Stop";
    case Fault::kKillMaster:
      return "KillMaster";
  }
  return "";
}

FaultHook::FaultHook(Fault fault, ProcessCluster* cluster, const std::map<std::string, int>& jobs, int64_t first_step,
                     int64_t last_step)
    : fault_(fault), cluster_(cluster), victim_("worker", 0) {
  std::random_device random;
  step_ = std::uniform_int_distribution<int64_t>(first_step, last_step)(random);
  std::vector<std::pair<std::string, int>> others;
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i) {
      if (job != "worker" || i != 0) others.emplace_back(job, i);
    }
  }
  if (fault == Fault::kKill || fault == Fault::kStop) victim_ = others[random() % others.size()];
  description_ = absl::StrCat(FaultName(fault), " ", victim_.first, " ", victim_.second, " after step ", step_);
}

FaultHook::~FaultHook() {
  if (kill_.valid()) kill_.wait();
}

absl::StatusOr<bool> FaultHook::AfterStep(Session&, const StepReport& report) {
  if (kill_.valid() && report.global_step > step_ + 2) kill_.wait();
  if (fault_ == Fault::kNone || report.global_step < step_ || std::exchange(is_done_, true)) return false;
  if (fault_ == Fault::kStop) {
    is_stopped_ = true;
    cluster_->Pause(victim_.first, victim_.second);
  } else {
    kill_ = std::async(std::launch::async, [this] { cluster_->Kill(victim_.first, victim_.second); });
  }
  return false;
}

void FaultHook::Failed(const absl::Status&, int64_t) {
  if (std::exchange(is_stopped_, false)) cluster_->Resume(victim_.first, victim_.second);
}

}  // namespace weir
