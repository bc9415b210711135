#include "worker/commit/commit_state.h"

namespace weir {

CommitState::Action CommitState::Ready() {
  if (state_ == State::kComputing) state_ = State::kReady;
  return Action::kNone;
}

CommitState::Action CommitState::Decided() {
  if (state_ != State::kReady && state_ != State::kAsking) return Action::kNone;
  state_ = State::kCommitted;
  return Action::kRunUpdates;
}

CommitState::Action CommitState::Failed() {
  if (state_ == State::kReady) {
    state_ = State::kAsking;
    return Action::kAsk;
  }
  if (state_ != State::kComputing) return Action::kNone;
  state_ = State::kAborted;
  return Action::kAbort;
}

CommitState::Action CommitState::Answered(bool committed) {
  if (committed) return Decided();
  return CoordinatorLost();
}

CommitState::Action CommitState::CoordinatorLost() {
  if (state_ == State::kCommitted || state_ == State::kAborted) return Action::kNone;
  state_ = State::kAborted;
  return Action::kAbort;
}

}  // namespace weir
