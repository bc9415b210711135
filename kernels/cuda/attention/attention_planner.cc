#include "kernels/cuda/attention/attention_planner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/gpu/simulated_gpu.h"
#include "core/logging.h"

namespace weir {

std::string AttentionPlanner::DebugString() const {
  MutexLock lock(mu_);
  return absl::StrCat("plans of ", entries_.size(), " attentions");
}

std::shared_ptr<AttentionPlan> AttentionPlanner::Find(const AttentionProblem& problem) {
  if (library_ == nullptr) return nullptr;
  const std::shared_ptr<Entry> entry = EntryOf(problem);
  MutexLock lock(entry->mu);
  if (!entry->is_made) {
    entry->is_made = true;
    absl::StatusOr<std::shared_ptr<AttentionPlan>> plan = library_->Make(problem);
    if (plan.ok()) {
      entry->plan = *std::move(plan);
    } else {
      Lament(problem, plan.status());
    }
  }
  return entry->plan;
}

void AttentionPlanner::Drop(const AttentionProblem& problem, const absl::Status& reason) {
  const std::shared_ptr<Entry> entry = EntryOf(problem);
  MutexLock lock(entry->mu);
  if (entry->plan == nullptr) return;
  entry->plan = nullptr;
  Lament(problem, reason);
}

std::shared_ptr<AttentionPlanner::Entry> AttentionPlanner::EntryOf(const AttentionProblem& problem) {
  MutexLock lock(mu_);
  std::shared_ptr<Entry>& entry = entries_[problem];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  const std::shared_ptr<Entry> found = entry;
  found->last_use = ++uses_;
  if (entries_.size() > kMostProblems) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second->last_use < b.second->last_use;
    }));
  }
  return found;
}

void AttentionPlanner::Lament(const AttentionProblem& problem, const absl::Status& reason) const {
  WEIR_LOG(INFO)
          .With("problem", problem.ToString())
          .With("library", library_->identity())
          .With("reason", reason.message())
      << "no plan for an attention: the own kernel computes it";
}

absl::StatusOr<std::shared_ptr<AttentionPlanner>> AttentionPlannerOf(GpuDevice& gpu) {
  const auto make = [&gpu]() -> absl::StatusOr<std::shared_ptr<AttentionPlanner>> {
    GpuRuntime& runtime = gpu.runtime();
    if (dynamic_cast<SimulatedGpu*>(&runtime) != nullptr) {
      return std::make_shared<AttentionPlanner>(NewSimulatedAttention(runtime.properties()));
    }
    absl::StatusOr<std::shared_ptr<AttentionLibrary>> library = CudaAttention(runtime, gpu.math_settings());
    if (library.ok()) return std::make_shared<AttentionPlanner>(*std::move(library));
    WEIR_LOG(WARNING).With("device", gpu.name()).With("reason", library.status().message())
        << "no library for attention: the own kernel computes it, without tensor cores";
    return std::make_shared<AttentionPlanner>(nullptr);
  };
  return gpu.resources()->LookupOrCreate<AttentionPlanner>("weir_gpu_libraries", "attention", make);
}

}  // namespace weir
