// Telling tasks that a step is over.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/timer_queue.h"
#include "master/client_graph.h"

namespace weir {

// Thread-safe. A call to each task takes longer than many a step, and nobody waits for it: steps that have ended well
// are gathered for a moment, and their calls are made together, after the step's answer is on its way.
class EndedSteps {
 public:
  // `timers` outlives this; nullptr: nothing is gathered.
  explicit EndedSteps(TimerQueue* timers) : timers_(timers) {}
  // Flushes.
  ~EndedSteps();
  EndedSteps(const EndedSteps&) = delete;

  // Soon.
  void Add(int64_t step_id, std::shared_ptr<const ClientGraph> graph);
  // Makes the calls that are left.
  void Flush();
  // Now: tells all tasks of the graph to drop what they have of the step, and to end what waits there.
  static void Cleanup(int64_t step_id, const ClientGraph& graph);

 private:
  struct Ended {
    int64_t step_id = 0;
    std::shared_ptr<const ClientGraph> graph;
  };
  static constexpr absl::Duration kGather = absl::Milliseconds(2);

  TimerQueue* const timers_;
  Mutex mu_;
  std::vector<Ended> ended_ GUARDED_BY(mu_);
  std::optional<TimerQueue::Token> timer_ GUARDED_BY(mu_);
};

}  // namespace weir
