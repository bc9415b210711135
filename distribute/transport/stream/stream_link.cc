#include "distribute/transport/stream/stream_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "distribute/transport/frames/frame_limits.h"

namespace weir {
namespace {

// As large as a ring's.
constexpr uint64_t kMaxFrameBytes = 2 << 20;
// The parts of a long answer; other frames may leave between two parts.
constexpr uint64_t kMaxCallFrameBytes = 512 << 10;
// A message reaches this size with its last frame.
constexpr size_t kMessageBytes = 512 << 10;
// Credit is returned at once from this amount on, and smaller amounts with other frames.
constexpr uint64_t kCreditToSend = StreamLink::kWindowBytes / 4;
constexpr uint64_t kCreditToAdd = StreamLink::kWindowBytes / 16;
// Without a sign of life for this long the peer is considered hung, as with gRPC's pings.
constexpr int kSilentTicks = 7000 / StreamLink::kTickMillis;
// After this much of it, Tick counts the bytes that have arrived.
constexpr int kSuspiciousTicks = kSilentTicks / 2;
// Of a message; less may be gRPC's own traffic, which says little.
constexpr uint64_t kSignOfLifeBytes = 4 << 10;
constexpr int kIdleTicks = 2000 / StreamLink::kTickMillis;
// The most answers that may be queued. A requester has at most half as many pending requests, but answers to cancelled
// ones count too.
constexpr size_t kMaxAnswers = 2 * kMaxChannels;
// Below this size, keeping the slice would retain gRPC's whole read buffer.
constexpr size_t kWorthKeeping = 4 << 10;

}  // namespace

// Window bytes in use by a receiver.
struct StreamLink::Held {
  Held(std::shared_ptr<StreamLink> held_by, grpc::Slice held_slice, uint64_t held_credit)
      : link(std::move(held_by)), slice(std::move(held_slice)), credit(held_credit) {}
  ~Held() {
    if (credit > 0) link->GiveBack(credit);
  }
  Held(const Held&) = delete;

  const std::shared_ptr<StreamLink> link;
  const grpc::Slice slice;
  const uint64_t credit;
};

StreamLink::StreamLink(Options options) : options_(std::move(options)), peer_name_(options_.peer_name) {}

void StreamLink::Start() {
  const absl::Status added = options_.links->Add(shared_from_this());
  if (!added.ok()) return Reject(added);
  options_.stream->Start(shared_from_this());
}

std::shared_ptr<FrameLink::Receiver> StreamLink::receiver() const {
  MutexLock lock(mu_);
  return receiver_;
}

void StreamLink::OnReady() {
  {
    MutexLock lock(mu_);
    is_ready_ = true;
    first_ = options_.greeting;
  }
  WriteSoon();
  options_.stream->Read();
}

void StreamLink::OnMessage(const grpc::ByteBuffer& message) {
  const StreamLinks::FrameReadingScope scope(options_.links, /*may_compute=*/true);
  silent_ticks_.store(0, std::memory_order_relaxed);
  is_greeted_.load() ? TakeMessage(message) : Greeted(message);
  if (!is_broken()) options_.stream->Read();
}

absl::StatusOr<StreamLink::Peer> StreamLink::PeerOf(const Greet& greet, const grpc::ByteBuffer& greeting) {
  ASSIGN_OR_RETURN(Peer peer, greet(shared_from_this(), greeting));
  if (peer.window_bytes >= kMinWindowBytes) return peer;
  return errors::InvalidArgument("Task ", peer.task, " has a window of ", peer.window_bytes,
                                 " bytes for a stream; the minimum is ", kMinWindowBytes);
}

void StreamLink::Greeted(const grpc::ByteBuffer& message) {
  Greet greet;
  Opened opened;
  {
    MutexLock lock(mu_);
    if (is_broken()) return;
    // From now on this thread reports a break: `greet` and `opened` share state.
    greet.swap(options_.greet);
    opened.swap(options_.opened);
  }
  absl::StatusOr<Peer> peer = PeerOf(greet, message);
  const absl::Status status = peer.ok() ? Open(*std::move(peer)) : peer.status();
  if (!status.ok()) Reject(status);
  if (opened != nullptr) opened(status);
}

absl::Status StreamLink::Open(Peer peer) {
  const uint64_t window = std::min(peer.window_bytes, kWindowBytes);
  max_frame_bytes_.store(std::min(window / 4, peer.use == LinkUse::CALLS ? kMaxCallFrameBytes : kMaxFrameBytes));
  {
    MutexLock lock(mu_);
    if (is_broken()) return errors::Unavailable("The link with task ", peer.task, " broke while it was opened");
    peer_name_ = std::move(peer.task);
    use_ = peer.use;
    receiver_ = std::move(peer.receiver);
    credit_ = peer_window_ = window;
    if (!options_.is_asker) first_ = peer.reply;
  }
  is_greeted_.store(true);
  WriteSoon();
  return absl::OkStatus();
}

void StreamLink::TakeMessage(const grpc::ByteBuffer& message) {
  const std::shared_ptr<FrameLink::Receiver> receiver = this->receiver();
  if (receiver == nullptr) return;  // the link is broken
  absl::Status violation;
  const absl::Status read = ReadStreamMessage(message, kMaxFrameBytes, [&](const StreamFrameHead& head, auto pieces) {
    violation = TakeFrame(*receiver, head, std::move(pieces));
    return violation.ok() && !is_broken();
  });
  violation.Update(read);
  if (!violation.ok()) Break(Lost(absl::StrCat(" lost its link: it sent ", violation.message())));
}

absl::Status StreamLink::TakeFrame(FrameLink::Receiver& receiver, const StreamFrameHead& head,
                                   std::vector<grpc::Slice> pieces) {
  if (head.kind == kCreditFrame) return TakeCredit(head.size);
  if (head.kind == kBeatFrame) return absl::OkStatus();
  const uint64_t credit = CreditFor(head.size);
  if (taken_.fetch_add(credit) + credit > kWindowBytes) {
    return errors::ResourceExhausted("more than the ", kWindowBytes, " bytes that it had credit for");
  }
  frames_received_.fetch_add(1, std::memory_order_relaxed);
  bytes_received_.fetch_add(head.size, std::memory_order_relaxed);
  Deliver(receiver, {static_cast<FrameKind>(head.kind), head.channel}, std::move(pieces));
  return absl::OkStatus();
}

absl::Status StreamLink::TakeCredit(uint64_t credit) {
  {
    MutexLock lock(mu_);
    if (credit > peer_window_ - credit_) return errors::InvalidArgument("credit beyond its window");
    credit_ += credit;
  }
  WriteSoon();
  return absl::OkStatus();
}

ReceivedBytes StreamLink::Hold(grpc::Slice bytes, uint64_t credit) {
  auto held = std::make_unique<Held>(shared_from_this(), std::move(bytes), credit);
  const absl::Span<const char> span(reinterpret_cast<const char*>(held->slice.begin()), held->slice.size());
  return {span, [held = std::move(held)] {}};
}

void StreamLink::Deliver(FrameLink::Receiver& receiver, const FrameHead& head, std::vector<grpc::Slice> pieces) {
  size_t size = 0;
  for (const grpc::Slice& piece : pieces) size += piece.size();
  const uint64_t credit = CreditFor(size);
  if (head.kind == FrameKind::kPart && size > 0) {
    // Not copied, since they will be assembled anyway. Kept until all parts have arrived, which the request allowed.
    for (grpc::Slice& piece : pieces) receiver.OnFrame(head, Hold(std::move(piece), /*credit=*/0));
    return GiveBack(credit);
  }
  if (pieces.size() == 1) return receiver.OnFrame(head, Hold(std::move(pieces.front()), credit));
  grpc::Slice joined(size);
  size_t at = 0;
  for (const grpc::Slice& piece : pieces) {
    std::memcpy(const_cast<uint8_t*>(joined.begin()) + at, piece.begin(), piece.size());
    at += piece.size();
  }
  receiver.OnFrame(head, Hold(std::move(joined), credit));
}

grpc::Slice StreamLink::Keep(ReceivedBytes bytes) {
  const absl::Span<const char> span = bytes.bytes();
  if (span.size() < kWorthKeeping) return CopyOf(bytes);
  auto kept = std::make_unique<ReceivedBytes>(std::move(bytes));
  return {const_cast<char*>(span.data()), span.size(), [](void* held) { delete static_cast<ReceivedBytes*>(held); },
          kept.release()};
}

void StreamLink::GiveBack(uint64_t credit) {
  if (returned_.fetch_add(credit) + credit >= kCreditToSend) WriteSoon();
}

void StreamLink::Send(const FrameHead& head, ReceivedBytes bytes) {
  bool takes_no_answers = false;
  {
    MutexLock lock(mu_);
    if (is_broken()) return;
    lanes_.Push(head, std::move(bytes));
    takes_no_answers = lanes_.answers() > kMaxAnswers;
    if (!takes_no_answers && (!is_ready_ || std::exchange(is_writing_, true))) return;
  }
  if (takes_no_answers) return Break(Lost(" lost its link: it asks, and does not take the answers"));
  WriteNext();
}

bool StreamLink::is_full() const {
  MutexLock lock(mu_);
  return lanes_.bytes() >= kWindowBytes;
}

void StreamLink::WriteSoon() {
  {
    MutexLock lock(mu_);
    if (is_broken() || !is_ready_ || std::exchange(is_writing_, true)) return;
  }
  WriteNext();
}

void StreamLink::OnWritten() { WriteNext(); }

void StreamLink::WriteNext() {
  StreamMessageWriter writer;
  grpc::ByteBuffer message;
  {
    MutexLock lock(mu_);
    if (first_.Valid()) {
      message.Swap(&first_);
    } else {
      writer = NextMessage();
      is_writing_ = writer.size() > 0 && !is_broken();
      if (!is_writing_) return;
    }
  }
  idle_ticks_.store(0, std::memory_order_relaxed);
  if (writer.size() > 0) message = writer.Finish();
  options_.stream->Write(message);
}

bool StreamLink::HasCreditFor(const SendLanes::Frame* frame) const {
  return frame == nullptr || CreditFor(frame->bytes.bytes().size()) <= credit_;
}

void StreamLink::AddFrame(SendLanes::Frame frame, StreamMessageWriter& writer) {
  const size_t size = frame.bytes.bytes().size();
  credit_ -= CreditFor(size);
  frames_sent_.fetch_add(1, std::memory_order_relaxed);
  bytes_sent_.fetch_add(size, std::memory_order_relaxed);
  writer.Add(frame.head, std::move(frame.bytes));
}

StreamMessageWriter StreamLink::NextMessage() {
  StreamMessageWriter writer;
  if (std::exchange(beat_is_due_, false)) writer.AddBeat();
  if (returned_.load() >= kCreditToAdd) {
    const uint64_t credit = returned_.exchange(0);
    taken_.fetch_sub(credit);
    writer.AddCredit(credit);
  }
  while (lanes_.NextSmall() != nullptr && HasCreditFor(lanes_.NextSmall()) && writer.size() < SendLanes::kSmallBytes) {
    AddFrame(lanes_.PopSmall(), writer);
  }
  // A lane without credit must not let the other use up the credit that arrives.
  if (!HasCreditFor(lanes_.NextSmall())) return writer;
  while (lanes_.NextLarge() != nullptr && HasCreditFor(lanes_.NextLarge()) && writer.size() < kMessageBytes) {
    AddFrame(lanes_.PopLarge(), writer);
  }
  return writer;
}

absl::Status StreamLink::Lost(absl::string_view what) const {
  MutexLock lock(mu_);
  return WithOrigin(errors::Unavailable("Task ", peer_name_, what), {.task = peer_name_});
}

void StreamLink::Reject(const absl::Status& status) { BreakOnce(status, /*rejects=*/!options_.is_asker); }

void StreamLink::Break(const absl::Status& status) { BreakOnce(status, /*rejects=*/false); }

void StreamLink::BreakOnce(const absl::Status& status, bool rejects) {
  const std::shared_ptr<StreamLink> self = shared_from_this();
  std::shared_ptr<FrameLink::Receiver> receiver;
  Opened opened;
  SendLanes waiting;
  {
    MutexLock lock(mu_);
    if (is_broken_.exchange(true)) return;
    receiver.swap(receiver_);
    opened.swap(options_.opened);
    std::swap(waiting, lanes_);
  }
  rejects ? options_.stream->Reject(status) : options_.stream->Cancel();
  options_.links->Remove(this);
  if (opened != nullptr) opened(status);
  if (receiver != nullptr) receiver->OnBroken(status);
}

void StreamLink::OnEnd(const absl::Status& status) {
  Break(is_greeted_.load() ? Lost(absl::StrCat(" has died or closed its stream (", status.message(), ")")) : status);
  options_.links->Ended();
}

bool StreamLink::HearsBytes() {
  const uint64_t before = bytes_heard_;
  const uint64_t now = options_.stream->BytesFromPeer();
  const bool is_first = before == 0;
  if (!is_first && now >= before && now - before < kSignOfLifeBytes) return false;
  bytes_heard_ = now;
  return !is_first && now > before;
}

void StreamLink::Tick(absl::Time now) {
  const bool is_greeted = is_greeted_.load();
  const int silent_ticks = silent_ticks_.fetch_add(1);
  if (silent_ticks >= kSuspiciousTicks && HearsBytes()) {
    silent_ticks_.store(0);
  } else if (silent_ticks >= kSilentTicks) {
    const absl::Status silent = Lost(" does not answer");
    return Break(is_greeted ? silent : absl::DeadlineExceededError(silent.message()));
  }
  if (is_greeted && idle_ticks_.fetch_add(1) >= kIdleTicks) {
    {
      MutexLock lock(mu_);
      beat_is_due_ = true;
    }
    WriteSoon();
  }
  if (const auto receiver = this->receiver(); receiver != nullptr) receiver->OnTick(now);
}

void StreamLink::Describe(ListLinksResponse::Link* description) const {
  {
    MutexLock lock(mu_);
    description->set_task(peer_name_);
    description->set_use(use_);
  }
  description->set_transport("gRPC stream");
  description->set_accepted(!options_.is_asker);
  description->set_frames_sent(frames_sent_.load(std::memory_order_relaxed));
  description->set_bytes_sent(bytes_sent_.load(std::memory_order_relaxed));
  description->set_frames_received(frames_received_.load(std::memory_order_relaxed));
  description->set_bytes_received(bytes_received_.load(std::memory_order_relaxed));
}

}  // namespace weir
