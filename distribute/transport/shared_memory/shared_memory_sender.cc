#include <google/protobuf/any.pb.h>

#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/shared_memory/sending_arena.h"

namespace weir {
namespace {

constexpr absl::Duration kSweepInterval = absl::Seconds(5);
// Pages that are unused for this long return to the system.
constexpr absl::Duration kIdle = absl::Seconds(30);
// Offers cost their maker nothing. Beyond this many, tensors are sent in messages until the next sweep.
constexpr size_t kMaxArenas = 1024;

std::string Packed(const SharedMemoryReply& reply) {
  google::protobuf::Any any;
  any.PackFrom(reply);
  return any.SerializeAsString();
}

}  // namespace

SharedMemorySender::~SharedMemorySender() {
  TimerQueue::Token sweep;
  {
    MutexLock lock(mu_);
    closed_ = true;
    if (!sweep_is_due_) return;
    sweep = sweep_;
  }
  timers_->Cancel(sweep);
}

std::string SharedMemorySender::Write(const std::string& transport_options, const Tensor& tensor, bool* written) {
  *written = false;
  google::protobuf::Any any;
  SharedMemoryOffer offer;
  if (!any.ParseFromString(transport_options) || !any.UnpackTo(&offer)) return "";
  SharedMemoryReply reply;
  reply.set_outcome(SharedMemoryReply::IN_MESSAGE);
  if (IsPlainType(tensor.dtype()) && tensor.IsInitialized() && tensor.TotalBytes() >= kMinBytes) {
    const Entry entry = Find(offer);
    if (entry.arena == nullptr) {
      reply.set_outcome(entry.rejection);
    } else if (entry.arena->Write(tensor, &reply)) {
      reply.set_outcome(SharedMemoryReply::WRITTEN);
      *written = true;
      if (metrics_ != nullptr) metrics_->shared_tensors.sent.Add(tensor.TotalBytes());
    }
  }
  return Packed(reply);
}

SharedMemorySender::Entry SharedMemorySender::Find(const SharedMemoryOffer& offer) {
  MutexLock lock(mu_);
  auto found = arenas_.find(offer.token());
  if (found == arenas_.end()) {
    if (arenas_.size() >= kMaxArenas) return Entry{.rejection = SharedMemoryReply::IN_MESSAGE};
    Entry entry;
    absl::StatusOr<std::shared_ptr<SendingArena>> arena = SendingArena::Open(offer);
    if (arena.ok()) {
      entry.arena = *std::move(arena);
    } else if (absl::IsAlreadyExists(arena.status())) {
      entry.rejection = SharedMemoryReply::TAKEN;
    }
    found = arenas_.emplace(offer.token(), std::move(entry)).first;
    ScheduleSweep();
  }
  found->second.last_used = MonotonicNow();
  return found->second;
}

void SharedMemorySender::ScheduleSweep() {
  if (sweep_is_due_ || closed_) return;
  sweep_is_due_ = true;
  sweep_ = timers_->Schedule(MonotonicNow() + kSweepInterval, [this] { Sweep(); });
}

void SharedMemorySender::Sweep() {
  std::vector<std::shared_ptr<SendingArena>> dropped, idle;
  {
    MutexLock lock(mu_);
    const absl::Time now = MonotonicNow();
    for (auto it = arenas_.begin(); it != arenas_.end();) {
      const Entry& entry = it->second;
      const bool is_idle = now - entry.last_used > kIdle;
      const bool drop = entry.arena == nullptr ? is_idle : entry.arena->IsAbandoned();
      if (drop) {
        dropped.push_back(entry.arena);
        arenas_.erase(it++);
        continue;
      }
      if (is_idle) idle.push_back(entry.arena);
      ++it;
    }
    sweep_is_due_ = false;
    if (!arenas_.empty()) ScheduleSweep();
  }
  for (const auto& arena : idle) arena->Trim();
}

}  // namespace weir
