// Prefetches embedding rows of the next batches while a step computes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "client/embedding/embedding_variable.h"
#include "client/session.h"
#include "core/api.h"

namespace WEIR_API weir {

// Splits a step in two: one pulls rows and puts them, with the other tensors of the batch, into a queue on the worker;
// the other takes them from the queue and computes. The rows that a step sees are up to `ahead` + 1 steps old.
//
//   EmbeddingPrefetch prefetch(worker, {users.Pull(worker, user_keys), items.Pull(worker, item_keys)}, {ratings}, 2);
//   const EmbeddingPull& users_now = prefetch.pulls()[0];
//   // … the training step, of users_now and prefetch.others()[0] …
//   RETURN_IF_ERROR(prefetch.Start(session, feeds, global_step));  // feeds(step) of the placeholders before the queue
//   // … session.Run of training steps …
//   RETURN_IF_ERROR(prefetch.Stop());
//
// With a TrainingLoop, set `options.feeds = prefetch.FollowSteps(session, feeds)` instead of calling Start.
//
// - Start, Stop and the function that FollowSteps returns are called from one thread.
// - A step waits until a batch was pulled.
// - Steps after the last batch fail: with OUT_OF_RANGE at the end of the input and after Stop. If a feed or a pull
//   failed, the first such step fails with that error; so a TrainingLoop recovers from the loss of a parameter server
//   during a pull.
class EmbeddingPrefetch {
 public:
  EmbeddingPrefetch(const Scope& scope, const std::vector<EmbeddingPull>& pulls, const std::vector<Output>& others,
                    int64_t ahead);  // at least 1
  ~EmbeddingPrefetch();

  const std::vector<EmbeddingPull>& pulls() const { return pulls_; }
  const std::vector<Output>& others() const { return others_; }

  // Starts a thread that pulls for step `first` and following ones, until Stop or an error; OUT_OF_RANGE from `feeds`
  // is the end of the input. Drops batches that an earlier run left in the queue. The session outlives it.
  using Feeds = std::function<absl::StatusOr<FeedList>(int64_t step)>;
  absl::Status Start(Session& session, Feeds feeds, int64_t first);
  // Returns a function to be called before each step; it returns no feeds. Pulls start with the first step that it is
  // called for, and restart at a step that does not follow the previous one. The session and this object outlive it.
  Feeds FollowSteps(Session& session, Feeds feeds);
  // Ends the thread; Start may then continue from any step. Returns the error that ended the pulls before, if any:
  // OUT_OF_RANGE at the end of the input.
  absl::Status Stop();

 private:
  void PullAll(Session& session, const Feeds& feeds, int64_t step);
  // Makes the step after the last batch fail with `status`.
  void FailNextStep(Session& session, const absl::Status& status) const;

  std::vector<EmbeddingPull> pulls_;
  std::vector<Output> others_;
  Output code_, message_;
  Operation enqueue_, fail_, close_, close_now_, destroy_;
  Session* session_ = nullptr;  // while the thread exists
  std::thread thread_;
  std::unique_ptr<absl::Notification> ended_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;  // the thread's, until it is joined
};

}  // namespace weir
