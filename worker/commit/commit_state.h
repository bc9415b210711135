// The state machine of a participant, a task that does not decide, in the commit of one step.
#pragma once

namespace weir {

// A pure state machine: no threads, no clock, no messages. Its driver (step_participation.h, or a simulator) reports
// events and does what each returns.
//
//   computing --ready--> ready --decided--> committed
//       |                  |                    ^
//     failed             failed                 | committed, or decided after all
//       v                  v                    |
//    aborted <--aborted-- asking ---------------+
//
// Invariants, which make a step all or nothing whatever fails:
// - Until it is ready the task may abort by itself: the coordinator decides to commit only if all tasks are ready.
// - From then on only the coordinator's answer, or the certainty that the coordinator has lost its state, aborts it.
// - The updates run once at most, and only in state committed, which is final.
class CommitState {
 public:
  enum class Action {
    kNone,
    kAsk,         // ask the coordinator for its decision until it answers
    kRunUpdates,  // let the updates run
    kAbort,       // end the step; the updates never run
  };
  enum class State { kComputing, kReady, kAsking, kCommitted, kAborted };

  State state() const { return state_; }

  // The task has computed everything that precedes its updates.
  Action Ready();
  // The coordinator's decision to commit has arrived.
  Action Decided();
  // The step was cancelled here, or the decision can no longer arrive unasked.
  Action Failed();
  // The coordinator's answer.
  Action Answered(bool committed);
  // The coordinator has restarted, and its updates of the step are lost with its state; or this task is shutting down.
  Action CoordinatorLost();

 private:
  State state_ = State::kComputing;
};

}  // namespace weir
