#include "kernels/device/plans/plan_tuner.h"

#include <algorithm>

namespace weir {

PlanTuner::PlanTuner(int num_candidates, bool measures) : candidates_(num_candidates), measures_(measures) {}

bool PlanTuner::WantsTurns(const Candidate& candidate) const {
  if (!measures_ || candidate.is_dropped || candidate.turns > kMeasuredTurns) return false;
  const std::optional<int> best = Best();
  return candidate.results < kTurnsBeforeGivingUp || candidate.best < kTooSlow * candidates_[*best].best;
}

std::optional<int> PlanTuner::Best() const {
  std::optional<int> best;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].is_dropped) continue;
    if (!best.has_value() || candidates_[i].best < candidates_[*best].best) best = static_cast<int>(i);
  }
  return best;
}

std::optional<PlanTuner::Turn> PlanTuner::Next(bool can_measure) {
  const std::optional<int> best = Best();
  if (!best.has_value()) return std::nullopt;
  if (!can_measure) return Turn{.candidate = *best};
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    if (!WantsTurns(candidate)) continue;
    const bool is_measured = candidate.turns++ > 0;
    candidate.pending += is_measured;
    return Turn{.candidate = static_cast<int>(i), .is_measured = is_measured};
  }
  return Turn{.candidate = *best};
}

void PlanTuner::Report(int candidate, std::optional<absl::Duration> elapsed) {
  Candidate& of = candidates_[candidate];
  --of.pending;
  if (!elapsed.has_value()) return;
  ++of.results;
  of.best = std::min(of.best, *elapsed);
}

void PlanTuner::Drop(int candidate) { candidates_[candidate].is_dropped = true; }

std::optional<int> PlanTuner::Chosen() const {
  const std::optional<int> best = Best();
  if (!best.has_value()) return std::nullopt;
  for (const Candidate& candidate : candidates_) {
    if (!candidate.is_dropped && (candidate.pending > 0 || WantsTurns(candidate))) return std::nullopt;
  }
  return best;
}

absl::Duration PlanTuner::BestTime(int candidate) const {
  return candidates_[candidate].results > 0 ? candidates_[candidate].best : absl::ZeroDuration();
}

}  // namespace weir
