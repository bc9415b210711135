// Which plan of a library each attention of a device runs by.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/gpu/gpu_device.h"
#include "core/mutex.h"
#include "core/resource_manager.h"
#include "kernels/cuda/attention/attention_library.h"

namespace weir {

// Remembers the plan of each problem, and what has none. Thread-safe. A plan is made when it is first wanted, on the
// thread that asks; nothing is measured.
class AttentionPlanner : public Resource {
 public:
  // The most problems that are remembered: those used last.
  static constexpr size_t kMostProblems = 1024;

  explicit AttentionPlanner(std::shared_ptr<AttentionLibrary> library) : library_(std::move(library)) {}
  std::string DebugString() const override;

  // Null where the library has no plan: the log says so once for each problem.
  std::shared_ptr<AttentionPlan> Find(const AttentionProblem& problem);
  // A plan that turned out not to work is not given again; the log says why.
  void Drop(const AttentionProblem& problem, const absl::Status& reason);

 private:
  struct Entry {
    Mutex mu;
    bool is_made GUARDED_BY(mu) = false;
    std::shared_ptr<AttentionPlan> plan GUARDED_BY(mu);
    int64_t last_use = 0;  // guarded by the planner's mu_
  };
  std::shared_ptr<Entry> EntryOf(const AttentionProblem& problem);
  void Lament(const AttentionProblem& problem, const absl::Status& reason) const;

  const std::shared_ptr<AttentionLibrary> library_;  // null: none serves the device
  mutable Mutex mu_;
  absl::flat_hash_map<AttentionProblem, std::shared_ptr<Entry>> entries_ GUARDED_BY(mu_);
  int64_t uses_ GUARDED_BY(mu_) = 0;
};

// The one of a device, which all its attentions share. A device without a library has a planner that plans nothing; the
// log says why there is none.
absl::StatusOr<std::shared_ptr<AttentionPlanner>> AttentionPlannerOf(GpuDevice& gpu);

}  // namespace weir
