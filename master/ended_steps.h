// Notifies tasks that steps have ended.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "master/client_graph.h"

namespace weir {

// Batches the notifications of successful steps, which are sent after the step's answer: a call to each task
// takes longer than many steps do. Thread-safe.
class EndedSteps {
 public:
  // `timers` outlives this; nullptr: there is no batching.
  explicit EndedSteps(TimerQueue* timers) : timers_(timers) {}
  // Calls Flush.
  ~EndedSteps();
  EndedSteps(const EndedSteps&) = delete;

  // Notifies the step's tasks soon.
  void Add(int64_t step_id, std::shared_ptr<const ClientGraph> graph);
  // Sends the pending notifications.
  void Flush();
  // Immediately asks all tasks of the graph to drop the step's state and to end pending waits.
  static void Cleanup(int64_t step_id, const ClientGraph& graph);

 private:
  struct Ended {
    int64_t step_id = 0;
    std::shared_ptr<const ClientGraph> graph;
  };
  static constexpr absl::Duration kGather = absl::Milliseconds(2);

  void Schedule() REQUIRES(mu_);

  TimerQueue* const timers_;
  Mutex mu_;
  bool is_ending_ GUARDED_BY(mu_) = false;
  std::vector<Ended> ended_ GUARDED_BY(mu_);
  std::optional<TimerQueue::Token> timer_ GUARDED_BY(mu_);
};

}  // namespace weir
