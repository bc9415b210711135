#include "distribute/transport/stream/send_lanes.h"

#include <utility>

namespace weir {
namespace {

bool IsAnswer(FrameKind kind) {
  return kind == FrameKind::kBuffer || kind == FrameKind::kError || kind == FrameKind::kAnswer;
}

}  // namespace

void SendLanes::Push(const FrameHead& head, ReceivedBytes bytes) {
  bytes_ += bytes.bytes().size();
  if (IsAnswer(head.kind)) ++answers_;
  if (bytes.bytes().size() <= kSmallBytes && !large_channels_.contains(head.channel)) {
    small_.push_back({head, std::move(bytes)});
    ++small_pushed_;
    return;
  }
  ++large_channels_[head.channel];
  large_.push_back({{head, std::move(bytes)}, small_pushed_});
}

const SendLanes::Frame* SendLanes::NextLarge() const {
  return large_.empty() || small_popped_ < large_.front().after ? nullptr : &large_.front().frame;
}

void SendLanes::Leaves(const Frame& frame) {
  bytes_ -= frame.bytes.bytes().size();
  if (IsAnswer(frame.head.kind)) --answers_;
}

SendLanes::Frame SendLanes::PopSmall() {
  Frame frame = std::move(small_.front());
  small_.pop_front();
  ++small_popped_;
  Leaves(frame);
  return frame;
}

SendLanes::Frame SendLanes::PopLarge() {
  Frame frame = std::move(large_.front().frame);
  large_.pop_front();
  Leaves(frame);
  const auto channel = large_channels_.find(frame.head.channel);
  if (--channel->second == 0) large_channels_.erase(channel);
  return frame;
}

}  // namespace weir
