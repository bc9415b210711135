#include "tools/watch/peer_watch.h"

#include "core/clock.h"
#include "distribute/transport/liveness/peer_bytes.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {

PeerWatch::PeerWatch(Options options) : options_(std::move(options)) {
  MutexLock lock(mu_);
  Update();
}

void PeerWatch::Update() {
  std::vector<Peer> peers;
  for (const auto& [task, address] : options_.peers()) {
    Peer* const known = Find(task, address);
    peers.push_back(known != nullptr ? std::move(*known) : Peer{.task = task, .address = address});
  }
  peers_ = std::move(peers);
}

PeerWatch::Peer* PeerWatch::Find(const std::string& task, const std::string& address) {
  for (Peer& peer : peers_) {
    if (peer.task == task && peer.address == address) return &peer;
  }
  return nullptr;
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
  std::vector<std::shared_ptr<Question>> questions;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    Update();
    last_asked_ = MonotonicNow();
    for (const Peer& peer : peers_) {
      if (!asked_.insert(peer.task).second) continue;
      questions.push_back(std::make_shared<Question>());
      questions.back()->task = peer.task;
      questions.back()->address = peer.address;
    }
    pending_ += questions.size();
  }
  for (const std::shared_ptr<Question>& question : questions) AskOne(question);
}

void PeerWatch::AskOne(const std::shared_ptr<Question>& question) {
  absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(question->task);
  if (!worker.ok()) return Answered(*question, worker.status());
  question->worker = *std::move(worker);
  const CallOptions call{.deadline = MonotonicNow() + options_.timeout, .cancellation = &cancellation_};
  question->worker->GetStatusAsync(call, &question->request, &question->response,
                                   [this, question](const absl::Status& status) { Answered(*question, status); });
}

void PeerWatch::Answered(const Question& question, const absl::Status& status) {
  const auto& devices = question.response.device_attributes();
  MutexLock lock(mu_);
  asked_.erase(question.task);
  Peer* const peer = Find(question.task, question.address);
  // An answer that waits behind a large message says nothing.
  if (peer != nullptr && !stopped_ && !IsTransferring(status)) {
    Peer& known = *peer;
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
