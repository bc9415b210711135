// Executes one rank's schedule.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/mutex.h"
#include "core/tensor/tensor.h"
#include "core/threads/busy_poller.h"
#include "core/threads/work_queue.h"
#include "core/wire/wire_codec.h"
#include "distribute/collective/collective.h"
#include "distribute/collective/communicator.h"
#include "distribute/collective/reduction.h"
#include "distribute/collective/schedule.h"

namespace weir {

// Thread-safe; its callbacks keep it alive. No thread waits: the thread that completes a message continues its lane.
// - Memory that a peer may be reading is not written: a step that would write it waits until the send has ended.
// - A failed run waits for no peer: pending sends keep `owner`.
class ScheduleRun : public std::enable_shared_from_this<ScheduleRun> {
 public:
  struct Options {
    std::shared_ptr<Communicator> communicator;
    Schedule schedule;
    int64_t sequence = 0;
    const char* input = nullptr;
    char* output = nullptr;
    size_t element_bytes = 1;
    ReduceFunction reduce = nullptr;
    WireCodec codec;
    bool rounds_from = false;         // see WireCodec::UnpackCombine
    int64_t rounded_elements = 0;     // at the start of the output: rounded at the end, as if they had been sent
    DivideFunction divide = nullptr;  // null: there are no divisions
    int64_t divisor = 1;
    WorkQueue* work_queue = nullptr;
    const BusyPoller* poller = nullptr;  // see ScheduledCollective
    CancellationManager* cancellation = nullptr;
    std::shared_ptr<const void> owner;  // owns input and output; null: the run's end waits for every send
  };

  // ResourceExhausted if there is no memory for the schedule's scratch.
  static absl::StatusOr<std::shared_ptr<ScheduleRun>> Create(Options options, Collective::DoneCallback done);
  void Start();

 private:
  ScheduleRun(Options options, Tensor scratch, Collective::DoneCallback done);

  struct Sending {
    const char* begin = nullptr;
    const char* end = nullptr;
    uint32_t move = 0;
  };
  struct LaneState {
    Mutex mu;
    uint32_t next_step GUARDED_BY(mu) = 0;  // of the schedule
    uint32_t end_step = 0;
    int pending GUARDED_BY(mu) = 0;               // receives of the current step, and the posting of its messages
    std::vector<Sending> sending GUARDED_BY(mu);  // each keeps the run alive
    bool waits_for_send GUARDED_BY(mu) = false;
  };

  const char* From(const Place& place) const;
  char* To(const Place& place) const;
  // A move without a message.
  void MoveHere(const Move& move);
  // Runs the lane as far as possible without waiting.
  void Advance(int lane);
  bool Overwrites(const LaneState& state, const ScheduleStep& step) const REQUIRES(state.mu);
  void Post(int lane, const ScheduleStep& step, uint32_t move_index);
  void PostPacked(int lane, const ScheduleStep& step, uint32_t move_index);
  // Receives the message's length, then the message.
  void PostReceiveOfLength(int lane, const ScheduleStep& step, uint32_t move_index);
  void PostReceive(int lane, const MessageTag& tag, uint32_t move_index, int64_t num_bytes);
  void Sent(int lane, uint32_t move_index, const absl::Status& status);
  void Received(int lane, uint32_t move_index, absl::StatusOr<ReceivedBytes> received);
  void Consume(int lane, uint32_t move_index, ReceivedBytes received);
  absl::Status Take(const Move& move, absl::Span<const char> message);
  void StepEnded(int lane);
  void Fail(const absl::Status& status);
  void AbandonSends();
  void Hold() { held_.fetch_add(1, std::memory_order_relaxed); }
  // False if the run has ended.
  bool TryHold();
  void Release();

  std::shared_ptr<const void> owner_;  // until the run has ended successfully
  const Options options_;
  Collective::DoneCallback done_;
  Tensor scratch_;
  std::unique_ptr<LaneState[]> lanes_;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
  std::atomic<int64_t> held_{1};  // pending messages, and callers
  std::atomic<bool> failed_{false};
  Mutex status_mu_;
  absl::Status status_ GUARDED_BY(status_mu_);
};

}  // namespace weir
