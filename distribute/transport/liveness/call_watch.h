// Detects peers that do not answer, by the bytes that they send.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/liveness/peer_bytes.h"

namespace grpc {
class ClientContext;
}

namespace weir {

// Ends calls over pinged TCP connections when no byte has come from the peer for some time. gRPC's own limit on answers
// to pings would end them too, but pings and their answers wait behind large messages on a slow network.
// - A byte received is a sign of life. So are some kilobytes that the peer's system has acknowledged while more wait to
//   be sent: the system of a hung process acknowledges no more than its buffers hold.
// - Time is counted in ticks, so that a process that was stopped does not consider its peers hung.
// - Thread-safe. Uses a timer while calls are pending. No call is pending when it is destroyed.
class CallWatch {
 public:
  struct Call {
    std::shared_ptr<grpc::ClientContext> context;
    std::string peer;  // as PeerOfConnection returns it
    bool is_pinged = false;
    int ticks = 0, silent_ticks = 0;
    bool is_known = false;   // the peer's bytes were counted
    PeerBytes first, alive;  // then, and at the last sign of life
    uint64_t moved = 0;      // since `first`, either way
    bool was_ended = false;
  };
  using Token = std::list<Call>::iterator;
  struct Verdict {
    bool is_long = false;          // a connection to the peer was looked for
    bool is_silent = false;        // the watch has ended the call
    bool is_transferring = false;  // some kilobytes passed while it was pending
  };

  explicit CallWatch(absl::Duration patience) : patience_(patience) {}

  absl::Duration patience() const { return patience_; }
  // A call without a known peer (empty) is never ended.
  Token Add(std::shared_ptr<grpc::ClientContext> context, std::string peer, bool is_pinged);
  Verdict Remove(Token call);

 private:
  void Tick();
  void ScheduleTick() REQUIRES(mu_);
  // Counts a tick for each call. True if one has lasted for long.
  bool CountTick() REQUIRES(mu_);

  const absl::Duration patience_;
  Mutex mu_;
  std::list<Call> calls_ GUARDED_BY(mu_);
  bool is_scheduled_ GUARDED_BY(mu_) = false;
  TimerQueue timers_;
};

}  // namespace weir
