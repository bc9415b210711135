#include "distribute/collective/gpu/gpu_group_member.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/logging.h"

namespace weir {
namespace {

// How often the library is polled, while ranks connect or a group is being enqueued, and while groups run.
constexpr absl::Duration kBusyPause = absl::Microseconds(200);
constexpr absl::Duration kIdlePause = absl::Milliseconds(5);
// For enqueueing a group: the first one of a communicator opens connections.
constexpr absl::Duration kEnqueueLimit = absl::Minutes(2);

}  // namespace

void GpuGroupMember::State::Break(int64_t up_to, const absl::Status& why) {
  if (up_to <= broken) return;
  broken = up_to;
  reason = why;
  changed.notify_all();
}

std::vector<GpuGroupMember::DoneCallback> GpuGroupMember::State::TakeAll() {
  std::vector<DoneCallback> all;
  for (auto& [turn, work] : waiting) all.push_back(std::move(work.done));
  for (auto& [turn, done] : under_way) all.push_back(std::move(done));
  waiting.clear();
  under_way.clear();
  through.clear();
  return all;
}

std::vector<GpuGroupMember::DoneCallback> GpuGroupMember::State::Begin(int64_t next, const GpuCollectiveId& next_id) {
  Break(next - 1, errors::Aborted("Another rank has left the GPUs' communicator"));
  generation = next;
  id = next_id;
  next_turn = turns_given = 0;
  return TakeAll();
}

absl::StatusOr<std::unique_ptr<GpuGroupMember>> GpuGroupMember::Create(Options options) {
  ASSIGN_OR_RETURN(std::shared_ptr<GpuStream> stream, options.device->BorrowStream(kStream));
  return std::unique_ptr<GpuGroupMember>(new GpuGroupMember(std::move(options), std::move(stream)));
}

GpuGroupMember::GpuGroupMember(Options options, std::shared_ptr<GpuStream> stream)
    : options_(std::move(options)), stream_(std::move(stream)) {
  {
    MutexLock lock(state_->mu);
    state_->generation = options_.broken;
    state_->Break(options_.broken, errors::Aborted("The GPU has left the communicator, which was idle"));
  }
  thread_ = std::thread([this] { Loop(); });
}

GpuGroupMember::~GpuGroupMember() {
  {
    MutexLock lock(state_->mu);
    state_->stopping = true;
    state_->Break(std::max<int64_t>(state_->generation, 1), errors::Aborted("The collective group is no more"));
    state_->changed.notify_all();
  }
  thread_.join();
}

int64_t GpuGroupMember::generation() const {
  MutexLock lock(state_->mu);
  return state_->generation;
}

int64_t GpuGroupMember::broken() const {
  MutexLock lock(state_->mu);
  return state_->broken;
}

absl::StatusOr<GpuGroupMember::Turn> GpuGroupMember::NextTurn(int64_t broken) {
  std::vector<DoneCallback> ended;
  absl::Status reason;
  Turn turn;
  {
    MutexLock lock(state_->mu);
    State& state = *state_;
    if (state.stopping) return state.reason;
    const int64_t useless = std::max(broken, state.broken);
    if (state.generation <= useless) {
      ASSIGN_OR_RETURN(const GpuCollectiveId id, options_.library->NewId());
      ended = state.Begin(useless + 1, id);
      reason = state.reason;
    }
    turn = {.generation = state.generation, .number = state.turns_given++, .id = state.id};
  }
  for (const DoneCallback& callback : ended) callback(reason);
  return turn;
}

void GpuGroupMember::Run(const Turn& turn, std::vector<GpuTransfer> group, std::unique_ptr<GpuEvent> ready,
                         DoneCallback done) {
  std::vector<DoneCallback> ended;
  absl::Status reason;
  {
    MutexLock lock(state_->mu);
    State& state = *state_;
    if (turn.generation > state.generation) {
      ended = state.Begin(turn.generation, turn.id);
    }
    reason = state.reason;
    if (turn.generation < state.generation || state.IsBroken()) {
      ended.push_back(std::move(done));
    } else {
      state.waiting.emplace(turn.number, Work{std::move(group), std::move(ready), std::move(done)});
      state.changed.notify_all();
    }
  }
  for (const DoneCallback& callback : ended) callback(reason);
}

void GpuGroupMember::Break(int64_t generation, const absl::Status& reason) {
  MutexLock lock(state_->mu);
  state_->Break(generation == 0 ? state_->generation : generation, reason);
}

bool GpuGroupMember::Stands(int64_t generation) const {
  MutexLock lock(state_->mu);
  return !state_->stopping && state_->generation == generation && !state_->IsBroken();
}

void GpuGroupMember::Loop() {
  State& state = *state_;
  while (true) {
    std::vector<DoneCallback> ended;
    absl::Status reason;
    std::optional<Work> work;
    int64_t generation = 0, turn = 0;
    GpuCollectiveId id;
    bool is_watching = false;
    {
      MutexLock lock(state.mu);
      const bool is_useless = state.stopping || state.IsBroken();
      if (is_useless) {
        ended = state.TakeAll();
        reason = state.reason;
        if (state.stopping && ended.empty()) break;
      }
      generation = state.generation;
      if (!is_useless && state.waiting.contains(state.next_turn)) {
        turn = state.next_turn++;
        work = std::move(state.waiting.extract(turn).mapped());
        id = state.id;
      }
      is_watching = !is_useless && !state.under_way.empty();
      const bool is_former = communicator_ != nullptr && (is_useless || connected_ != generation);
      if (!work && ended.empty() && state.through.empty() && !is_former) {
        if (is_watching) {
          lock.WaitUntil(state.changed, ToSteady(MonotonicNow() + kIdlePause));
        } else {
          lock.Wait(state.changed);
        }
      }
    }
    // Work on a useless communicator ends before its failure is reported.
    if (communicator_ != nullptr && !Stands(connected_)) communicator_.reset();
    for (const DoneCallback& done : ended) done(reason);
    if (work) {
      absl::Status status = Connect(generation, id);
      if (!PutUnderWay(generation, turn, std::move(work->done))) continue;
      if (status.ok()) status = Enqueue(generation, turn, *work);
      if (!status.ok()) Suspect(generation, status);
    }
    if (is_watching && communicator_ != nullptr) EndTurns(generation);
  }
  communicator_.reset();
}

absl::Status GpuGroupMember::Connect(int64_t generation, const GpuCollectiveId& id) {
  if (communicator_ != nullptr && connected_ == generation) return absl::OkStatus();
  const absl::Time deadline = MonotonicNow() + options_.setup_limit;
  ASSIGN_OR_RETURN(communicator_,
                   options_.library->Connect(options_.device->runtime(), id, options_.rank, options_.size));
  connected_ = generation;
  return AwaitReady(generation, deadline, "for all ranks to join the communicator");
}

absl::Status GpuGroupMember::AwaitReady(int64_t generation, absl::Time deadline, absl::string_view what) {
  while (true) {
    ASSIGN_OR_RETURN(const bool is_ready, communicator_->IsReady());
    if (is_ready) return absl::OkStatus();
    MutexLock lock(state_->mu);
    if (state_->stopping || state_->generation != generation || state_->IsBroken()) return state_->reason;
    if (MonotonicNow() >= deadline) {
      return errors::DeadlineExceeded(options_.device->name(), " waited in vain ", what, " (", options_.library->name(),
                                      ", rank ", options_.rank, " of ", options_.size, ")");
    }
    lock.WaitUntil(state_->changed, ToSteady(MonotonicNow() + kBusyPause));
  }
}

bool GpuGroupMember::PutUnderWay(int64_t generation, int64_t turn, DoneCallback done) {
  absl::Status reason;
  {
    MutexLock lock(state_->mu);
    if (state_->generation == generation) return state_->under_way.emplace(turn, std::move(done)).second;
    reason = state_->reason;
  }
  done(reason);
  return false;
}

absl::Status GpuGroupMember::Enqueue(int64_t generation, int64_t turn, const Work& work) {
  GpuAllocator& memory = options_.device->memory();
  for (const GpuTransfer& transfer : work.group) {
    if (transfer.input != nullptr) memory.AddUse(const_cast<void*>(transfer.input), stream_.get());
    if (transfer.output != nullptr) memory.AddUse(transfer.output, stream_.get());
  }
  RETURN_IF_ERROR(stream_->Wait(*work.ready));
  RETURN_IF_ERROR(communicator_->Enqueue(*stream_, work.group));
  RETURN_IF_ERROR(AwaitReady(generation, MonotonicNow() + kEnqueueLimit, "for a collective to be enqueued"));
  options_.device->completions().Then(stream_.get(),
                                      [state = state_, stream = stream_, generation, turn](const absl::Status& status) {
                                        MutexLock lock(state->mu);
                                        // An aborted collective completes too.
                                        if (state->generation != generation || state->IsBroken()) return;
                                        if (!status.ok()) return state->Break(generation, status);
                                        state->through.push_back(turn);
                                        state->changed.notify_all();
                                      });
  return absl::OkStatus();
}

void GpuGroupMember::EndTurns(int64_t generation) {
  // A collective completes in the same way whether another rank has died or the result is valid.
  const absl::Status status = communicator_->IsReady().status();
  if (!status.ok()) return Suspect(generation, status);
  std::vector<DoneCallback> ended;
  {
    MutexLock lock(state_->mu);
    if (state_->generation != generation || state_->IsBroken()) return;
    for (const int64_t turn : std::exchange(state_->through, {})) {
      ended.push_back(std::move(state_->under_way.extract(turn).mapped()));
    }
  }
  for (const DoneCallback& done : ended) done(absl::OkStatus());
}

void GpuGroupMember::Suspect(int64_t generation, const absl::Status& error) {
  communicator_.reset();
  const absl::Status device = stream_->IsIdle().status();  // the library knows only that its rank is gone
  const absl::Time deadline = MonotonicNow() + options_.reason_limit;
  MutexLock lock(state_->mu);
  if (!device.ok()) return state_->Break(generation, device);
  while (!state_->stopping && state_->generation == generation && !state_->IsBroken() && MonotonicNow() < deadline) {
    lock.WaitUntil(state_->changed, ToSteady(deadline));
  }
  state_->Break(generation, error);
}

}  // namespace weir
