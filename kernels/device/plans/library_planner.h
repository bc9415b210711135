// Chooses a library's plan for each problem of a device: convolutions, batch normalisation, attention.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/device/resource_manager.h"
#include "core/gpu/gpu_device.h"
#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"
#include "core/mutex.h"
#include "core/threads/work_queue.h"
#include "kernels/device/plans/gpu_library.h"
#include "kernels/device/plans/plan_cache.h"
#include "kernels/device/plans/plan_tuner.h"

namespace weir {

// Remembers what the library proposes for a problem, measures it while it is used (PlanTuner), and keeps the choice, in
// a file too where there is a cache. Thread-safe. Plans are made when it is first their turn, on the thread that asks.
//
// While a stream captures a graph nothing is measured: the graph gets the best plan that is known, and keeps it.
//
// Its functions are in library_planner_definitions.h, which one file for each kind of problem instantiates.
template <typename Problem, typename Buffers>
class LibraryPlanner : public Resource {
 public:
  using Plan = LibraryPlan<Problem, Buffers>;
  using Library = GpuLibrary<Problem, Buffers>;

  struct Options {
    std::shared_ptr<Library> library;  // nullptr: none serves the device
    GpuMathSettings settings;
    // For measurements; an error: there are none.
    std::function<absl::StatusOr<std::unique_ptr<GpuTimer>>()> new_timer;
    std::shared_ptr<PlanCache> cache;  // nullptr: what is chosen is forgotten with the process
    WorkQueue* work_queue = nullptr;   // where the cache is written; outlives the planner
  };
  static constexpr size_t kMostCandidates = Problem::kMostCandidates;
  // The most problems that are remembered: those used last. A plan takes memory of the host, and some of the device.
  static constexpr size_t kMostProblems = 1024;

  explicit LibraryPlanner(Options options);
  std::string DebugString() const override;

  // Calls `run` with a plan that computes the problem, which may be in the other layout, to enqueue it on `stream`.
  // When `run` returns UNIMPLEMENTED, or RESOURCE_EXHAUSTED for a plan that wants workspace, the next plan is tried,
  // and the one that failed no more, if another works; `run` must then have changed nothing that the next does not
  // overwrite. False: there is no plan, and the caller computes it otherwise; the log says so once for each problem.
  // Other errors are those of `run`.
  absl::StatusOr<bool> Run(const Problem& problem, GpuStream& stream, absl::FunctionRef<absl::Status(Plan& plan)> run);

  // How long the plan that was chosen takes, here or in a process that kept its choice; infinite: there is no plan;
  // nullopt: nothing is chosen by measurements, or not yet.
  std::optional<absl::Duration> MeasuredTime(const Problem& problem);

 private:
  struct Candidate {
    Problem problem;  // in the layout of this candidate
    LibraryRecipe recipe;
    std::shared_ptr<Plan> plan;  // when it was made
  };
  struct Measurement {
    int candidate = 0;
    std::unique_ptr<GpuTimer> timer;
  };
  // What is known of one problem.
  struct Entry {
    explicit Entry(const Problem& problem_in) : problem(problem_in) {}

    const Problem problem;
    int64_t last_use = 0;  // guarded by the planner's mu_
    Mutex mu;
    bool is_ready GUARDED_BY(mu) = false;  // has candidates, if there are any
    bool is_settled GUARDED_BY(mu) = false;
    bool is_from_cache GUARDED_BY(mu) = false;
    bool is_lamented GUARDED_BY(mu) = false;  // there is no plan
    absl::Status reason GUARDED_BY(mu);       // why the last plan that was tried is none
    std::vector<Candidate> candidates GUARDED_BY(mu);
    PlanTuner tuner GUARDED_BY(mu) = PlanTuner(0, false);
    std::vector<Measurement> pending GUARDED_BY(mu);
  };
  // A plan and its timer, which is null where nothing is measured.
  struct Picked {
    int candidate = 0;
    std::shared_ptr<Plan> plan;
    std::unique_ptr<GpuTimer> timer;
  };

  std::shared_ptr<Entry> EntryOf(const Problem& problem);
  // Plans with less workspace than `room`; a null plan where there is none left.
  Picked Pick(Entry& entry, bool can_measure, size_t room);
  Picked PickWithin(Entry& entry, size_t room) REQUIRES(entry.mu);
  void Prepare(Entry& entry) REQUIRES(entry.mu);
  bool PrepareFromCache(Entry& entry) REQUIRES(entry.mu);
  void Propose(Entry& entry) REQUIRES(entry.mu);
  bool MakePlan(Entry& entry, int candidate) REQUIRES(entry.mu);
  void Collect(Entry& entry) REQUIRES(entry.mu);
  void Settle(Entry& entry, int chosen) REQUIRES(entry.mu);
  // Says, and remembers, that there is no plan.
  void Lament(Entry& entry);
  bool KeepsChoices() const;
  void Keep(const Problem& problem, CachedPlan plan);
  void Drop(Entry& entry, const Picked& picked, const absl::Status& reason);
  void SaveSoon();

  const Options options_;
  const std::shared_ptr<std::atomic<bool>> is_saving_ = std::make_shared<std::atomic<bool>>(false);
  mutable Mutex mu_;
  absl::flat_hash_map<Problem, std::shared_ptr<Entry>> entries_ GUARDED_BY(mu_);
  int64_t uses_ GUARDED_BY(mu_) = 0;
};

// The planner of a device, which all its problems of that kind share, by the library that `make_library` gives for it:
// a device for which that fails has a planner that plans nothing, and the log says why. Only where `measures` is set
// are plans measured; else the first that works is taken.
template <typename Problem, typename Buffers>
absl::StatusOr<std::shared_ptr<LibraryPlanner<Problem, Buffers>>> PlannerOf(
    GpuDevice& gpu, bool measures,
    absl::StatusOr<std::shared_ptr<GpuLibrary<Problem, Buffers>>> (*make_library)(GpuRuntime& gpu,
                                                                                  const GpuMathSettings& settings));

}  // namespace weir
