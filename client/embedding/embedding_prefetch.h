// Pulls of the next batches while a step computes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "client/embedding/embedding_variable.h"
#include "client/session.h"

namespace weir {

// Divides a step in two: one pulls and puts what it pulled, with what else the batch has, into a queue on the worker;
// the other takes it from there and computes. The rows that a step sees are then up to `ahead` + 1 steps old.
//
//   EmbeddingPrefetch prefetch(worker, {users.Pull(worker, user_keys), items.Pull(worker, item_keys)}, {ratings}, 2);
//   const EmbeddingPull& users_now = prefetch.pulls()[0];
//   // … the training step, of users_now and prefetch.others()[0] …
//   RETURN_IF_ERROR(prefetch.Start(session, feeds, global_step));  // feeds(step) of the placeholders before the queue
//   // … session.Run of training steps …
//   RETURN_IF_ERROR(prefetch.Stop());
//
// A TrainingLoop gets `options.feeds = prefetch.FollowSteps(session, feeds)` in the place of Start.
//
// Start, Stop and what FollowSteps gives are called from one thread. A step waits until a batch was pulled. The steps
// behind the last one fail: OUT_OF_RANGE at the end of the input and after Stop; when a feed or a pull failed, the
// first one has that error. So a parameter server that is lost while it is pulled from is what a TrainingLoop recovers
// from.
class EmbeddingPrefetch {
 public:
  EmbeddingPrefetch(const Scope& scope, const std::vector<EmbeddingPull>& pulls, const std::vector<Output>& others,
                    int64_t ahead);  // at least 1
  ~EmbeddingPrefetch();

  const std::vector<EmbeddingPull>& pulls() const { return pulls_; }
  const std::vector<Output>& others() const { return others_; }

  // Pulls for step `first` and those behind it on a thread of its own, until Stop or an error; OUT_OF_RANGE from
  // `feeds` is the end of the input. What an earlier run has left in the queue is dropped. The session outlives it.
  using Feeds = std::function<absl::StatusOr<FeedList>(int64_t step)>;
  absl::Status Start(Session& session, Feeds feeds, int64_t first);
  // To be asked before each step for its feeds, of which there are none: pulls begin with the first step that it is
  // asked for, and anew with one that does not follow the one before. The session and this outlive it.
  Feeds FollowSteps(Session& session, Feeds feeds);
  // Ends the thread; Start goes on from any step. Gives what ended the pulls before, if anything did: OUT_OF_RANGE at
  // the end of the input.
  absl::Status Stop();

 private:
  void PullAll(Session& session, const Feeds& feeds, int64_t step);
  // Lets the step behind the last batch fail with `status`.
  void Tell(Session& session, const absl::Status& status) const;

  std::vector<EmbeddingPull> pulls_;
  std::vector<Output> others_;
  Output code_, message_;
  Operation enqueue_, fail_, close_, close_now_, destroy_;
  Session* session_ = nullptr;  // while the thread is there
  std::thread thread_;
  std::unique_ptr<absl::Notification> ended_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;  // the thread's, until it is joined
};

}  // namespace weir
