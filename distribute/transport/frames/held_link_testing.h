// A link that a test holds in its hands.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distribute/transport/frames/frame_link.h"

namespace weir {

// Keeps what is sent.
class HeldLink : public FrameLink {
 public:
  struct Sent {
    FrameHead head;
    std::string bytes;
  };

  void Send(const FrameHead& head, ReceivedBytes bytes) override {
    sent.push_back({head, std::string(bytes.bytes().data(), bytes.bytes().size())});
  }
  uint64_t max_frame_bytes() const override { return 1000; }
  void RunElsewhere(absl::AnyInvocable<void()> work) override { work(); }
  void Break(const absl::Status& status) override {
    if (broken) return;
    broken = status;
    if (receiver != nullptr) std::exchange(receiver, nullptr)->OnBroken(status);
  }
  // Each frame that this end has sent arrives at `peer`.
  void DeliverTo(FrameLink::Receiver& peer) {
    for (const Sent& frame : std::exchange(sent, {})) peer.OnFrame(frame.head, OwnedBytes(frame.bytes));
  }

  std::vector<Sent> sent;
  std::optional<absl::Status> broken;
  std::shared_ptr<Receiver> receiver;
};

}  // namespace weir
