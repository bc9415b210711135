#include "distribute/collective/task_communicator.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir {
namespace {

// After a peer's step has ended, its last requests may still arrive for this long.
constexpr absl::Duration kLastFetch = absl::Seconds(3);
// A communicator has only one call.
constexpr int64_t kSequence = 0;
// No schedule has such a lane.
constexpr int kNoLane = -1;

}  // namespace

TaskCommunicator::TaskCommunicator(Options options)
    : options_(std::move(options)),
      awaited_(options_.group->members.size()),
      receivers_(options_.group->members.size()) {
  options_.exchange->NameMembers(options_.group->MemberNames());
}

void TaskCommunicator::Begin(int64_t sequence, const CallSignature& signature) {
  {
    MutexLock lock(mu_);
    signature_ = signature;
  }
  options_.exchange->Begin(options_.rank, sequence, signature);
}

void TaskCommunicator::Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) {
  {
    MutexLock lock(mu_);
    ++receivers_[peer].untaken;
  }
  options_.exchange->Offer({options_.rank, peer, tag}, bytes,
                           [self = shared_from_this(), peer, sent = std::move(sent)](absl::Status status) mutable {
                             self->Taken(peer);
                             sent(std::move(status));
                           });
}

void TaskCommunicator::Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) {
  BufferKey key{.instance = options_.instance, .message = {peer, options_.rank, tag}};
  {
    MutexLock lock(mu_);
    ++awaited_[peer];
    key.signature = signature_;
  }
  auto arrived = [self = shared_from_this(), peer,
                  received = std::move(received)](absl::StatusOr<ReceivedBytes> bytes) mutable {
    self->Arrived(peer);
    received(std::move(bytes));
  };
  const FormedGroup::Member& member = options_.group->members[peer];
  if (member.task == options_.local_task) {
    return options_.exchange->Take(key.message, key.signature, num_bytes, nullptr, std::move(arrived));
  }
  ReceiveFrom(member, std::move(key), num_bytes, std::move(arrived));
}

void TaskCommunicator::ReceiveFrom(const FormedGroup::Member& member, BufferKey key, int64_t num_bytes,
                                   ReceivedCallback received) {
  absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(member.task);
  if (!worker.ok()) return received(worker.status());
  auto args = std::make_shared<RecvBufArgs>();
  args->step_id = options_.step_id;
  args->key = key.ToString();
  args->num_bytes = num_bytes;
  args->src_device = member.device;
  args->dst_device = options_.group->members[options_.rank].device;
  args->src_incarnation = member.incarnation;
  // std::function must be copyable; its captures are not.
  auto shared = std::make_shared<ReceivedCallback>(std::move(received));
  (*worker)->RecvBufAsync({.cancellation = &calls_}, args,
                          [worker = *worker, shared, device = member.device](absl::StatusOr<ReceivedBytes> bytes) {
                            if (bytes.ok()) return (*shared)(std::move(bytes));
                            (*shared)(Annotate(bytes.status(), absl::StrCat("From collective member ", device)));
                          });
}

void TaskCommunicator::Arrived(int peer) {
  MutexLock lock(mu_);
  --awaited_[peer];
}

void TaskCommunicator::Taken(int peer) {
  MutexLock lock(mu_);
  --receivers_[peer].untaken;
}

void TaskCommunicator::WatchReceivers() {
  std::vector<int> unwatched;
  absl::Status ended;
  {
    MutexLock lock(mu_);
    for (size_t peer = 0; peer < receivers_.size(); ++peer) {
      Receiver& receiver = receivers_[peer];
      if (receiver.untaken == 0 || options_.group->members[peer].task == options_.local_task) continue;
      if (!receiver.is_watched) {
        receiver.is_watched = true;
        unwatched.push_back(static_cast<int>(peer));
      } else if (!receiver.ended.ok() && MonotonicNow() > receiver.ended_at + kLastFetch) {
        ended = receiver.ended;
      }
    }
  }
  for (const int peer : unwatched) Watch(peer);
  if (!ended.ok()) Abort(kSequence, ended);
}

void TaskCommunicator::Watch(int peer) {
  BufferKey key{.instance = options_.instance, .message = {peer, options_.rank, {.lane = kNoLane}}};
  {
    MutexLock lock(mu_);
    key.signature = signature_;
  }
  ReceiveFrom(options_.group->members[peer], std::move(key), 0,
              [self = shared_from_this(), peer](const absl::StatusOr<ReceivedBytes>& answer) {
                MutexLock lock(self->mu_);
                self->receivers_[peer].ended = answer.status();
                self->receivers_[peer].ended_at = MonotonicNow();
              });
}

std::vector<std::string> TaskCommunicator::Awaited() const {
  MutexLock lock(mu_);
  std::vector<std::string> names;
  for (size_t rank = 0; rank < awaited_.size(); ++rank) {
    if (awaited_[rank] > 0 || receivers_[rank].untaken > 0) names.push_back(options_.group->members[rank].device);
  }
  return names;
}

void TaskCommunicator::End(int64_t) { calls_.StartCancel(errors::Cancelled("The collective has ended")); }

void TaskCommunicator::Abort(int64_t sequence, const absl::Status& status) {
  options_.exchange->Abort(sequence, status);
  calls_.StartCancel(status);
}

}  // namespace weir
