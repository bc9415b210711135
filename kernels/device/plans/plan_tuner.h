// Finds the fastest of several plans for one problem while they are used.
#pragma once

#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace weir {

// Every call of a problem is one of the candidates' turn: its first is not measured (code is loaded then), a few more
// are, and then it is the next one's. Nothing is computed that is not asked for, and nobody waits for a measurement:
// results come when they come, and until all have come, calls get the best that is known. Not thread-safe.
//
// A candidate that is much slower than the best has no further turns; one that fails is dropped; one that is alone is
// measured too, for who compares problems. What other threads put
// on the stream in between is measured too: that is why the least of a candidate's results counts, and more than one.
class PlanTuner {
 public:
  static constexpr int kMeasuredTurns = 3;
  static constexpr int kTurnsBeforeGivingUp = 2;
  // In terms of the best, after which a candidate is given up.
  static constexpr double kTooSlow = 2;

  struct Turn {
    int candidate = 0;
    bool is_measured = false;
  };

  // `num_candidates`, best first as far as is known. Where `measures` is false the first that does not fail is chosen.
  PlanTuner(int num_candidates, bool measures);

  // What the next call runs; `can_measure` is whether that call could be measured. nullopt: all have failed.
  std::optional<Turn> Next(bool can_measure);
  // What came of a measured turn; nullopt: nothing.
  void Report(int candidate, std::optional<absl::Duration> elapsed);
  void Drop(int candidate);
  bool IsDropped(int candidate) const { return candidates_[candidate].is_dropped; }

  // The choice, once it stands. Dropping it opens the matter again.
  std::optional<int> Chosen() const;
  // The least that was measured; zero where nothing was.
  absl::Duration BestTime(int candidate) const;

 private:
  struct Candidate {
    bool is_dropped = false;
    int turns = 0;    // given
    int pending = 0;  // measured turns without a report
    int results = 0;
    absl::Duration best = absl::InfiniteDuration();
  };
  bool WantsTurns(const Candidate& candidate) const;
  std::optional<int> Best() const;

  std::vector<Candidate> candidates_;
  bool measures_;
};

}  // namespace weir
