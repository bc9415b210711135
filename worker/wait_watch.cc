#include "worker/wait_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/logging.h"
#include "distribute/transport/liveness/peer_bytes.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

constexpr int kRefusals = 2;

absl::Status NobodyEnds(const ResourceUsers::Wait& wait, const std::string& task, const std::string& reason) {
  return WithOrigin(
      errors::Unavailable("Node '", wait.node, "' (", wait.op, ") on ", wait.device, " waits at ", wait.object,
                          " and would not end: task ", task, ", which has used it, is lost (", reason,
                          "), and no other task is about to change it. Restart ", task,
                          ", or run the step again without it"),
      {.task = task});
}

bool HasIncarnation(const tensorflow::GetStatusResponse& response, uint64_t incarnation) {
  const auto& devices = response.device_attributes();
  return incarnation == 0 ||
         std::any_of(devices.begin(), devices.end(),
                     [&](const tensorflow::DeviceAttributes& device) { return device.incarnation() == incarnation; });
}

}  // namespace

struct WaitWatch::Question {
  MasterWatch::Master master;
  std::shared_ptr<WorkerInterface> worker;
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
};

WaitWatch::WaitWatch(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

WaitWatch::~WaitWatch() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  cancellation_.StartCancel(absl::CancelledError("The task is shutting down"));
  MutexLock lock(mu_);
  while (!asked_.empty()) lock.Wait(changed_);
}

void WaitWatch::SessionIsLost(const std::string& session, const MasterWatch::Master& master,
                              const std::string& reason) {
  MutexLock lock(mu_);
  lost_sessions_[session] = {master.task, reason};
}

void WaitWatch::SessionIsOpen(const std::string& session) {
  MutexLock lock(mu_);
  lost_sessions_.erase(session);
}

void WaitWatch::Loop() {
  absl::Time next = MonotonicNow() + options_.interval;
  bool asks = false;
  while (AwaitNextLook(next, &asks)) {
    Look(asks);
    if (asks) next = MonotonicNow() + options_.interval;
  }
}

bool WaitWatch::AwaitNextLook(absl::Time next, bool* asks) {
  MutexLock lock(mu_);
  while (!stopping_ && !has_found_dead_ && MonotonicNow() < next) lock.WaitUntil(changed_, ToSteady(next));
  has_found_dead_ = false;
  *asks = MonotonicNow() >= next;
  return !stopping_;
}

void WaitWatch::Look(bool asks) {
  const LostSessions lost = ForgetSucceeded();
  const Waits waits = SlowWaits();
  if (asks) AskMasters(waits);
  Judge(waits, lost);
}

WaitWatch::Waits WaitWatch::SlowWaits() const {
  Waits waits;
  const absl::Time before = MonotonicNow() - options_.slow;
  for (const auto& users : options_.users()) {
    for (ResourceUsers::Wait& wait : users->WaitsFrom(before)) waits.push_back(std::move(wait));
  }
  return waits;
}

// The new incarnation of a master takes the place of the old one wherever it has used an object.
WaitWatch::LostSessions WaitWatch::ForgetSucceeded() {
  LostSessions lost;
  {
    MutexLock lock(mu_);
    if (lost_sessions_.empty()) return lost;
    lost = lost_sessions_;
  }
  const auto devices = options_.users();
  absl::erase_if(lost, [&](const auto& entry) {
    const auto& [session, loss] = entry;
    bool is_known = false;
    for (const auto& users : devices) is_known |= users->ForgetSucceeded(session, options_.sessions_of(loss.task));
    if (is_known) return false;
    MutexLock lock(mu_);
    lost_sessions_.erase(session);
    return true;
  });
  return lost;
}

void WaitWatch::AskMasters(const Waits& waits) {
  absl::flat_hash_set<MasterWatch::Master> masters;
  for (const ResourceUsers::Wait& wait : waits) {
    for (const ResourceUsers::User& user : wait.users) {
      if (user.session == wait.session) continue;
      const auto master = options_.master_of(user.session);
      if (master.has_value() && master->task != options_.local_task) masters.insert(*master);
    }
  }
  {
    MutexLock lock(mu_);
    absl::erase_if(refusals_, [&](const auto& entry) { return !masters.contains(entry.first); });
    absl::erase_if(dead_, [&](const auto& entry) { return !masters.contains(entry.first); });
  }
  for (const MasterWatch::Master& master : masters) Ask(master);
}

void WaitWatch::Ask(const MasterWatch::Master& master) {
  absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.find(master.task);
  if (!worker.ok()) return;  // of another cluster
  {
    MutexLock lock(mu_);
    if (!asked_.insert(master).second) return;
  }
  auto question = std::make_shared<Question>();
  question->master = master;
  question->worker = *std::move(worker);
  const CallOptions call{.deadline = MonotonicNow() + options_.answer_timeout, .cancellation = &cancellation_};
  question->worker->GetStatusAsync(call, &question->request, &question->response,
                                   [this, question](const absl::Status& status) {
                                     Learn(*question, status);
                                     MutexLock lock(mu_);
                                     asked_.erase(question->master);
                                     changed_.notify_all();
                                   });
}

void WaitWatch::Learn(const Question& question, const absl::Status& status) {
  const MasterWatch::Master& master = question.master;
  MutexLock lock(mu_);
  if (cancellation_.IsCancelled()) return;
  const bool was_dead = dead_.contains(master);
  int& refusals = refusals_[master];
  refusals = absl::IsUnavailable(status) ? refusals + 1 : 0;
  if (refusals >= kRefusals) {
    dead_[master] = std::string(status.message());
  } else if (absl::IsDeadlineExceeded(status) && !IsTransferring(status)) {
    dead_[master] = absl::StrCat("it has not answered for ", absl::FormatDuration(options_.answer_timeout));
  } else if (status.ok() && !HasIncarnation(question.response, master.incarnation)) {
    dead_[master] = "it has restarted";
  } else {
    dead_.erase(master);
  }
  if (was_dead || !dead_.contains(master)) return;
  has_found_dead_ = true;
  changed_.notify_all();
}

std::optional<WaitWatch::Lost> WaitWatch::LossOf(const std::string& session, const LostSessions& lost) const {
  const auto master = options_.master_of(session);
  if (!master.has_value()) {
    const auto found = lost.find(session);
    if (found == lost.end()) return std::nullopt;
    MutexLock lock(mu_);  // it may have been opened again, and closed, since
    return lost_sessions_.contains(session) ? std::make_optional(found->second) : std::nullopt;
  }
  MutexLock lock(mu_);
  const auto dead = dead_.find(*master);
  if (dead == dead_.end()) return std::nullopt;
  return Lost{master->task, dead->second};
}

bool WaitWatch::CanEnd(const ResourceUsers::Wait& wait, const ResourceUsers::User& user,
                       const absl::flat_hash_set<int64_t>& waiting) const {
  if (!options_.master_of(user.session).has_value()) return false;  // closed
  for (const int64_t step_id : options_.steps_of(user.session)) {
    if (!waiting.contains(step_id)) return true;
  }
  return user.session != wait.session && options_.steps_of(user.session).empty() &&
         MonotonicNow() - user.last_use < options_.idle;
}

void WaitWatch::Judge(const Waits& waits, const LostSessions& lost) {
  absl::flat_hash_set<int64_t> waiting;
  for (const ResourceUsers::Wait& wait : waits) waiting.insert(wait.step_id);
  for (const ResourceUsers::Wait& wait : waits) {
    std::optional<Lost> loss;
    bool goes_on = false;
    for (const ResourceUsers::User& user : wait.users) {
      if (auto found = LossOf(user.session, lost); found.has_value() && user.session != wait.session) {
        loss = std::move(found);
      } else {
        goes_on |= CanEnd(wait, user, waiting);
      }
    }
    if (!loss.has_value() || goes_on) continue;
    const absl::Status reason = NobodyEnds(wait, loss->task, loss->reason);
    WEIR_LOG(WARNING).With("session", wait.session).With("step", wait.step_id) << reason.message();
    options_.fail(wait.session, wait.step_id, reason);
  }
}

}  // namespace weir
