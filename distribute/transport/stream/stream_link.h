// A FrameLink through a stream of gRPC, between hosts as well as within one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/message_stream.h"
#include "distribute/transport/stream/send_lanes.h"
#include "distribute/transport/stream/stream_links.h"
#include "distribute/transport/stream/stream_message.h"
#include "weir/transport.pb.h"

namespace weir {

// Frames that wait while a message is being written leave together in the next. What is on its way, or has arrived and
// was not let go of, never exceeds the window that its receiver has told: the rest waits with its sender. So a peer
// that reads nothing, or floods, costs no more than that. Frames of different channels may arrive in another order than
// that in which they were sent. A peer that asks on and on, and gives no credit for the answers, loses the link. A peer
// that is killed is missed as soon as its connection is closed, one that hangs within seven seconds; both, and one that
// sends what cannot be, break the link with UNAVAILABLE. gRPC lets go of what it had begun to send with the link's last
// owner. What was said first on the stream is said anew by no later link: a task that has started again is asked again.
class StreamLink : public FrameLink, public MessageStream::Listener, public std::enable_shared_from_this<StreamLink> {
 public:
  static constexpr int kTickMillis = 250;
  // What this end takes in.
  static constexpr uint64_t kWindowBytes = 8 << 20;
  static constexpr uint64_t kMinWindowBytes = 1 << 20;

  // What the peer has said first, and what that leads to.
  struct Peer {
    std::string task;  // "/job:worker/replica:0/task:1"
    LinkUse use = LinkUse::BUFFERS;
    uint64_t window_bytes = 0;
    std::shared_ptr<FrameLink::Receiver> receiver;
    grpc::ByteBuffer reply;  // sent before all frames; where this end was asked
  };
  using Greet =
      std::function<absl::StatusOr<Peer>(const std::shared_ptr<FrameLink>& link, const grpc::ByteBuffer& message)>;
  using Opened = std::function<void(const absl::Status& status)>;
  struct Options {
    std::shared_ptr<MessageStream> stream;
    StreamLinks* links = nullptr;  // outlives the link
    std::string peer_name;         // for messages until the peer has told it
    grpc::ByteBuffer greeting;     // said first; where this end asks
    bool is_asker = false;
    Greet greet;  // at most once, and not after `opened`
    // Once: frames can be sent, or why they never can. May be null.
    Opened opened;
  };

  explicit StreamLink(Options options);

  void Start();

  // FrameLink
  void Send(const FrameHead& head, ReceivedBytes bytes) override;
  uint64_t max_frame_bytes() const override { return max_frame_bytes_.load(std::memory_order_relaxed); }
  bool is_full() const override;
  void Break(const absl::Status& status) override;
  const char* way() const override { return "through a stream"; }
  grpc::Slice Keep(ReceivedBytes bytes) override;
  void RunElsewhere(absl::AnyInvocable<void()> work) override { StreamLinks::RunElsewhere(std::move(work)); }

  // Each kTickMillis: breaks the link when its peer hangs.
  void Tick(absl::Time now);
  void Describe(ListLinksResponse::Link* description) const;

  // MessageStream::Listener
  void OnReady() override;
  void OnMessage(const grpc::ByteBuffer& message) override;
  void OnWritten() override;
  void OnEnd(const absl::Status& status) override;

 private:
  struct Held;

  bool is_broken() const { return is_broken_.load(std::memory_order_acquire); }
  void Greeted(const grpc::ByteBuffer& message);
  absl::StatusOr<Peer> PeerOf(const Greet& greet, const grpc::ByteBuffer& greeting);
  absl::Status Open(Peer peer);
  // As Break; the peer is told why, if it has asked and was said nothing yet.
  void Refuse(const absl::Status& status);
  void BreakOnce(const absl::Status& status, bool refuses);
  void TakeMessage(const grpc::ByteBuffer& message);
  absl::Status TakeFrame(FrameLink::Receiver& receiver, const StreamFrameHead& head, std::vector<grpc::Slice> pieces);
  absl::Status TakeCredit(uint64_t credit);
  void Deliver(FrameLink::Receiver& receiver, const FrameHead& head, std::vector<grpc::Slice> pieces);
  // The bytes of a frame; `credit` goes back to the peer with them.
  ReceivedBytes Hold(grpc::Slice bytes, uint64_t credit);
  // The receiver has let go of bytes: the peer may send as many more.
  void GiveBack(uint64_t credit);
  // Begins to write what waits, unless a message is being written.
  void WriteSoon();
  // The next message; called by whoever has is_writing_.
  void WriteNext();
  StreamMessageWriter NextMessage() REQUIRES(mu_);
  void AddFrame(SendLanes::Frame frame, StreamMessageWriter& writer) REQUIRES(mu_);
  bool HasCreditFor(const SendLanes::Frame* frame) const REQUIRES(mu_);
  absl::Status Lost(absl::string_view what) const;
  std::shared_ptr<FrameLink::Receiver> receiver() const;

  Options options_;  // its functions are under mu_
  std::atomic<bool> is_broken_{false};
  std::atomic<bool> is_greeted_{false};
  std::atomic<uint64_t> max_frame_bytes_{0};
  std::atomic<uint64_t> frames_sent_{0}, bytes_sent_{0}, frames_received_{0}, bytes_received_{0};
  // In ticks, so that a process that was stopped does not think that its peers were.
  std::atomic<int> silent_ticks_{0};   // since something came
  std::atomic<int> idle_ticks_{0};     // since something was sent
  std::atomic<uint64_t> taken_{0};     // of the window, by frames that were not given back
  std::atomic<uint64_t> returned_{0};  // of it, for which the peer has no credit yet
  mutable Mutex mu_;
  std::string peer_name_ GUARDED_BY(mu_);
  LinkUse use_ GUARDED_BY(mu_) = LinkUse::BUFFERS;
  std::shared_ptr<FrameLink::Receiver> receiver_ GUARDED_BY(mu_);
  grpc::ByteBuffer first_ GUARDED_BY(mu_);  // to be sent before all frames
  SendLanes lanes_ GUARDED_BY(mu_);
  uint64_t credit_ GUARDED_BY(mu_) = 0, peer_window_ GUARDED_BY(mu_) = 0;
  bool is_ready_ GUARDED_BY(mu_) = false;
  bool is_writing_ GUARDED_BY(mu_) = false;
  bool beat_is_due_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
