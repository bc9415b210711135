// Wakes a process that polls shared memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "distribute/transport/shared_memory/shared_segment.h"

namespace weir {

// Each process has one, which all its peers ring. Ringing costs one load, unless the owner sleeps or is about to.
// Thread-safe.
// No write is missed: a peer writes first and then rings; the owner arms first and then checks for writes. All four
// operations are sequentially consistent.
class Doorbell {
 public:
  static absl::StatusOr<std::unique_ptr<Doorbell>> Create();
  // Opens another process's doorbell.
  static absl::StatusOr<std::unique_ptr<Doorbell>> Open(const SharedSegmentName& name);

  // For peers.
  void Ring();
  // Counts the owner's signs of life.
  uint64_t Heartbeats() const { return state()->heartbeats.load(std::memory_order_relaxed); }
  bool OwnerIsGone() const { return segment_->MakerIsGone(); }

  // For the owner.
  const SharedSegmentName& name() const { return segment_->name(); }
  void Arm() { state()->is_armed.store(1); }
  void Disarm() { state()->is_armed.store(0); }
  bool IsArmed() const { return state()->is_armed.load() != 0; }
  uint32_t Rings() const { return state()->rings.load(); }
  // Sleeps until it has been rung more often than `rings`. May return early.
  void Sleep(uint32_t rings, absl::Duration at_most);
  void Beat() { state()->heartbeats.fetch_add(1, std::memory_order_relaxed); }
  // Wakes one of the owner's sleeping threads, or all.
  void WakeOne();
  void WakeAll();

 private:
  struct State {
    std::atomic<uint32_t> rings;
    std::atomic<uint32_t> is_armed;
    std::atomic<uint64_t> heartbeats;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

  explicit Doorbell(std::unique_ptr<SharedSegment> segment) : segment_(std::move(segment)) {}
  State* state() const { return reinterpret_cast<State*>(segment_->data()); }

  const std::unique_ptr<SharedSegment> segment_;
};

}  // namespace weir
