// Elements that this program makes, for a dataset that may live in another process.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/data/dataset.h"
#include "client/session.h"
#include "core/mutex.h"

namespace weir {

// A queue on a task, and the dataset of what comes out of it: input without end for online learning. Steps that ask for
// an element wait until there is one; Push waits while the queue is full. What is in the queue is lost with its task,
// and is not part of a checkpoint. A value, once built.
class InputStream {
 public:
  // Adds ops to the scope's graph, on the scope's device.
  InputStream(const Scope& scope, const TensorSpecs& element, int64_t capacity, const std::string& name = "stream");

  const Dataset& dataset() const { return dataset_; }

  // Thread-safe. CANCELLED or ABORTED when the stream is closed, InvalidArgument for an element of another kind.
  absl::Status Push(Session& session, const std::vector<Tensor>& element) const;
  // The dataset ends after what was pushed.
  absl::Status Close(Session& session) const;
  // The same, but for the step that would see the end: it fails with InvalidArgument and tells `error`.
  absl::Status Fail(Session& session, const absl::Status& error) const;
  // Calls of Push that wait fail too.
  absl::Status CloseNow(Session& session) const;

 private:
  absl::Status Enqueue(Session& session, const std::vector<Tensor>& element, const std::string& failure) const;

  Dataset dataset_;
  TensorSpecs element_;
  OutputList fed_;  // an element, and why there is none: empty where there is one
  Operation enqueue_, close_, close_now_;
};

// Puts the next element into `element`; false when there is none.
using ElementGenerator = std::function<absl::StatusOr<bool>(std::vector<Tensor>* element)>;

// A thread of this process that calls a generator and pushes what it gives into a stream, which it closes at the end,
// or fails with the generator's error. The stream and the session outlive it.
class GeneratorFeed {
 public:
  GeneratorFeed(Session* session, const InputStream* stream, ElementGenerator generator);
  // Closes the stream and waits for the generator's call to return.
  ~GeneratorFeed();
  GeneratorFeed(const GeneratorFeed&) = delete;

  // Closes the stream, again until that succeeds or the thread ends, and waits; the generator's error, or that of the
  // push that failed.
  absl::Status Stop();
  // Waits until the generator has ended; its error.
  absl::Status Await();

 private:
  absl::Status Feed();
  bool stopping() const;
  // Whether the thread has done its work; waits for that so long.
  bool HasEnded(absl::Duration patience);

  Session* const session_;
  const InputStream* const stream_;
  const ElementGenerator generator_;
  mutable Mutex mu_;
  std::condition_variable ended_;
  bool stopping_ GUARDED_BY(mu_) = false, has_ended_ GUARDED_BY(mu_) = false;
  absl::Status status_;  // of the thread; read after it was joined
  std::thread thread_;
};

}  // namespace weir
