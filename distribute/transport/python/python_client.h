// The task's end of a stream to a client that serves Python functions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/kernel/python_functions.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/message_stream.h"
#include "weir/python.pb.h"

namespace weir {

// Thread-safe. Lives as long as its stream, and as long as its service lists it. `done` of a call runs on the polling
// thread that takes the client's answer, on the one that cancels, or on a timer's. A call that ends before its message
// is written is not sent.
class PythonClient : public MessageStream::Listener, public std::enable_shared_from_this<PythonClient> {
 public:
  // Of the messages that wait for a client that reads slowly. A call that would exceed it is RESOURCE_EXHAUSTED, unless
  // none waits.
  static constexpr size_t kMaxQueuedBytes = size_t{1} << 30;

  struct Options {
    std::shared_ptr<MessageStream> stream;
    TimerQueue* timers = nullptr;  // outlives the stream
    // The stream of a client that sends no greeting for that long is ended.
    absl::Duration greeting_timeout = absl::Seconds(30);
    // Takes the client's first message and returns the answer; an error rejects the client.
    std::function<absl::StatusOr<ServePythonResponse>(const std::shared_ptr<PythonClient>& client,
                                                      const ServePythonRequest& request)>
        greet;
    // The stream has ended, also that of a rejected client.
    std::function<void(const PythonClient* client)> ended;
  };
  explicit PythonClient(Options options) : options_(std::move(options)) {}

  void Start();
  // As PythonFunctions::CallAsync.
  void CallAsync(PythonFunctionCall call, absl::Duration timeout, CancellationManager* cancellation,
                 PythonFunctions::DoneCallback done);
  // Ends the stream. Its calls, and later ones, get `reason`.
  void End(const absl::Status& reason);

  // MessageStream::Listener
  void OnReady() override { options_.stream->Read(); }
  void OnMessage(const grpc::ByteBuffer& message) override;
  void OnWritten() override;
  void OnEnd(const absl::Status& status) override;

 private:
  struct Pending {
    PythonFunctions::DoneCallback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token cancel_token = CancellationManager::kInvalidToken;
    TimerQueue::Token timer;
  };

  void EndUnlessGreeted();
  void Greet(const grpc::ByteBuffer& message);
  // An error if the call cannot be made: `done` is then still the caller's.
  absl::Status Add(uint64_t id, absl::Duration timeout, CancellationManager* cancellation,
                   PythonFunctions::DoneCallback* done);
  // Completes a call, unless it is completed already.
  void Finish(uint64_t id, absl::StatusOr<std::vector<Tensor>> result);
  // Completes all calls, and those that come later.
  void FailAll(const absl::Status& status);
  // Writes the message of a pending call, or queues it.
  void Write(uint64_t id, grpc::ByteBuffer message);

  const Options options_;
  Mutex mu_;
  bool is_greeted_ GUARDED_BY(mu_) = false;
  absl::Status end_ GUARDED_BY(mu_);  // OK until the stream is ending
  bool is_writing_ GUARDED_BY(mu_) = false;
  std::map<uint64_t, grpc::ByteBuffer> to_write_ GUARDED_BY(mu_);  // by call, in the order of the calls
  size_t queued_bytes_ GUARDED_BY(mu_) = 0;                        // of to_write_
  uint64_t last_id_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, Pending> pending_ GUARDED_BY(mu_);
};

}  // namespace weir
