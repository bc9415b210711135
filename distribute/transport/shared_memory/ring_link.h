// A FrameLink through two rings of shared memory, one each way.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/shared_memory/doorbell.h"
#include "distribute/transport/shared_memory/frame_ring.h"
#include "distribute/transport/shared_memory/link_poller.h"

namespace weir {

// Frames are read where they lie: the memory goes back to the peer when the receiver lets go of them. A peer that dies
// is missed within a fraction of a second, one that hangs within seven; both, and one that writes what cannot be, break
// the link with UNAVAILABLE.
class RingLink : public FrameLink, public PolledLink, public std::enable_shared_from_this<RingLink> {
 public:
  struct Options {
    LinkUse use = LinkUse::BUFFERS;
    std::shared_ptr<SharedSegment> rings;  // made for that use
    std::unique_ptr<Doorbell> peer;        // its doorbell
    LinkPoller* poller = nullptr;          // outlives the link
    bool is_maker = false;                 // of the rings
    std::string peer_name;                 // "/job:worker/replica:0/task:1"
  };
  // Memory for a new link.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> MakeRings(LinkUse use);
  // What a peer has made. AlreadyExists for rings that were opened before.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> OpenRings(LinkUse use, const SharedSegmentName& name);
  // Of memory made for a link that does not come about: its other end, which may be there already, is broken.
  static void Abandon(const SharedSegment& rings);

  explicit RingLink(Options options);

  // Begins to receive. The receiver is kept until the link is broken.
  absl::Status Start(std::shared_ptr<Receiver> receiver);

  void Send(const FrameHead& head, ReceivedBytes bytes) override;
  uint64_t max_frame_bytes() const override;
  void Break(const absl::Status& status) override;
  const char* way() const override { return "through a link"; }
  grpc::Slice Keep(ReceivedBytes bytes) override { return CopyOf(bytes); }
  void RunElsewhere(absl::AnyInvocable<void()> work) override { LinkPoller::RunElsewhere(std::move(work)); }

  bool HasWork() override;
  bool Poll() override;
  void CheckPeer() override;
  void Describe(ListLinksResponse::Link* description) const override;

 private:
  struct Waiting {
    FrameHead head;
    ReceivedBytes bytes;
  };
  bool is_broken() const { return is_broken_.load(std::memory_order_acquire); }
  absl::StatusOr<bool> Write(const FrameHead& head, absl::Span<const char> bytes) REQUIRES(send_mu_);
  // The flags of the ring of requests stand for the link.
  std::atomic<uint32_t>& is_closed() const;
  // Sends what has waited for room.
  void Flush();
  void Release(uint64_t begin);
  absl::Status Lost(absl::string_view what) const;
  void BreakFor(absl::string_view what);

  const Options options_;
  FrameRingReader reader_;
  std::atomic<bool> is_broken_{false};
  std::atomic<size_t> num_waiting_{0};
  std::atomic<uint64_t> frames_sent_{0}, bytes_sent_{0}, frames_received_{0}, bytes_received_{0};
  Mutex send_mu_;
  FrameRingWriter writer_;  // HasRoomAgain needs no lock; the rest is guarded by send_mu_
  std::deque<Waiting> waiting_ GUARDED_BY(send_mu_);
  Mutex mu_;
  std::shared_ptr<Receiver> receiver_ GUARDED_BY(mu_);
  uint64_t heartbeats_ GUARDED_BY(mu_) = 0;
  absl::Time heard_ GUARDED_BY(mu_);
};

}  // namespace weir
