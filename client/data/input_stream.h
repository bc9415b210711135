// Feeds elements from this process to a dataset, which may be in another process.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/data/dataset.h"
#include "client/session.h"
#include "core/api.h"
#include "core/mutex.h"

namespace WEIR_API weir {

// A queue on a task, and the dataset of its elements: unlimited input for online learning. A value type.
// - Steps that request an element wait until there is one; Push waits while the queue is full.
// - Queued elements are lost with the task, and are not part of checkpoints.
class InputStream {
 public:
  // Adds ops to the scope's graph, on the scope's device.
  InputStream(const Scope& scope, const TensorSpecs& element, int64_t capacity, const std::string& name = "stream");

  const Dataset& dataset() const { return dataset_; }

  // Thread-safe. CANCELLED or ABORTED if the stream is closed, InvalidArgument if the element's types or shapes do not
  // match.
  absl::Status Push(Session& session, const std::vector<Tensor>& element) const;
  // The dataset ends after the elements pushed so far.
  absl::Status Close(Session& session) const;
  // Like Close, but the step that would reach the end fails with InvalidArgument and the message of `error`.
  absl::Status Fail(Session& session, const absl::Status& error) const;
  // Also fails waiting calls of Push.
  absl::Status CloseNow(Session& session) const;

 private:
  absl::Status Enqueue(Session& session, const std::vector<Tensor>& element, const std::string& failure) const;

  Dataset dataset_;
  TensorSpecs element_;
  OutputList fed_;  // the element, and an error message, which is empty for an element
  Operation enqueue_, close_, close_now_;
};

// Stores the next element in `element`; false if there is none.
using ElementGenerator = std::function<absl::StatusOr<bool>(std::vector<Tensor>* element)>;

// A thread of this process that calls a generator and pushes its elements to a stream. Closes the stream at the end, or
// fails it with the generator's error. The stream and the session outlive it.
class GeneratorFeed {
 public:
  GeneratorFeed(Session* session, const InputStream* stream, ElementGenerator generator);
  // Closes the stream and waits for the generator's pending call to return.
  ~GeneratorFeed();
  GeneratorFeed(const GeneratorFeed&) = delete;

  // Closes the stream, retrying until that succeeds or the thread ends, and waits. Returns the error of the generator
  // or of the failed push.
  absl::Status Stop();
  // Waits until the generator has ended and returns its error.
  absl::Status Await();

 private:
  absl::Status Feed();
  bool stopping() const;
  // Waits up to `patience` for the thread to finish; returns whether it has.
  bool HasEnded(absl::Duration patience);

  Session* const session_;
  const InputStream* const stream_;
  const ElementGenerator generator_;
  mutable Mutex mu_;
  std::condition_variable ended_;
  bool stopping_ GUARDED_BY(mu_) = false, has_ended_ GUARDED_BY(mu_) = false;
  absl::Status status_;  // set by the thread; read after joining it
  std::thread thread_;
};

}  // namespace weir
