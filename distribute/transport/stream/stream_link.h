// A FrameLink over a gRPC stream, between hosts or within one.
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

// Thread-safe, as FrameLink.
// - Frames that queue up while a message is written leave together in the next message.
// - Bytes in flight or not yet released by the receiver never exceed the window that the receiver announced; the rest
//   waits at the sender. So a peer that does not read, or that floods, costs no more than that. A peer that keeps
//   requesting without giving credit for the answers loses the link.
// - A killed peer is detected when its connection closes, a hung one when none of its bytes has come for seven seconds:
//   a message may take longer. Both, and malformed messages, break the link with UNAVAILABLE.
// - gRPC releases what it has started to send with the link's last owner.
// - Each link has its own greeting, so a restarted task is always greeted again.
class StreamLink : public FrameLink, public MessageStream::Listener, public std::enable_shared_from_this<StreamLink> {
 public:
  static constexpr int kTickMillis = 250;
  // This end's window.
  static constexpr uint64_t kWindowBytes = 8 << 20;
  static constexpr uint64_t kMinWindowBytes = 1 << 20;

  // What the peer's first message says, and the receiver for it.
  struct Peer {
    std::string task;  // "/job:worker/replica:0/task:1"
    LinkUse use = LinkUse::BUFFERS;
    uint64_t window_bytes = 0;
    std::shared_ptr<FrameLink::Receiver> receiver;
    grpc::ByteBuffer reply;  // the called end's first message
  };
  using Greet =
      std::function<absl::StatusOr<Peer>(const std::shared_ptr<FrameLink>& link, const grpc::ByteBuffer& message)>;
  using Opened = std::function<void(const absl::Status& status)>;
  struct Options {
    std::shared_ptr<MessageStream> stream;
    StreamLinks* links = nullptr;  // outlives the link
    std::string peer_name;         // for messages, until the peer has named itself
    grpc::ByteBuffer greeting;     // the calling end's first message
    bool is_asker = false;
    Greet greet;  // called at most once, and not after `opened`
    // Called once: frames can be sent, or the reason why not. May be null.
    Opened opened;
  };

  explicit StreamLink(Options options);

  void Start();

  // FrameLink
  void Send(const FrameHead& head, ReceivedBytes bytes) override;
  uint64_t max_frame_bytes() const override { return max_frame_bytes_.load(std::memory_order_relaxed); }
  bool is_full() const override;
  void Break(const absl::Status& status) override;
  const char* route() const override { return "through a stream"; }
  grpc::Slice Keep(ReceivedBytes bytes) override;
  void RunElsewhere(absl::AnyInvocable<void()> work) override { StreamLinks::RunElsewhere(std::move(work)); }

  // Called every kTickMillis: breaks the link if its peer hangs.
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
  // As Break; a peer that called and got no answer yet receives the status.
  void Reject(const absl::Status& status);
  void BreakOnce(const absl::Status& status, bool rejects);
  void TakeMessage(const grpc::ByteBuffer& message);
  absl::Status TakeFrame(FrameLink::Receiver& receiver, const StreamFrameHead& head, std::vector<grpc::Slice> pieces);
  absl::Status TakeCredit(uint64_t credit);
  void Deliver(FrameLink::Receiver& receiver, const FrameHead& head, std::vector<grpc::Slice> pieces);
  // The bytes of a frame; releasing them returns `credit` to the peer.
  ReceivedBytes Hold(grpc::Slice bytes, uint64_t credit);
  // The receiver has released bytes: the peer may send as many more.
  void GiveBack(uint64_t credit);
  // Starts writing queued frames unless a message is being written.
  void WriteSoon();
  // Writes the next message; for the thread that has set is_writing_.
  void WriteNext();
  StreamMessageWriter NextMessage() REQUIRES(mu_);
  void AddFrame(SendLanes::Frame frame, StreamMessageWriter& writer) REQUIRES(mu_);
  bool HasCreditFor(const SendLanes::Frame* frame) const REQUIRES(mu_);
  // True if more of a message has arrived than when it was asked before.
  bool HearsBytes();
  absl::Status Lost(absl::string_view what) const;
  std::shared_ptr<FrameLink::Receiver> receiver() const;

  Options options_;  // its functions are guarded by mu_
  std::atomic<bool> is_broken_{false};
  std::atomic<bool> is_greeted_{false};
  std::atomic<uint64_t> max_frame_bytes_{0};
  std::atomic<uint64_t> frames_sent_{0}, bytes_sent_{0}, frames_received_{0}, bytes_received_{0};
  // In ticks rather than time, so that a process that was stopped does not consider its peers hung.
  std::atomic<int> silent_ticks_{0};   // since a message, or a part of one, arrived
  std::atomic<int> idle_ticks_{0};     // since a message was sent
  uint64_t bytes_heard_ = 0;           // from the peer at the last count; for Tick
  std::atomic<uint64_t> taken_{0};     // window bytes in frames that were not released
  std::atomic<uint64_t> returned_{0};  // window bytes released, but not yet returned to the peer as credit
  mutable Mutex mu_;
  std::string peer_name_ GUARDED_BY(mu_);
  LinkUse use_ GUARDED_BY(mu_) = LinkUse::BUFFERS;
  std::shared_ptr<FrameLink::Receiver> receiver_ GUARDED_BY(mu_);
  grpc::ByteBuffer first_ GUARDED_BY(mu_);  // sent before all frames
  SendLanes lanes_ GUARDED_BY(mu_);
  uint64_t credit_ GUARDED_BY(mu_) = 0, peer_window_ GUARDED_BY(mu_) = 0;
  bool is_ready_ GUARDED_BY(mu_) = false;
  bool is_writing_ GUARDED_BY(mu_) = false;
  bool beat_is_due_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
