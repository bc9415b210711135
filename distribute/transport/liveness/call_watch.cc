#include "distribute/transport/liveness/call_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <grpcpp/client_context.h>

#include "absl/container/flat_hash_map.h"
#include "core/clock.h"

namespace weir {
namespace {

constexpr int kTicks = 14;  // of the patience
// Calls that end sooner cost no look at the peers' bytes.
constexpr int kLongCallTicks = 3;
// Pings are smaller.
constexpr uint64_t kTransferBytes = 4 << 10;

uint64_t Grown(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

// True if the call, which is long, should end.
bool IsSilent(const absl::flat_hash_map<std::string, PeerBytes>& peers, CallWatch::Call& call) {
  const auto found = peers.find(call.peer);
  if (found == peers.end()) return false;  // not connected, or over a Unix socket
  const PeerBytes& now = found->second;
  if (!std::exchange(call.is_known, true)) {
    call.first = call.alive = now;
    call.silent_ticks = call.ticks;
    return false;
  }
  // Both counts shrink when one of several connections with the peer closes.
  const bool shrank = now.received < call.alive.received || now.acknowledged < call.alive.acknowledged;
  if (shrank) call.first = now;
  call.moved = std::max(
      {call.moved, Grown(call.first.received, now.received), Grown(call.first.acknowledged, now.acknowledged)});
  const bool is_sending = now.is_sending && Grown(call.alive.acknowledged, now.acknowledged) >= kTransferBytes;
  if (shrank || is_sending || now.received > call.alive.received) {
    call.alive = now;
    call.silent_ticks = 0;
  }
  return call.is_pinged && ++call.silent_ticks > kTicks;
}

}  // namespace

CallWatch::Token CallWatch::Add(std::shared_ptr<grpc::ClientContext> context, std::string peer, bool is_pinged) {
  MutexLock lock(mu_);
  ScheduleTick();
  return calls_.insert(calls_.end(), {.context = std::move(context), .peer = std::move(peer), .is_pinged = is_pinged});
}

CallWatch::Verdict CallWatch::Remove(Token call) {
  MutexLock lock(mu_);
  const Verdict verdict{.is_long = call->ticks >= kLongCallTicks,
                        .is_silent = call->was_ended,
                        .is_transferring = call->moved >= kTransferBytes};
  calls_.erase(call);
  return verdict;
}

void CallWatch::ScheduleTick() {
  if (std::exchange(is_scheduled_, true)) return;
  timers_.Schedule(MonotonicNow() + patience_ / kTicks, [this] { Tick(); });
}

bool CallWatch::CountTick() {
  bool is_long = false;
  for (Call& call : calls_) is_long |= ++call.ticks >= kLongCallTicks && !call.peer.empty();
  return is_long;
}

void CallWatch::Tick() {
  {
    MutexLock lock(mu_);
    is_scheduled_ = false;
    if (calls_.empty()) return;
    ScheduleTick();
    if (!CountTick()) return;
  }
  const auto peers = BytesOfPeers();
  std::vector<std::shared_ptr<grpc::ClientContext>> ended;
  {
    MutexLock lock(mu_);
    for (Call& call : calls_) {
      if (call.ticks < kLongCallTicks || call.was_ended || !IsSilent(peers, call)) continue;
      call.was_ended = true;
      ended.push_back(call.context);
    }
  }
  for (const auto& context : ended) context->TryCancel();
}

}  // namespace weir
