#include "tools/watch/peer_watch.h"

#include "core/clock.h"
#include "distribute/transport/liveness/peer_bytes.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {

PeerWatch::PeerWatch(Options options) : options_(std::move(options)) {
  MutexLock lock(mu_);
  for (const auto& [task, address] : options_.peers) peers_.push_back({.task = task, .address = address});
  is_asked_.resize(peers_.size());
}

void PeerWatch::Stop() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
  }
  cancellation_.StartCancel(errors::Cancelled("The task is shutting down"));
  MutexLock lock(mu_);
  while (pending_ > 0) lock.Wait(answered_);
}

void PeerWatch::Ask() {
  std::vector<size_t> asked;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    last_asked_ = MonotonicNow();
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (is_asked_[i]) continue;
      is_asked_[i] = true;
      asked.push_back(i);
    }
    pending_ += asked.size();
  }
  for (const size_t peer : asked) AskOne(peer);
}

void PeerWatch::AskOne(size_t peer) {
  auto question = std::make_shared<Question>();
  absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(options_.peers[peer].first);
  if (!worker.ok()) return Answered(peer, *question, worker.status());
  question->worker = *std::move(worker);
  const CallOptions call{.deadline = MonotonicNow() + options_.timeout, .cancellation = &cancellation_};
  question->worker->GetStatusAsync(
      call, &question->request, &question->response,
      [this, peer, question](const absl::Status& status) { Answered(peer, *question, status); });
}

void PeerWatch::Answered(size_t peer, const Question& question, const absl::Status& status) {
  const auto& devices = question.response.device_attributes();
  MutexLock lock(mu_);
  is_asked_[peer] = false;
  // An answer that waits behind a large message says nothing.
  if (!stopped_ && !IsTransferring(status)) {
    Peer& known = peers_[peer];
    const Health health = status.ok() ? Health::kUp : Health::kDown;
    const uint64_t incarnation = status.ok() && !devices.empty() ? devices[0].incarnation() : known.incarnation;
    const bool has_restarted = known.incarnation != 0 && incarnation != known.incarnation;
    if (health != known.health || has_restarted) known.since = MonotonicNow();
    if (has_restarted) ++known.restarts;
    if (known.health == Health::kUp && (health == Health::kDown || has_restarted)) ++known.losses;
    known.health = health;
    known.incarnation = incarnation;
    known.reason = std::string(status.message());
  }
  --pending_;
  answered_.notify_all();  // under the lock: Stop may be waiting to destroy this
}

void PeerWatch::Refresh(absl::Duration max_age) {
  bool is_old = false;
  {
    MutexLock lock(mu_);
    is_old = MonotonicNow() - last_asked_ >= max_age;
  }
  if (is_old) Ask();
  // The calls end by themselves a moment after their deadline.
  const absl::Time deadline = MonotonicNow() + options_.timeout + absl::Seconds(1);
  MutexLock lock(mu_);
  while (pending_ > 0 && lock.WaitUntil(answered_, ToSteady(deadline)) == std::cv_status::no_timeout) {
  }
}

std::vector<PeerWatch::Peer> PeerWatch::Peers() const {
  MutexLock lock(mu_);
  return peers_;
}

}  // namespace weir
