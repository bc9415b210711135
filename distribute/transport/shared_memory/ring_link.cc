#include "distribute/transport/shared_memory/ring_link.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/frames/frame_limits.h"

namespace weir {
namespace {

constexpr char kRingsKind[] = "weir-rings";
constexpr size_t kStates = 2 * sizeof(FrameRingState);
static_assert(sizeof(FrameRingState) % kFrameUnit == 0 && SharedSegment::kDataOffset % kFrameUnit == 0);

// Allocated up front for each pair of tasks. Calls carry little; large tensors take another route.
struct Sizes {
  size_t request_bytes = 0, answer_bytes = 0;  // of the rings
  size_t max_answer = 0;                       // per frame; requests are small
  size_t total() const { return kStates + request_bytes + answer_bytes; }
};
constexpr Sizes kForBuffers{size_t{512} << 10, size_t{8} << 20, size_t{2} << 20};
constexpr Sizes kForCalls{size_t{256} << 10, size_t{512} << 10, size_t{128} << 10};
static_assert(kForBuffers.max_answer + kFrameUnit <= kForBuffers.answer_bytes / 2);
static_assert(kForCalls.max_answer + kFrameUnit <= kForCalls.answer_bytes / 2);
static_assert(kMaxCallBytes + kFrameUnit <= kForCalls.request_bytes / 2);

const Sizes& SizesFor(LinkUse use) { return use == LinkUse::CALLS ? kForCalls : kForBuffers; }

// Without a sign of life for this long the peer is considered hung, as with gRPC's pings.
constexpr absl::Duration kSilence = absl::Seconds(7);
// Bounds how long one link makes the others wait.
constexpr int kFramesPerLook = 64;

// Requests go from the maker of the rings to its peer, answers back.
FrameRingState* StateOf(const SharedSegment& rings, bool answers) {
  return reinterpret_cast<FrameRingState*>(rings.data()) + (answers ? 1 : 0);
}
char* FramesOf(const RingLink::Options& link, bool answers) {
  return link.rings->data() + kStates + (answers ? SizesFor(link.use).request_bytes : 0);
}
size_t CapacityOf(const RingLink::Options& link, bool answers) {
  return answers ? SizesFor(link.use).answer_bytes : SizesFor(link.use).request_bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedSegment>> RingLink::MakeRings(LinkUse use) {
  return SharedSegment::Create(kRingsKind, SizesFor(use).total());
}

absl::StatusOr<std::unique_ptr<SharedSegment>> RingLink::OpenRings(LinkUse use, const SharedSegmentName& name) {
  ASSIGN_OR_RETURN(std::unique_ptr<SharedSegment> rings, SharedSegment::Open(kRingsKind, SizesFor(use).total(), name));
  if (StateOf(*rings, false)->is_claimed.exchange(1) != 0)
    return errors::AlreadyExists("The rings have two ends already");
  return rings;
}

void RingLink::Abandon(const SharedSegment& rings) { StateOf(rings, false)->is_closed.store(1); }

RingLink::RingLink(Options options)
    : options_(std::move(options)),
      reader_(StateOf(*options_.rings, options_.is_maker), FramesOf(options_, options_.is_maker),
              CapacityOf(options_, options_.is_maker)),
      writer_(StateOf(*options_.rings, !options_.is_maker), FramesOf(options_, !options_.is_maker),
              CapacityOf(options_, !options_.is_maker)),
      heard_(MonotonicNow()) {}

uint64_t RingLink::max_frame_bytes() const { return SizesFor(options_.use).max_answer; }

std::atomic<uint32_t>& RingLink::is_closed() const { return StateOf(*options_.rings, false)->is_closed; }

absl::Status RingLink::Start(std::shared_ptr<Receiver> receiver) {
  {
    MutexLock lock(mu_);
    receiver_ = std::move(receiver);
  }
  const absl::Status added = options_.poller->Add(shared_from_this());
  if (!added.ok()) Break(added);
  return added;
}

absl::StatusOr<bool> RingLink::Write(const FrameHead& head, absl::Span<const char> bytes) {
  ASSIGN_OR_RETURN(const bool written,
                   writer_.Write({static_cast<uint32_t>(head.kind), head.channel, bytes.size()}, bytes));
  if (!written) return false;
  frames_sent_.fetch_add(1, std::memory_order_relaxed);
  bytes_sent_.fetch_add(bytes.size(), std::memory_order_relaxed);
  return true;
}

void RingLink::Send(const FrameHead& head, ReceivedBytes bytes) {
  if (is_broken()) return;
  absl::StatusOr<bool> written = false;
  {
    MutexLock lock(send_mu_);
    if (waiting_.empty()) written = Write(head, bytes.bytes());
    if (written.ok() && !*written) {
      waiting_.push_back({head, std::move(bytes)});
      num_waiting_.store(waiting_.size());
    }
  }
  if (!written.ok()) return BreakFor(written.status().message());
  if (*written) {
    options_.peer->Ring();
  } else if (is_broken()) {
    Flush();  // no other thread will
  } else if (writer_.HasRoomAgain()) {
    Flush();  // the thread that released memory before the frame was queued has not seen it
  }
}

void RingLink::Flush() {
  std::vector<ReceivedBytes> sent;  // destroyed without the lock
  absl::StatusOr<bool> written = true;
  {
    MutexLock lock(send_mu_);
    while (!waiting_.empty()) {
      Waiting& first = waiting_.front();
      if (!is_broken()) written = Write(first.head, first.bytes.bytes());
      if (!written.ok() || !*written) break;
      sent.push_back(std::move(first.bytes));
      waiting_.pop_front();
    }
    num_waiting_.store(waiting_.size());
  }
  if (!written.ok()) return BreakFor(written.status().message());
  if (!sent.empty() && !is_broken()) options_.peer->Ring();
}

bool RingLink::HasWork() {
  if (is_broken()) return false;
  return reader_.HasFrame() || is_closed().load(std::memory_order_relaxed) != 0 ||
         (num_waiting_.load() > 0 && writer_.HasRoomAgain());
}

bool RingLink::Poll() {
  if (is_broken()) return false;
  if (num_waiting_.load() > 0) Flush();
  std::shared_ptr<Receiver> receiver;
  {
    MutexLock lock(mu_);
    receiver = receiver_;
  }
  for (int i = 0; i < kFramesPerLook && receiver != nullptr && !is_broken(); ++i) {
    absl::StatusOr<std::optional<FrameRingReader::Frame>> frame = reader_.Read();
    if (!frame.ok()) {
      BreakFor(frame.status().message());
      return true;
    }
    if (!*frame) break;
    frames_received_.fetch_add(1, std::memory_order_relaxed);
    bytes_received_.fetch_add((*frame)->bytes.size(), std::memory_order_relaxed);
    receiver->OnFrame(
        {static_cast<FrameKind>((*frame)->head.kind), (*frame)->head.channel},
        ReceivedBytes((*frame)->bytes, [self = shared_from_this(), begin = (*frame)->begin] { self->Release(begin); }));
  }
  // Only after all frames that the peer sent before.
  if (is_closed().load() != 0 && !reader_.HasFrame()) {
    Break(Lost(" closed its link"));
  }
  return true;
}

void RingLink::Release(uint64_t begin) {
  if (reader_.Release(begin)) options_.peer->Ring();
}

absl::Status RingLink::Lost(absl::string_view what) const {
  return WithOrigin(errors::Unavailable("Task ", options_.peer_name, what), {.task = options_.peer_name});
}

void RingLink::BreakFor(absl::string_view what) { Break(Lost(absl::StrCat(" lost its link: ", what))); }

void RingLink::Break(const absl::Status& status) {
  if (is_broken_.exchange(true)) return;
  is_closed().store(1);
  options_.peer->Ring();
  std::shared_ptr<Receiver> receiver;
  {
    MutexLock lock(mu_);
    receiver = std::exchange(receiver_, nullptr);
  }
  const std::shared_ptr<RingLink> self = shared_from_this();
  options_.poller->Remove(this);
  Flush();
  if (receiver != nullptr) receiver->OnBroken(status);
}

void RingLink::CheckPeer() {
  if (options_.peer->OwnerIsGone()) {
    return Break(Lost(" is not there any more: its process has ended"));
  }
  const absl::Time now = MonotonicNow();
  bool is_silent = false;
  {
    MutexLock lock(mu_);
    if (const uint64_t heartbeats = options_.peer->Heartbeats(); heartbeats != heartbeats_) {
      heartbeats_ = heartbeats;
      heard_ = now;
    }
    is_silent = now - heard_ > kSilence;
  }
  if (is_silent) return Break(Lost(" does not answer"));
  std::shared_ptr<Receiver> receiver;
  {
    MutexLock lock(mu_);
    receiver = receiver_;
  }
  if (receiver != nullptr) receiver->OnTick(now);
}

void RingLink::Describe(ListLinksResponse::Link* description) const {
  description->set_task(options_.peer_name);
  description->set_transport("shared memory");
  description->set_use(options_.use);
  description->set_accepted(!options_.is_maker);
  description->set_frames_sent(frames_sent_.load(std::memory_order_relaxed));
  description->set_bytes_sent(bytes_sent_.load(std::memory_order_relaxed));
  description->set_frames_received(frames_received_.load(std::memory_order_relaxed));
  description->set_bytes_received(bytes_received_.load(std::memory_order_relaxed));
}

}  // namespace weir
