// Pulls of the next batches while a step computes.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "client/embedding/embedding_variable.h"
#include "client/session.h"

namespace weir {

// Divides a step in two: one pulls and puts what it pulled, with what else the batch has, into a queue on the worker;
// the other takes it from there and computes. The rows that a step sees are then up to `ahead` + 1 steps old.
//
//   EmbeddingPrefetch prefetch(worker, {users.Pull(worker, user_keys), items.Pull(worker, item_keys)}, {ratings}, 2);
//   const EmbeddingPull& users_now = prefetch.pulls()[0];
//   // … the training step, of users_now and prefetch.others()[0] …
//   prefetch.Start(session, feeds, global_step);  // feeds(step) of the placeholders before the queue
//   // … session.Run of training steps …
//   prefetch.Stop();
//
// Start and Stop are called from one thread. Steps that take more batches than were pulled wait.
class EmbeddingPrefetch {
 public:
  EmbeddingPrefetch(const Scope& scope, const std::vector<EmbeddingPull>& pulls, const std::vector<Output>& others,
                    int64_t ahead);
  ~EmbeddingPrefetch();

  const std::vector<EmbeddingPull>& pulls() const { return pulls_; }
  const std::vector<Output>& others() const { return others_; }

  // Pulls for step `first` and those behind it on a thread of its own, until Stop or an error. The session outlives it.
  using Feeds = std::function<absl::StatusOr<FeedList>(int64_t step)>;
  void Start(Session& session, Feeds feeds, int64_t first);
  // Ends the thread and empties the queue, so that a training can go on from any step. Gives the error that ended the
  // pulls, if one did.
  absl::Status Stop();

 private:
  void PullAll(Session& session, const Feeds& feeds, int64_t step);

  std::vector<EmbeddingPull> pulls_;
  std::vector<Output> others_;
  Operation stage_, clear_;
  Session* session_ = nullptr;  // while the thread is there
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;  // the thread's, until it is joined
};

}  // namespace weir
