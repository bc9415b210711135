// A FrameLink over two shared-memory rings, one in each direction.
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

// Frames are read in place; their memory returns to the peer when the receiver releases them.
// - A dead peer is detected within a fraction of a second, a hung one within seven. Both, and malformed ring content,
//   break the link with UNAVAILABLE.
class RingLink : public FrameLink, public PolledLink, public std::enable_shared_from_this<RingLink> {
 public:
  struct Options {
    LinkUse use = LinkUse::BUFFERS;
    std::shared_ptr<SharedSegment> rings;  // made for `use`
    std::unique_ptr<Doorbell> peer;        // the peer's
    LinkPoller* poller = nullptr;          // outlives the link
    bool is_maker = false;                 // this end made the rings
    std::string peer_name;                 // "/job:worker/replica:0/task:1"
  };
  // Memory for a new link.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> MakeRings(LinkUse use);
  // Opens the peer's rings. AlreadyExists if they were opened before.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> OpenRings(LinkUse use, const SharedSegmentName& name);
  // For memory of a link that failed to open: breaks its other end, which may exist already.
  static void Abandon(const SharedSegment& rings);

  explicit RingLink(Options options);

  // Starts receiving. The link keeps the receiver until it breaks.
  absl::Status Start(std::shared_ptr<Receiver> receiver);

  void Send(const FrameHead& head, ReceivedBytes bytes) override;
  uint64_t max_frame_bytes() const override;
  void Break(const absl::Status& status) override;
  const char* route() const override { return "through a link"; }
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
  // The flags of the request ring are the link's.
  std::atomic<uint32_t>& is_closed() const;
  // Sends frames that waited for room.
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
