#include "distribute/transport/membership/registrar.h"

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/blocking_call.h"
#include "distribute/membership/state_moves.h"

namespace weir {
namespace {

// A task of another runtime answers too.
bool IsAnswer(const absl::Status& status) { return status.ok() || absl::IsUnimplemented(status); }

}  // namespace

// A question to one member, and its answer.
struct Registrar::Question {
  std::string task;
  std::shared_ptr<WorkerInterface> worker;
  GetCapabilitiesRequest request;
  GetCapabilitiesResponse response;
  Awaited<absl::Status> answered;
};

Registrar::Registrar(Options options)
    : options_(std::move(options)), table_(options_.table, options_.membership->Get()->view, MonotonicNow()) {
  table_.Answered(options_.membership->task(), MonotonicNow(), options_.task_incarnation);
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (const std::system_error& error) {
    WEIR_LOG(WARNING) << "no thread for the cluster's membership, which therefore cannot change: " << error.what();
    MutexLock lock(mu_);
    stopping_ = true;
  }
}

void Registrar::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  cancellation_.StartCancel(errors::Unavailable("The task is stopping"));
  if (thread_.joinable()) thread_.join();
}

absl::Status Registrar::CheckSettled() const {
  if (stopping_) return errors::Unavailable("The cluster's registrar is stopping");
  if (settled_) return absl::OkStatus();
  return errors::Unavailable("The cluster's registrar has just started, and asks the other tasks what they know");
}

void Registrar::Publish() {
  const absl::StatusOr<bool> adopted = options_.membership->Adopt(table_.view());
  if (!adopted.ok()) WEIR_LOG(ERROR) << "the registrar made a bad view: " << adopted.status().ToString();
  changed_.notify_all();
}

absl::Status Registrar::Join(const JoinRequest& request, JoinResponse* response) {
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckSettled());
  }
  if (!request.serves()) Exchange();  // the current holder of the name or the address may still answer
  {
    MutexLock lock(mu_);
    const int64_t epoch = table_.view().epoch();
    ASSIGN_OR_RETURN(*response->mutable_member(), table_.Join(request, MonotonicNow()));
    if (table_.view().epoch() != epoch) {
      WEIR_LOG(INFO)
              .With("member", TaskNameOf(response->member()))
              .With("address", response->member().address())
              .With("epoch", table_.view().epoch())
          << (request.serves() ? "a process has become a task of the cluster" : "a process joins the cluster");
    }
    Publish();
  }
  if (request.serves()) Exchange();
  *response->mutable_view() = options_.membership->Get()->view;
  return absl::OkStatus();
}

template <typename Request, typename Response>
absl::Status Registrar::Change(absl::Status (MemberTable::*change)(const Request&), const Request& request,
                               Response* response) {
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckSettled());
    RETURN_IF_ERROR((table_.*change)(request));
    Publish();
  }
  Exchange();
  *response->mutable_view() = options_.membership->Get()->view;
  return absl::OkStatus();
}

absl::Status Registrar::Drain(const DrainRequest& request, DrainResponse* response) {
  return Change(&MemberTable::Drain, request, response);
}

absl::Status Registrar::Leave(const LeaveRequest& request, LeaveResponse* response) {
  return Change(&MemberTable::Leave, request, response);
}

absl::Status Registrar::MoveState(const MoveStateRequest& request, MoveStateResponse* response) {
  if (request.what_case() == MoveStateRequest::kLost) {
    CheckLost(request.lost());
    *response->mutable_view() = options_.membership->Get()->view;
    return absl::OkStatus();
  }
  // It asks each task for its incarnation.
  if (request.begin().has_standby()) Exchange();
  ClusterView before;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckSettled());
    before = table_.view();
    RETURN_IF_ERROR(table_.MoveState(request, MonotonicNow()));
  }
  if (request.what_case() == MoveStateRequest::kCancel) Unfence(before);
  {
    MutexLock lock(mu_);
    Publish();
  }
  if (request.what_case() != MoveStateRequest::kBegin) Exchange();  // steps wait for the end of a move
  *response->mutable_view() = options_.membership->Get()->view;
  return absl::OkStatus();
}

void Registrar::Hear(const ClusterView& known) {
  MutexLock lock(mu_);
  Reconcile("a task that has joined", known);
}

void Registrar::Reconcile(const std::string& task, const ClusterView& known) {
  if (known.cluster_id() != table_.view().cluster_id()) {
    if (strangers_.insert(task).second) {
      WEIR_LOG(WARNING).With("member", task)
          << "a member was started with another cluster definition: it does not learn who joins and leaves";
    }
    return;
  }
  // Views from other tasks are adopted only if they are well formed.
  if (const absl::Status sound = ClusterOf(known, "").status(); !sound.ok()) {
    WEIR_LOG(WARNING).With("member", task) << "a member knows a bad view: " << sound.message();
    return;
  }
  const int64_t epoch = table_.view().epoch();
  table_.Reconcile(known, MonotonicNow());
  if (table_.view().epoch() != epoch) Publish();
}

void Registrar::Ask(std::deque<Question>* questions) {
  const bool is_urgent = options_.membership->Get()->view.standby_size() > 0;
  const absl::Duration timeout = is_urgent ? options_.standby_timeout : options_.answer_timeout;
  const CallOptions call{.deadline = MonotonicNow() + timeout, .cancellation = &cancellation_};
  for (Question& question : *questions) {
    question.worker->GetCapabilitiesAsync(
        call, &question.request, &question.response,
        [&question](absl::Status status) { question.answered.Set(std::move(status)); });
  }
}

bool Registrar::Exchange() {
  std::deque<Question> questions;
  bool is_complete = true;
  // The view that is published: the table's may be one that others must not know yet.
  const auto published = options_.membership->Get();
  {
    MutexLock lock(mu_);
    for (const Member& member : published->view.member()) {
      const std::string task = TaskNameOf(member);
      if (member.state() == Member::JOINING || task == options_.membership->task()) continue;
      absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(task);
      if (!worker.ok()) {
        is_complete = false;
        continue;
      }
      Question& question = questions.emplace_back();
      question.task = task;
      question.worker = *std::move(worker);
      *question.request.mutable_view() = published->view;
    }
  }
  const absl::Time asked = MonotonicNow();  // this process may be suspended before it sees an answer
  {
    MutexLock lock(mu_);
    table_.Answered(options_.membership->task(), asked, options_.task_incarnation);
  }
  Ask(&questions);
  for (Question& question : questions) {
    const absl::Status status = question.answered.Take();
    is_complete = is_complete && IsAnswer(status);
    MutexLock lock(mu_);
    if (absl::IsUnavailable(status)) table_.NotReached(question.task);
    if (!IsAnswer(status)) continue;
    table_.Answered(question.task, asked, question.response.incarnation());
    if (status.ok() && question.response.has_view()) Reconcile(question.task, question.response.view());
  }
  MutexLock lock(mu_);
  const std::vector<std::string> lost = table_.RemoveLost(MonotonicNow());
  for (const std::string& task : lost) {
    WEIR_LOG(WARNING).With("member", task) << "a member is lost and has been removed from the cluster";
  }
  if (!lost.empty()) Publish();
  return is_complete && !questions.empty();
}

bool Registrar::FailOver() {
  MutexLock lock(mu_);
  if (!settled_) return false;
  const std::vector<std::string> changes = table_.FailOverLost(MonotonicNow());
  for (const std::string& change : changes) WEIR_LOG(WARNING).With("epoch", table_.view().epoch()) << change;
  if (!changes.empty()) Publish();
  return !changes.empty();
}

void Registrar::CheckLost(const std::string& task) {
  const auto known = options_.membership->Get();
  const bool has_standby = !known->state.StandbysOf(task).empty();
  const bool stands_by = std::any_of(known->view.standby().begin(), known->view.standby().end(),
                                     [&](const Standby& entry) { return entry.standby() == task; });
  if (!has_standby && !stands_by) return;
  // The caller's attempt and one of this task are enough.
  {
    MutexLock lock(mu_);
    table_.Suspect(task);
  }
  Exchange();
  if (FailOver()) Exchange();
}

void Registrar::CancelLateMove() {
  ClusterView before;
  {
    MutexLock lock(mu_);
    before = table_.view();
    if (!table_.CancelLateMove(MonotonicNow())) return;
  }
  WEIR_LOG(WARNING) << "cancelled a move of variables that took too long; no variable has moved";
  Unfence(before);
  MutexLock lock(mu_);
  Publish();
}

void Registrar::Unfence(const ClusterView& before) {
  const absl::flat_hash_set<std::string> sources = SourcesOfMove(before);
  std::deque<Question> questions;
  {
    MutexLock lock(mu_);
    for (const std::string& task : sources) {
      absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(task);
      if (!worker.ok() || task == options_.membership->task()) continue;
      Question& question = questions.emplace_back();
      question.worker = *std::move(worker);
      *question.request.mutable_view() = table_.view();
    }
  }
  Ask(&questions);
  for (Question& question : questions) question.answered.Take().IgnoreError();  // the next Exchange repeats it
}

void Registrar::Loop() {
  const absl::Time settled_by = MonotonicNow() + options_.settle_timeout;
  while (true) {
    const bool is_complete = Exchange();
    if (FailOver()) Exchange();
    CancelLateMove();
    MutexLock lock(mu_);
    settled_ = settled_ || is_complete || MonotonicNow() >= settled_by;
    if (settled_ && !table_.has_changed()) {
      while (!stopping_ && !table_.has_changed()) lock.Wait(changed_);
    } else {
      const absl::Duration interval = table_.view().standby_size() > 0 ? options_.standby_interval : options_.interval;
      const absl::Time next = MonotonicNow() + (settled_ ? interval : options_.retry);
      while (!stopping_ && MonotonicNow() < next) lock.WaitUntil(changed_, ToSteady(next));
    }
    if (stopping_) return;
  }
}

}  // namespace weir
