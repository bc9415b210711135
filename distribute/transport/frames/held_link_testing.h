// A link that a test controls.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distribute/transport/frames/frame_link.h"

namespace weir {

// Keeps sent frames in the sender's memory, as full links do, until the test delivers them.
class HeldLink : public FrameLink {
 public:
  struct Sent {
    FrameHead head;
    ReceivedBytes bytes;
  };

  void Send(const FrameHead& head, ReceivedBytes bytes) override {
    if (const auto before = std::exchange(before_send, nullptr)) before();
    sent.push_back({head, std::move(bytes)});
  }
  uint64_t max_frame_bytes() const override { return 1000; }
  const char* route() const override { return "by hand"; }
  grpc::Slice Keep(ReceivedBytes bytes) override { return CopyOf(bytes); }
  void RunElsewhere(absl::AnyInvocable<void()> work) override { work(); }
  void Break(const absl::Status& status) override {
    if (broken) return;
    broken = status;
    if (receiver != nullptr) std::exchange(receiver, nullptr)->OnBroken(status);
  }
  // Each frame that this end has sent arrives at `peer`.
  void DeliverTo(FrameLink::Receiver& peer) {
    for (const Sent& frame : std::exchange(sent, {})) {
      const absl::Span<const char> bytes = frame.bytes.bytes();
      peer.OnFrame(frame.head, OwnedBytes(std::string(bytes.data(), bytes.size())));
    }
  }

  std::function<void()> before_send;  // once, as if another thread were faster
  std::vector<Sent> sent;
  std::optional<absl::Status> broken;
  std::shared_ptr<Receiver> receiver;
};

}  // namespace weir
