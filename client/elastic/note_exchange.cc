#include "client/elastic/note_exchange.h"

#include <algorithm>
#include <utility>

#include "client/elastic/connection_refusal.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/membership/membership_client.h"
#include "distribute/transport/membership/regroup_service.h"

namespace weir {
namespace {

constexpr absl::Duration kUrgentPause = absl::Milliseconds(4), kPause = absl::Milliseconds(30);
constexpr absl::Duration kPutPause = absl::Milliseconds(300), kViewPause = absl::Milliseconds(200);
constexpr absl::Duration kRetryPause = absl::Milliseconds(100);
constexpr absl::Duration kCallTimeout = absl::Seconds(1);
// A note that is not renewed: its worker hangs, or has ended.
constexpr absl::Duration kStale = absl::Seconds(2);

// Whether a task is lost, by the calls to it.
class Suspicion {
 public:
  explicit Suspicion(absl::Duration hang_timeout) : hang_timeout_(hang_timeout), last_(MonotonicNow()) {}

  void Answered() {
    last_ = MonotonicNow();
    silent_ = absl::ZeroDuration();
  }
  // True if the task is lost: nobody listens at its address, or it is silent for long.
  bool Failed(bool is_refused) {
    // This process may have been suspended meanwhile.
    const absl::Time now = MonotonicNow();
    silent_ += std::min(now - last_, 2 * kCallTimeout);
    last_ = now;
    return is_refused || silent_ >= hang_timeout_;
  }

 private:
  const absl::Duration hang_timeout_;
  absl::Time last_;
  absl::Duration silent_;
};

}  // namespace

NoteExchange::NoteExchange(Options options) : options_(std::move(options)) {
  home_ = std::thread([this] { Home(); });
}

NoteExchange::~NoteExchange() {
  std::vector<std::unique_ptr<Peer>> peers;
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  cancellation_.StartCancel(errors::Cancelled("The training has ended"));
  home_.join();
  {
    MutexLock lock(mu_);
    for (auto& [task, peer] : peers_) peers.push_back(std::move(peer));
    peers_.clear();
  }
  for (const auto& peer : peers) {
    peer->cancellation->StartCancel(errors::Cancelled("The training has ended"));
    if (peer->thread.joinable()) peer->thread.join();
  }
}

void NoteExchange::Publish(TrainingNote note) {
  {
    MutexLock lock(mu_);
    note_ = std::move(note);
    ++published_;
  }
  changed_.notify_all();
}

RegroupPeers NoteExchange::Peers() const {
  MutexLock lock(mu_);
  RegroupPeers peers;
  // Before the first view nobody is known: as if somebody were unknown.
  if (!has_view_) peers["/job:unknown"].state = RegroupPeer::kUnknown;
  for (const std::string& task : gone_) peers[task].state = RegroupPeer::kLost;
  for (const auto& [task, peer] : peers_) {
    RegroupPeer& known = peers[task];
    known = peer->known;
    if (peer->doubt != doubts_) known.state = RegroupPeer::kUnknown;
  }
  return peers;
}

void NoteExchange::Doubt() {
  MutexLock lock(mu_);
  ++doubts_;
}

void NoteExchange::SetUrgent(bool urgent) {
  {
    MutexLock lock(mu_);
    urgent_ = urgent;
  }
  changed_.notify_all();
}

bool NoteExchange::draining() const {
  MutexLock lock(mu_);
  return draining_;
}

void NoteExchange::AwaitPublished(absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  MutexLock lock(mu_);
  while (put_ < published_ && MonotonicNow() < deadline) lock.WaitUntil(changed_, ToSteady(deadline));
}

void NoteExchange::Home() {
  GrpcChannel channel({.address = options_.address}, nullptr);
  MembershipClient members(options_.address);
  absl::Time next_put = absl::InfinitePast(), next_view = absl::InfinitePast();
  while (true) {
    PutNoteRequest request;
    int64_t version = 0;
    {
      MutexLock lock(mu_);
      while (!stopping_ && put_ == published_ && MonotonicNow() < std::min(next_put, next_view)) {
        lock.WaitUntil(changed_, ToSteady(std::min(next_put, next_view)));
      }
      if (stopping_ && put_ == published_) return;
      version = published_;
      *request.mutable_note() = note_;
    }
    if (version > 0) {
      request.set_training(options_.training);
      PutNoteResponse response;
      const absl::Status put =
          channel.CallMessage(kPutNoteMethod, {.deadline = MonotonicNow() + kCallTimeout}, request, &response);
      if (!put.ok()) {
        WEIR_LOG(WARNING).With("task", options_.task) << "putting the worker's note: " << put.ToString();
        Sleep(kRetryPause, &cancellation_);
      }
      {
        MutexLock lock(mu_);
        if (put.ok() || stopping_) put_ = version;
      }
      changed_.notify_all();
      next_put = MonotonicNow() + kPutPause;
    }
    if (MonotonicNow() < next_view) continue;
    const auto view = members.GetView({.deadline = MonotonicNow() + kCallTimeout, .cancellation = &cancellation_});
    if (view.ok()) Follow(*view);
    next_view = MonotonicNow() + kViewPause;
  }
}

void NoteExchange::Follow(const ClusterView& view) {
  bool draining = true;  // a task that is not there any more
  std::map<std::string, std::string> addresses;
  for (const Member& member : view.member()) {
    const std::string task = TaskNameOf(member);
    if (task == options_.task) {
      draining = member.state() == Member::DRAINING;
      continue;
    }
    if (member.state() == Member::JOINING) continue;
    if (std::find(options_.jobs.begin(), options_.jobs.end(), member.job()) == options_.jobs.end()) continue;
    addresses[task] = member.address();
  }
  std::vector<std::unique_ptr<Peer>> ended;
  {
    MutexLock lock(mu_);
    has_view_ = true;
    draining_ = draining;
    for (auto it = peers_.begin(); it != peers_.end();) {
      const auto found = addresses.find(it->first);
      if (found != addresses.end() && found->second == it->second->address) {
        addresses.erase(found);
        ++it;
        continue;
      }
      gone_.insert(it->first);
      ended.push_back(std::move(it->second));
      it = peers_.erase(it);
    }
    for (const auto& [task, address] : addresses) {
      auto peer = std::make_unique<Peer>();
      peer->address = address;
      peer->cancellation = std::make_unique<CancellationManager>();
      peer->thread = std::thread([this, task = task, address = address, cancellation = peer->cancellation.get()] {
        ReadPeer(task, address, cancellation);
      });
      gone_.erase(task);
      peers_[task] = std::move(peer);
    }
  }
  for (const auto& peer : ended) {
    peer->cancellation->StartCancel(errors::Cancelled("The task has left the cluster"));
    peer->thread.join();
  }
  options_.on_change();
}

void NoteExchange::Sleep(absl::Duration duration, CancellationManager* cancellation) {
  (void)SleepUntil(MonotonicNow() + duration, cancellation);
}

void NoteExchange::ReadPeer(std::string task, std::string address, CancellationManager* cancellation) {
  GrpcChannel channel({.address = address, .task = task}, nullptr);
  Suspicion suspicion(options_.hang_timeout);
  GetNoteRequest request;
  request.set_training(options_.training);
  bool is_refused = false;
  while (!cancellation->IsCancelled()) {
    uint64_t doubt = 0;
    absl::Duration pause;
    {
      MutexLock lock(mu_);
      doubt = doubts_;
      pause = urgent_ ? kUrgentPause : kPause;
    }
    // Quicker than a call, which may wait until the channel tries to connect again.
    is_refused = is_refused && RefusesConnections(address, kCallTimeout);
    if (is_refused) {
      Learn(task, {.state = RegroupPeer::kLost}, doubt);
      Sleep(pause, cancellation);
      continue;
    }
    GetNoteResponse response;
    const absl::Status status = channel.CallMessage(
        kGetNoteMethod, {.deadline = MonotonicNow() + kCallTimeout, .cancellation = cancellation}, request, &response);
    if (cancellation->IsCancelled()) return;
    const bool is_stale =
        status.ok() && (absl::Microseconds(response.age_micros()) > kStale || response.note().self().task() != task);
    if (status.ok() && !is_stale) {
      suspicion.Answered();
      Learn(task, {.state = RegroupPeer::kAnswers, .note = std::move(*response.mutable_note())}, doubt);
    } else if (absl::IsNotFound(status) || absl::IsUnimplemented(status)) {
      suspicion.Answered();
      Learn(task, {.state = RegroupPeer::kLost}, doubt);
    } else {
      is_refused = absl::IsUnavailable(status) && RefusesConnections(address, kCallTimeout);
      if (suspicion.Failed(is_refused)) Learn(task, {.state = RegroupPeer::kLost}, doubt);
    }
    Sleep(pause, cancellation);
  }
}

void NoteExchange::Learn(const std::string& task, RegroupPeer known, uint64_t doubt) {
  {
    MutexLock lock(mu_);
    const auto found = peers_.find(task);
    if (found == peers_.end()) return;
    Peer& peer = *found->second;
    const bool is_new = peer.doubt != doubt || peer.known.state != known.state ||
                        peer.known.note.SerializeAsString() != known.note.SerializeAsString();
    peer.known = std::move(known);
    peer.doubt = doubt;
    if (!is_new) return;
  }
  options_.on_change();
}

}  // namespace weir
