// The functions of LibraryPlanner, for files that instantiate it: template class LibraryPlanner<Problem, Buffers>.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gpu/gpu_capture.h"
#include "core/logging.h"
#include "kernels/device/plans/library_planner.h"
#include "kernels/device/plans/shared_plan_cache.h"

namespace weir {
namespace library_planner {

inline constexpr size_t kAnyWorkspace = std::numeric_limits<size_t>::max();

// What is chosen by measurements may differ from run to run.
inline bool Measures(const GpuMathSettings& settings) { return settings.autotune && !settings.deterministic; }

}  // namespace library_planner

template <typename Problem, typename Buffers>
LibraryPlanner<Problem, Buffers>::LibraryPlanner(Options options) : options_(std::move(options)) {}

template <typename Problem, typename Buffers>
std::string LibraryPlanner<Problem, Buffers>::DebugString() const {
  MutexLock lock(mu_);
  return absl::StrCat("plans of ", entries_.size(), " problems of ", Problem::kNoun, " by ",
                      options_.library == nullptr ? "no library" : options_.library->identity());
}

template <typename Problem, typename Buffers>
absl::StatusOr<bool> LibraryPlanner<Problem, Buffers>::Run(const Problem& problem, GpuStream& stream,
                                                           absl::FunctionRef<absl::Status(Plan& plan)> run) {
  if (options_.library == nullptr) return false;
  const std::shared_ptr<Entry> entry = EntryOf(problem);
  bool can_measure = !stream.IsCapturing();
  size_t room = library_planner::kAnyWorkspace;
  absl::Status exhausted;
  std::vector<Picked> too_large;
  for (;;) {
    Picked picked = Pick(*entry, can_measure, room);
    if (picked.plan == nullptr) {
      if (!exhausted.ok()) return exhausted;
      Lament(*entry);
      return false;
    }
    const bool is_started = picked.timer != nullptr && picked.timer->Start(&stream).ok();
    const absl::Status status = run(*picked.plan);
    const bool is_timed = is_started && status.ok() && picked.timer->Stop(&stream).ok();
    if (picked.timer != nullptr) {
      MutexLock lock(entry->mu);
      if (is_timed) {
        entry->pending.push_back({picked.candidate, std::move(picked.timer)});
      } else {
        entry->tuner.Report(picked.candidate, std::nullopt);
      }
    }
    if (absl::IsUnimplemented(status)) {
      Drop(*entry, picked, status);
      continue;
    }
    if (!absl::IsResourceExhausted(status) || picked.plan->workspace_bytes() == 0) {
      RETURN_IF_ERROR(status);
      if (GpuCapture* const capture = GpuCapture::Current()) {
        capture->Keep(picked.plan);  // what has no room beside a graph may have it in a step
        return true;
      }
      // An allocation that fails has waited for memory before: not again with each call.
      for (const Picked& plan : too_large) Drop(*entry, plan, exhausted);
      return true;
    }
    exhausted = status;
    room = picked.plan->workspace_bytes();
    can_measure = false;
    too_large.push_back(std::move(picked));
  }
}

template <typename Problem, typename Buffers>
std::shared_ptr<typename LibraryPlanner<Problem, Buffers>::Entry> LibraryPlanner<Problem, Buffers>::EntryOf(
    const Problem& problem) {
  std::shared_ptr<Entry> forgotten;  // its plans go with no lock held
  MutexLock lock(mu_);
  if (entries_.size() == kMostProblems && !entries_.contains(problem)) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second->last_use < b.second->last_use;
    });
    forgotten = std::move(oldest->second);
    entries_.erase(oldest);
  }
  std::shared_ptr<Entry>& entry = entries_[problem];
  if (entry == nullptr) entry = std::make_shared<Entry>(problem);
  entry->last_use = ++uses_;
  return entry;
}

template <typename Problem, typename Buffers>
typename LibraryPlanner<Problem, Buffers>::Picked LibraryPlanner<Problem, Buffers>::Pick(Entry& entry, bool can_measure,
                                                                                         size_t room) {
  MutexLock lock(entry.mu);
  Prepare(entry);
  Collect(entry);
  if (room != library_planner::kAnyWorkspace) return PickWithin(entry, room);
  for (;;) {
    const std::optional<PlanTuner::Turn> turn = entry.tuner.Next(can_measure && !entry.is_settled);
    if (!turn.has_value()) {
      if (!entry.is_from_cache) return {};
      entry.is_from_cache = false;
      Propose(entry);
      continue;
    }
    Picked picked{.candidate = turn->candidate};
    if (!MakePlan(entry, turn->candidate)) {
      if (turn->is_measured) entry.tuner.Report(turn->candidate, std::nullopt);
      entry.tuner.Drop(turn->candidate);
      continue;
    }
    picked.plan = entry.candidates[turn->candidate].plan;
    if (turn->is_measured) {
      if (auto timer = options_.new_timer(); timer.ok()) picked.timer = *std::move(timer);
      if (picked.timer == nullptr) entry.tuner.Report(turn->candidate, std::nullopt);
    }
    return picked;
  }
}

template <typename Problem, typename Buffers>
typename LibraryPlanner<Problem, Buffers>::Picked LibraryPlanner<Problem, Buffers>::PickWithin(Entry& entry,
                                                                                               size_t room) {
  const int num_candidates = static_cast<int>(entry.candidates.size());
  for (int i = 0; i < num_candidates; ++i) {
    if (entry.tuner.IsDropped(i)) continue;
    if (!MakePlan(entry, i)) {
      entry.tuner.Drop(i);
      continue;
    }
    const std::shared_ptr<Plan>& plan = entry.candidates[i].plan;
    if (plan->workspace_bytes() < room) return {.candidate = i, .plan = plan};
  }
  if (!std::exchange(entry.is_from_cache, false)) return {};
  Propose(entry);
  return PickWithin(entry, room);
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Prepare(Entry& entry) {
  if (std::exchange(entry.is_ready, true)) return;
  if (!PrepareFromCache(entry)) Propose(entry);
}

template <typename Problem, typename Buffers>
bool LibraryPlanner<Problem, Buffers>::PrepareFromCache(Entry& entry) {
  if (!KeepsChoices()) return false;
  const std::optional<CachedPlan> cached = options_.cache->Find(entry.problem.ToString());
  if (!cached.has_value() || cached->IsNone()) return false;
  Candidate candidate{.problem = entry.problem.InLayout(cached->channels_first), .recipe = cached->recipe};
  entry.candidates = {std::move(candidate)};
  if (!MakePlan(entry, 0)) return false;
  entry.tuner = PlanTuner(1, false);
  entry.is_from_cache = entry.is_settled = true;
  return true;
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Propose(Entry& entry) {
  entry.candidates.clear();
  entry.is_settled = false;
  for (const bool channels_first : options_.library->Layouts(entry.problem)) {
    const Problem problem = entry.problem.InLayout(channels_first);
    absl::StatusOr<std::vector<LibraryRecipe>> recipes = options_.library->Propose(problem);
    if (!recipes.ok()) {
      WEIR_LOG(WARNING).With("problem", problem.ToString()).With("reason", recipes.status().message())
          << "no plans are proposed";
      entry.reason = recipes.status();
      continue;
    }
    for (LibraryRecipe& recipe : *recipes) {
      if (entry.candidates.size() == kMostCandidates) break;
      entry.candidates.push_back({.problem = problem, .recipe = std::move(recipe)});
    }
    // What is proposed may turn out not to work.
    while (!entry.candidates.empty() && !MakePlan(entry, 0)) entry.candidates.erase(entry.candidates.begin());
    if (!entry.candidates.empty()) break;
  }
  entry.tuner = PlanTuner(static_cast<int>(entry.candidates.size()), library_planner::Measures(options_.settings));
}

template <typename Problem, typename Buffers>
bool LibraryPlanner<Problem, Buffers>::MakePlan(Entry& entry, int candidate) {
  Candidate& wanted = entry.candidates[candidate];
  if (wanted.plan != nullptr) return true;
  absl::StatusOr<std::shared_ptr<Plan>> plan = options_.library->Make(wanted.problem, wanted.recipe);
  if (plan.ok()) {
    wanted.plan = *std::move(plan);
    return true;
  }
  entry.reason = plan.status();
  WEIR_LOG(DEBUG)
          .With("problem", wanted.problem.ToString())
          .With("recipe", wanted.recipe.ToString())
          .With("reason", plan.status().message())
      << "a plan cannot be made";
  return false;
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Collect(Entry& entry) {
  if (entry.is_settled) return;
  std::erase_if(entry.pending, [&entry](const Measurement& measurement) {
    const absl::StatusOr<std::optional<absl::Duration>> elapsed = measurement.timer->Elapsed();
    if (elapsed.ok() && !elapsed->has_value()) return false;
    entry.tuner.Report(measurement.candidate, elapsed.ok() ? *elapsed : std::nullopt);
    return true;
  });
  if (const std::optional<int> chosen = entry.tuner.Chosen(); chosen.has_value()) Settle(entry, *chosen);
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Settle(Entry& entry, int chosen) {
  entry.is_settled = true;
  for (size_t i = 0; i < entry.candidates.size(); ++i) {
    if (static_cast<int>(i) != chosen) entry.candidates[i].plan = nullptr;
  }
  const absl::Duration elapsed = entry.tuner.BestTime(chosen);
  if (elapsed == absl::ZeroDuration()) return;  // nothing was measured
  const Candidate& best = entry.candidates[chosen];
  WEIR_LOG(INFO)
          .With("problem", entry.problem.ToString())
          .With("recipe", best.recipe.ToString())
          .With("layout", best.problem.IsChannelsFirst() ? "nchw" : "nhwc")
          .With("time", absl::FormatDuration(elapsed))
      << "chose a plan";
  Keep(entry.problem, {best.problem.IsChannelsFirst(), best.recipe, elapsed});
}

template <typename Problem, typename Buffers>
bool LibraryPlanner<Problem, Buffers>::KeepsChoices() const {
  return options_.cache != nullptr && library_planner::Measures(options_.settings);
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Keep(const Problem& problem, CachedPlan plan) {
  if (!KeepsChoices()) return;
  options_.cache->Add(problem.ToString(), std::move(plan));
  SaveSoon();
}

template <typename Problem, typename Buffers>
std::optional<absl::Duration> LibraryPlanner<Problem, Buffers>::MeasuredTime(const Problem& problem) {
  if (!library_planner::Measures(options_.settings)) return std::nullopt;
  std::shared_ptr<Entry> entry;
  {
    MutexLock lock(mu_);
    if (const auto found = entries_.find(problem); found != entries_.end()) entry = found->second;
  }
  if (entry != nullptr) {
    MutexLock lock(entry->mu);
    if (entry->is_lamented) return absl::InfiniteDuration();
    Collect(*entry);
    const std::optional<int> chosen = entry->tuner.Chosen();
    if (chosen.has_value() && entry->tuner.BestTime(*chosen) > absl::ZeroDuration()) {
      return entry->tuner.BestTime(*chosen);
    }
  }
  if (options_.cache == nullptr) return std::nullopt;
  const std::optional<CachedPlan> cached = options_.cache->Find(problem.ToString());
  if (!cached.has_value()) return std::nullopt;
  return cached->elapsed;
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Lament(Entry& entry) {
  MutexLock lock(entry.mu);
  if (std::exchange(entry.is_lamented, true)) return;
  WEIR_LOG(WARNING)
          .With("problem", entry.problem.ToString())
          .With("library", options_.library->identity())
          .With("reason", entry.reason.ok() ? "it proposes none" : entry.reason.message())
      << absl::StrCat("the library has no plan for ", Problem::kNoun, ": ", Problem::kOtherwise);
  // What passes, a lack of memory say, is not kept.
  if (entry.reason.ok() || absl::IsUnimplemented(entry.reason)) Keep(entry.problem, CachedPlan::None());
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::Drop(Entry& entry, const Picked& picked, const absl::Status& reason) {
  MutexLock lock(entry.mu);
  WEIR_LOG(DEBUG)
          .With("problem", entry.problem.ToString())
          .With("recipe", picked.plan->recipe().ToString())
          .With("reason", reason.message())
      << "a plan does not work";
  // Somebody else may have dropped it and begun anew.
  const auto candidate = static_cast<size_t>(picked.candidate);
  if (candidate >= entry.candidates.size() || entry.candidates[candidate].plan != picked.plan) return;
  entry.tuner.Drop(picked.candidate);
  entry.reason = reason;
  entry.is_settled = false;
}

template <typename Problem, typename Buffers>
void LibraryPlanner<Problem, Buffers>::SaveSoon() {
  if (is_saving_->exchange(true)) return;
  options_.work_queue->ScheduleBlocking([cache = options_.cache, is_saving = is_saving_] {
    is_saving->store(false);
    if (const absl::Status saved = cache->Save(); !saved.ok()) {
      WEIR_LOG_EVERY(WARNING, absl::Minutes(10)).With("file", cache->path()).With("reason", saved.message())
          << "the file of plans is not written";
    }
  });
}

template <typename Problem, typename Buffers>
absl::StatusOr<std::shared_ptr<LibraryPlanner<Problem, Buffers>>> PlannerOf(
    GpuDevice& gpu, bool measures,
    absl::StatusOr<std::shared_ptr<GpuLibrary<Problem, Buffers>>> (*make_library)(GpuRuntime& gpu,
                                                                                  const GpuMathSettings& settings)) {
  using Planner = LibraryPlanner<Problem, Buffers>;
  const auto make = [&gpu, measures, make_library]() -> absl::StatusOr<std::shared_ptr<Planner>> {
    auto library = make_library(gpu.runtime(), gpu.math_settings());
    typename Planner::Options options{.settings = gpu.math_settings(),
                                      .new_timer = [&runtime = gpu.runtime()] { return runtime.CreateTimer(); },
                                      .work_queue = gpu.work_queue()};
    options.settings.autotune &= measures;
    if (library.ok()) {
      WEIR_LOG(INFO).With("device", gpu.name()).With("library", (*library)->identity())
          << absl::StrCat(Problem::kNoun, " by a library");
      if (measures) {
        ASSIGN_OR_RETURN(options.cache, PlanCacheOf(gpu, (*library)->identity()));
      }
      options.library = *std::move(library);
    } else {
      WEIR_LOG(WARNING).With("device", gpu.name()).With("reason", library.status().message())
          << absl::StrCat("no library for ", Problem::kNoun, ": ", Problem::kOtherwise);
    }
    return std::make_shared<Planner>(std::move(options));
  };
  return gpu.resources()->template LookupOrCreate<Planner>("weir_gpu_libraries", Problem::kNoun, make);
}

}  // namespace weir
