// Requests that clients send again when a connection breaks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include <grpcpp/support/byte_buffer.h>

#include "absl/container/flat_hash_map.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/request_log.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Runs a request once, however often it arrives: a repeat waits for the first and gets its answer. Stock clients send
// RunStep up to eleven times with one request id. Thread-safe; blocks.
// - A request whose callers are all gone is cancelled: after `patience` if they may come again (MayComeAgain), else at
//   once.
// - Answers of up to `max_answer_bytes` are kept, the newest within `max_kept_bytes`. A repeat that comes later is
//   Aborted and says that the request ran.
class RepeatedRequests {
 public:
  struct Options {
    absl::Duration patience = absl::Seconds(2);
    size_t max_answer_bytes = 256 << 10;
    size_t max_kept_bytes = 16 << 20;
    size_t max_known = 65536;  // finished requests remembered
    // Of this and earlier processes; outlives this; may be null. A request that an earlier process received, and may
    // have run, is Aborted.
    RequestLog* log = nullptr;
  };
  using Answer = absl::StatusOr<grpc::ByteBuffer>;
  // Its options have the caller's deadline, and the cancellation of the request.
  using Run = std::function<Answer(const CallOptions& options)>;

  RepeatedRequests() : RepeatedRequests(Options()) {}
  explicit RepeatedRequests(Options options) : options_(options) {}

  // Calls `run` on this thread, or waits for the call of that id which does, until the deadline or cancellation in
  // `options`. With id 0, of a client without ids, `run` is always called.
  Answer RunOnce(int64_t id, absl::string_view method, const CallOptions& options, const Run& run);

 private:
  struct Request;
  class Caller;

  void Finish(int64_t id, const Answer& answer);
  Answer AwaitAnswer(Request& request, int64_t id, absl::string_view method, const CallOptions& options);

  struct Known {
    std::shared_ptr<Request> running;      // null: it has finished
    std::shared_ptr<const Answer> answer;  // null: it has not finished, or its answer is not kept
  };

  const Options options_;
  TimerQueue timers_;
  Mutex mu_;
  absl::flat_hash_map<int64_t, Known> requests_ GUARDED_BY(mu_);
  std::deque<int64_t> known_ GUARDED_BY(mu_);  // finished ones, oldest first
  struct Kept {
    int64_t id = 0;
    size_t bytes = 0;
  };
  std::deque<Kept> kept_ GUARDED_BY(mu_);  // requests whose answers are kept, oldest first
  size_t kept_bytes_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
