#include "distribute/collective/schedule_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "distribute/collective/flat_call.h"

namespace weir {
namespace {

// Reductions from this size on take longer than a hand-over, and leave the transport's threads.
constexpr int64_t kHandOverBytes = 256 << 10;

bool IsReceive(const Move& move) {
  return move.kind == Move::Kind::kReceive || move.kind == Move::Kind::kReceiveReduce;
}

// A message that may be compressed is preceded by its length, as a separate message.
constexpr int64_t kLengthBytes = sizeof(int64_t);

// The tag of the message with the length of the one with `tag`; rounds of schedules are not negative.
MessageTag LengthTag(MessageTag tag) {
  tag.round = -1 - tag.round;
  return tag;
}

absl::Status FromRank(absl::Status status, const Move& move) {
  return Annotate(std::move(status), absl::StrCat("From rank ", move.peer));
}

// Combines the completions of a move's two messages. Thread-safe.
class BothSent {
 public:
  explicit BothSent(Communicator::SentCallback done) : done_(std::move(done)) {}
  void Sent(const absl::Status& status) {
    {
      MutexLock lock(mu_);
      status_.Update(status);
      if (--pending_ > 0) return;
    }
    done_(status_);
  }

 private:
  Mutex mu_;
  int pending_ = 2;
  absl::Status status_;
  Communicator::SentCallback done_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<ScheduleRun>> ScheduleRun::Create(Options options, Collective::DoneCallback done) {
  const int64_t num_bytes = options.schedule.scratch_elements * static_cast<int64_t>(options.element_bytes);
  ASSIGN_OR_RETURN(Tensor scratch, Tensor::Allocate(CpuAllocator(), DT_UINT8, TensorShape({num_bytes})));
  return std::shared_ptr<ScheduleRun>(new ScheduleRun(std::move(options), std::move(scratch), std::move(done)));
}

ScheduleRun::ScheduleRun(Options options, Tensor scratch, Collective::DoneCallback done)
    : owner_(std::move(options.owner)),
      options_(std::move(options)),
      done_(std::move(done)),
      scratch_(std::move(scratch)),
      lanes_(new LaneState[options_.schedule.lanes.size()]) {}

const char* ScheduleRun::From(const Place& place) const {
  return place.buffer == BufferId::kInput ? options_.input + place.offset * options_.element_bytes : To(place);
}

char* ScheduleRun::To(const Place& place) const {
  char* const base = place.buffer == BufferId::kScratch ? static_cast<char*>(scratch_.raw_data()) : options_.output;
  return base + place.offset * options_.element_bytes;
}

void ScheduleRun::Start() {
  if (CancellationManager* const cancellation = options_.cancellation; cancellation != nullptr) {
    token_ = cancellation->Register([weak = weak_from_this(), cancellation] {
      if (auto self = weak.lock()) self->Fail(cancellation->status());
    });
    if (token_ == CancellationManager::kInvalidToken) Fail(cancellation->status());
  }
  const std::vector<Lane>& lanes = options_.schedule.lanes;
  for (size_t i = 0; i < lanes.size(); ++i) {
    MutexLock lock(lanes_[i].mu);
    lanes_[i].next_step = lanes[i].first_step;
    lanes_[i].end_step = lanes[i].first_step + lanes[i].num_steps;
  }
  for (size_t i = 0; i < lanes.size(); ++i) Advance(static_cast<int>(i));
  Release();
}

bool ScheduleRun::Overwrites(const LaneState& state, const ScheduleStep& step) const {
  if (state.sending.empty()) return false;
  for (uint32_t m = step.first_move; m < step.first_move + step.num_moves; ++m) {
    const Move& move = options_.schedule.moves[m];
    if (move.kind == Move::Kind::kSend) continue;
    const char* const begin = To(move.to);
    const char* const end = begin + move.count * options_.element_bytes;
    for (const Sending& sending : state.sending) {
      if (begin < sending.end && sending.begin < end) return true;
    }
  }
  return false;
}

void ScheduleRun::Advance(int lane) {
  LaneState& state = lanes_[lane];
  for (;;) {
    const ScheduleStep* step = nullptr;
    {
      MutexLock lock(state.mu);
      if (failed_.load(std::memory_order_acquire)) return;
      if (state.pending > 0 || state.next_step == state.end_step) return;
      step = &options_.schedule.steps[state.next_step];
      state.waits_for_send = Overwrites(state, *step);
      if (state.waits_for_send) return;
      ++state.next_step;
      state.pending = 1;
      for (uint32_t m = step->first_move; m < step->first_move + step->num_moves; ++m) {
        const Move& move = options_.schedule.moves[m];
        if (IsReceive(move)) ++state.pending;
        if (move.kind != Move::Kind::kSend) continue;
        const char* const begin = From(move.from);
        Hold();
        // The peer reads the encoded message, not the elements.
        const size_t read_bytes = options_.codec.changes() ? 0 : move.count * options_.element_bytes;
        state.sending.push_back({begin, begin + read_bytes, m});
      }
    }
    for (uint32_t m = step->first_move; m < step->first_move + step->num_moves; ++m) {
      MoveHere(options_.schedule.moves[m]);
    }
    for (uint32_t m = step->first_move; m < step->first_move + step->num_moves; ++m) Post(lane, *step, m);
    MutexLock lock(state.mu);
    if (--state.pending > 0) return;
  }
}

void ScheduleRun::MoveHere(const Move& move) {
  if (move.kind == Move::Kind::kDivide) {
    options_.divide(To(move.to), options_.divisor, move.count);
  } else if (move.kind == Move::Kind::kCopy && From(move.from) != To(move.to)) {
    std::memcpy(To(move.to), From(move.from), move.count * options_.element_bytes);
  }
}

void ScheduleRun::Post(int lane, const ScheduleStep& step, uint32_t move_index) {
  const Move& move = options_.schedule.moves[move_index];
  if (move.kind == Move::Kind::kCopy || move.kind == Move::Kind::kDivide) return;
  const MessageTag tag{options_.sequence, lane, step.round};
  const size_t num_bytes = move.count * options_.element_bytes;
  if (move.kind == Move::Kind::kSend) {
    if (options_.codec.changes()) return PostPacked(lane, step, move_index);
    options_.communicator->Send(move.peer, tag, {From(move.from), num_bytes},
                                [self = shared_from_this(), lane, move_index](const absl::Status& status) {
                                  self->Sent(lane, move_index, status);
                                });
    return;
  }
  Hold();
  if (options_.codec.MayCompress(move.count)) return PostReceiveOfLength(lane, step, move_index);
  PostReceive(lane, tag, move_index,
              options_.codec.changes() ? options_.codec.CastBytes(move.count) : static_cast<int64_t>(num_bytes));
}

void ScheduleRun::PostReceive(int lane, const MessageTag& tag, uint32_t move_index, int64_t num_bytes) {
  options_.communicator->Receive(options_.schedule.moves[move_index].peer, tag, num_bytes,
                                 [self = shared_from_this(), lane, move_index](absl::StatusOr<ReceivedBytes> received) {
                                   self->Received(lane, move_index, std::move(received));
                                 });
}

void ScheduleRun::PostReceiveOfLength(int lane, const ScheduleStep& step, uint32_t move_index) {
  const Move& move = options_.schedule.moves[move_index];
  const MessageTag tag{options_.sequence, lane, step.round};
  auto learned = [self = shared_from_this(), lane, move_index, tag](absl::StatusOr<ReceivedBytes> length) {
    if (!length.ok()) return self->Received(lane, move_index, length.status());
    int64_t num_bytes = 0;
    std::memcpy(&num_bytes, length->bytes().data(), kLengthBytes);
    { const ReceivedBytes let_go = *std::move(length); }
    const Move& moved = self->options_.schedule.moves[move_index];
    if (absl::Status lie = self->options_.codec.CheckSize(num_bytes, moved.count); !lie.ok()) {
      return self->Received(lane, move_index, FromRank(std::move(lie), moved));
    }
    self->PostReceive(lane, tag, move_index, num_bytes);
  };
  options_.communicator->Receive(move.peer, LengthTag(tag), kLengthBytes, std::move(learned));
}

void ScheduleRun::PostPacked(int lane, const ScheduleStep& step, uint32_t move_index) {
  const Move& move = options_.schedule.moves[move_index];
  const MessageTag tag{options_.sequence, lane, step.round};
  const int64_t length_bytes = options_.codec.MayCompress(move.count) ? kLengthBytes : 0;
  absl::StatusOr<WireCodec::Packed> packed =
      options_.codec.Pack(From(move.from), move.count, length_bytes, CpuAllocator());
  if (!packed.ok()) return Sent(lane, move_index, packed.status());
  Communicator::SentCallback sent = [self = shared_from_this(), lane, move_index, bytes = packed->bytes](
                                        const absl::Status& status) { self->Sent(lane, move_index, status); };
  if (length_bytes == 0) {
    options_.communicator->Send(move.peer, tag, packed->message, std::move(sent));
    return;
  }
  auto* const length = static_cast<char*>(packed->bytes.raw_data());
  const auto num_bytes = static_cast<int64_t>(packed->message.size());
  std::memcpy(length, &num_bytes, kLengthBytes);
  auto both = std::make_shared<BothSent>(std::move(sent));
  const auto half_sent = [both](const absl::Status& status) { both->Sent(status); };
  options_.communicator->Send(move.peer, LengthTag(tag), {length, kLengthBytes}, half_sent);
  options_.communicator->Send(move.peer, tag, packed->message, half_sent);
}

void ScheduleRun::Sent(int lane, uint32_t move_index, const absl::Status& status) {
  if (!status.ok()) Fail(status);
  bool was_waited_for = false;
  {
    LaneState& state = lanes_[lane];
    MutexLock lock(state.mu);
    const auto sending = std::find_if(state.sending.begin(), state.sending.end(),
                                      [&](const Sending& s) { return s.move == move_index; });
    if (sending == state.sending.end()) return;  // abandoned
    *sending = state.sending.back();
    state.sending.pop_back();
    was_waited_for = state.waits_for_send;
  }
  if (!was_waited_for) return Release();
  RunFlat([self = shared_from_this(), lane] {
    self->Advance(lane);
    self->Release();
  });
}

void ScheduleRun::Received(int lane, uint32_t move_index, absl::StatusOr<ReceivedBytes> received) {
  if (!received.ok()) {
    Fail(received.status());
    return Release();
  }
  auto consume = [self = shared_from_this(), lane, move_index, bytes = *std::move(received)]() mutable {
    self->Consume(lane, move_index, std::move(bytes));
    self->Release();
  };
  WorkQueue* const queue = options_.work_queue;
  const int64_t num_bytes = options_.schedule.moves[move_index].count * static_cast<int64_t>(options_.element_bytes);
  const bool is_in_await = options_.poller != nullptr && options_.poller->IsInAwait();
  if (queue != nullptr && num_bytes >= kHandOverBytes && !queue->InComputeThread() && !is_in_await) {
    return queue->Schedule(std::move(consume));
  }
  RunFlat(std::move(consume));
}

void ScheduleRun::Consume(int lane, uint32_t move_index, ReceivedBytes received) {
  const Move& move = options_.schedule.moves[move_index];
  if (!failed_.load(std::memory_order_acquire)) {
    if (absl::Status status = Take(move, received.bytes()); !status.ok()) {
      Fail(FromRank(std::move(status), move));
    }
  }
  { const ReceivedBytes released = std::move(received); }
  StepEnded(lane);
}

absl::Status ScheduleRun::Take(const Move& move, absl::Span<const char> message) {
  const bool reduces = move.kind == Move::Kind::kReceiveReduce;
  if (options_.codec.changes()) {
    return reduces ? options_.codec.UnpackCombine(message, move.count, options_.reduce, From(move.from),
                                                  options_.rounds_from, To(move.to))
                   : options_.codec.Unpack(message, move.count, To(move.to));
  }
  if (reduces) {
    options_.reduce(To(move.to), From(move.from), message.data(), move.count);
  } else {
    std::memcpy(To(move.to), message.data(), message.size());
  }
  return absl::OkStatus();
}

void ScheduleRun::StepEnded(int lane) {
  {
    LaneState& state = lanes_[lane];
    MutexLock lock(state.mu);
    if (--state.pending > 0) return;
  }
  Advance(lane);
}

bool ScheduleRun::TryHold() {
  int64_t held = held_.load(std::memory_order_relaxed);
  while (held > 0) {
    if (held_.compare_exchange_weak(held, held + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void ScheduleRun::Fail(const absl::Status& status) {
  if (!TryHold()) return;
  bool is_first = false;
  {
    MutexLock lock(status_mu_);
    is_first = status_.ok();
    if (is_first) status_ = status;
  }
  if (is_first) {
    failed_.store(true, std::memory_order_release);
    options_.communicator->Abort(options_.sequence, status);
    if (owner_ != nullptr) AbandonSends();
  }
  Release();
}

// A failed run must not wait for peers that do not read what they requested, or make no request.
void ScheduleRun::AbandonSends() {
  size_t num_abandoned = 0;
  for (size_t i = 0; i < options_.schedule.lanes.size(); ++i) {
    MutexLock lock(lanes_[i].mu);
    num_abandoned += lanes_[i].sending.size();
    lanes_[i].sending.clear();
  }
  for (size_t i = 0; i < num_abandoned; ++i) Release();
}

void ScheduleRun::Release() {
  if (held_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (options_.cancellation != nullptr) options_.cancellation->TryDeregister(token_);
  options_.communicator->End(options_.sequence);
  absl::Status status;
  {
    MutexLock lock(status_mu_);
    status = status_;
  }
  if (status.ok()) {
    options_.codec.Round(options_.output, options_.rounded_elements);
    owner_.reset();
  }
  std::exchange(done_, nullptr)(std::move(status));
}

}  // namespace weir
