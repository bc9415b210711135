#include "client/elastic/elastic_worker.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(20);
// For others to see what this worker does last.
constexpr absl::Duration kFarewell = absl::Seconds(2);

// A worker that is to leave does not wait longer for the others to make a plan.
constexpr absl::Duration kLeavePatience = absl::Seconds(10);

RegroupPolicy PolicyOf(const ElasticOptions& options) {
  RegroupPolicy policy{.initial_workers = options.initial_workers,
                       .min_workers = options.min_workers,
                       .max_workers = options.max_workers};
  if (options.batch_policy == BatchPolicy::kGlobalBatch) {
    const auto fit = options.batch_size / static_cast<int64_t>(options.local_devices.size());
    policy.max_workers = static_cast<int>(std::min<int64_t>(policy.max_workers, fit));
  }
  return policy;
}

}  // namespace

ElasticTraining::Worker::Worker(ElasticOptions options, ElasticModelFunction build)
    : options_(std::move(options)), build_(std::move(build)), slow_(options_.stragglers, options_.min_workers) {
  self_.set_task(options_.task);
  self_.set_address(std::string(absl::StripPrefix(options_.target, "grpc://")));
  self_.set_run(RandomBits());
  graph_options_ = {.target = options_.target,
                    .local_devices = options_.local_devices,
                    .build = build_,
                    .batch_policy = options_.batch_policy,
                    .batch_size = options_.batch_size,
                    .initial_workers = options_.initial_workers,
                    .communication = options_.communication};
  MutexLock lock(mu_);
  *note_.mutable_self() = self_;
}

ElasticTraining::Worker::~Worker() { End(); }

absl::StatusOr<ElasticOutcome> ElasticTraining::Worker::Run() {
  exchange_ = std::make_unique<NoteExchange>(NoteExchange::Options{.training = options_.name,
                                                                   .address = self_.address(),
                                                                   .task = self_.task(),
                                                                   .jobs = options_.jobs,
                                                                   .hang_timeout = options_.hang_timeout,
                                                                   .on_change = [this] { Wake(); }});
  {
    MutexLock lock(mu_);
    Publish();
  }
  exchange_->AwaitPublished(absl::Seconds(5));
  decider_ = std::thread([this] { Decide(); });
  absl::StatusOr<ElasticOutcome> outcome = Train();
  if (!outcome.ok())
    WEIR_LOG(WARNING).With("task", options_.task) << "the training ends: " << outcome.status().ToString();
  End();
  return outcome;
}

void ElasticTraining::Worker::Leave() {
  {
    MutexLock lock(mu_);
    leaving_ = true;
    leave_by_ = MonotonicNow() + kLeavePatience;
  }
  Wake();
}

void ElasticTraining::Worker::Finish() {
  MutexLock lock(mu_);
  finishing_ = true;
}

void ElasticTraining::Worker::Wake() {
  {
    MutexLock lock(mu_);
    ++changes_;
  }
  changed_.notify_all();
}

void ElasticTraining::Worker::Publish() { exchange_->Publish(note_); }

void ElasticTraining::Worker::Retire(std::shared_ptr<GenerationGraph> graph) {
  if (graph == nullptr) return;
  std::erase_if(retired_, [](auto& one) { return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  retired_.push_back(std::async(std::launch::async, [this, graph = std::move(graph)]() mutable {
    {
      MutexLock lock(mu_);
      while (in_use_ == graph) lock.Wait(changed_);
    }
    graph->Close();
    graph.reset();
  }));
}

void ElasticTraining::Worker::Decide() {
  int64_t seen = -1;
  while (true) {
    {
      MutexLock lock(mu_);
      const absl::Time next = MonotonicNow() + kLook;
      while (!ending_ && changes_ == seen && MonotonicNow() < next) lock.WaitUntil(changed_, ToSteady(next));
      if (ending_) return;
      seen = changes_;
    }
    DecideOnce();
  }
}

void ElasticTraining::Worker::DecideOnce() {
  const RegroupPeers peers = exchange_->Peers();
  const bool draining = exchange_->draining();
  MutexLock lock(mu_);
  if (ending_ || note_.phase() == TrainingNote::ENDED) return;
  if ((draining || leaving_) && !note_.leaving()) {
    leaving_ = true;
    leave_by_ = MonotonicNow() + kLeavePatience;
    note_.set_leaving(true);
    Publish();
    ++changes_;
    changed_.notify_all();
  }
  if (preparation_ != nullptr && preparation_->state() == GenerationPreparation::State::kFailed &&
      !preparation_->is_model_error()) {
    const std::string why = preparation_->status().ToString();
    if (note_.phase() == TrainingNote::ENTERING) {
      BeginToWait(why);
    } else {
      WEIR_LOG(INFO).With("task", options_.task) << "a plan is given up: " << why;
      Forget();
      Publish();
    }
    return;
  }
  const RegroupAction action = NextRegroupAction(note_, peers, PolicyOf(options_), excluded_, RandomBits());
  if (action.kind != RegroupAction::kNone) Act(action, peers);
}

void ElasticTraining::Worker::Act(const RegroupAction& action, const RegroupPeers& peers) {
  switch (action.kind) {
    case RegroupAction::kPropose:
      *note_.mutable_plan() = action.plan;
      break;
    case RegroupAction::kPrepare:
      Prepare(action.plan, peers);
      break;
    case RegroupAction::kForget:
      WEIR_LOG(INFO).With("task", options_.task) << "a plan is given up: " << action.reason;
      Forget();
      break;
    case RegroupAction::kEnter:
      note_.set_phase(TrainingNote::ENTERING);
      Prepare(action.plan, peers);
      break;
    case RegroupAction::kAbandon:
      BeginToWait(action.reason);
      return;
    case RegroupAction::kNone:
      return;
  }
  Publish();
  ++changes_;
  changed_.notify_all();
}

void ElasticTraining::Worker::Prepare(const TrainingGeneration& plan, const RegroupPeers& peers) {
  if (note_.prepared().id() != 0) Forget();
  *note_.mutable_prepared() = plan;
  TrainingGeneration holder = note_.held();
  for (const auto& [task, peer] : peers) {
    if (peer.state == RegroupPeer::kAnswers && IsNewer(peer.note.held(), holder)) holder = peer.note.held();
  }
  preparation_ = std::make_shared<GenerationPreparation>(graph_options_, plan, self_, holder, [this] { Wake(); });
  exchange_->SetUrgent(true);
}

void ElasticTraining::Worker::Forget() {
  if (IsNewer(note_.prepared(), note_.abandoned())) {
    *note_.mutable_abandoned() = note_.prepared();
    note_.mutable_abandoned()->clear_member();
  }
  note_.clear_prepared();
  if (preparation_ == nullptr) return;
  retired_.push_back(std::async(std::launch::async, [preparation = std::move(preparation_)]() mutable {
    preparation->Cancel();
    preparation.reset();
  }));
  preparation_ = nullptr;
}

void ElasticTraining::Worker::BeginToWait(const std::string& cause) {
  if (note_.phase() == TrainingNote::WAITING) return;
  WEIR_LOG(INFO).With("task", options_.task).With("generation", note_.held().number()) << "regrouping: " << cause;
  cause_ = cause;
  Forget();
  note_.set_phase(TrainingNote::WAITING);
  exchange_->SetUrgent(true);
  exchange_->Doubt();
  Publish();
  // Ends the step that is running.
  Retire(std::exchange(graph_, nullptr));
  ++changes_;
  changed_.notify_all();
}

bool ElasticTraining::Worker::IsLeftOut() const {
  const auto leaves_out = [&](const TrainingNote& note) {
    return IsNewer(note.plan(), note_.held()) && RankIn(note.plan(), self_) < 0;
  };
  if (leaves_out(note_)) return true;
  for (const auto& [task, peer] : exchange_->Peers()) {
    if (peer.state == RegroupPeer::kAnswers && leaves_out(peer.note)) return true;
  }
  return false;
}

void ElasticTraining::Worker::End() {
  std::vector<std::future<void>> retired;
  TrainingGeneration held;
  {
    MutexLock lock(mu_);
    if (exchange_ == nullptr || ending_) return;
    ending_ = true;
    held = note_.held();
    Forget();
    note_.set_phase(TrainingNote::ENDED);
    Publish();
    Retire(std::exchange(graph_, nullptr));
    changed_.notify_all();
  }
  if (decider_.joinable()) decider_.join();
  // Others may still need what this task has sent them in the last step, and are to see that it has ended.
  const absl::Time deadline = MonotonicNow() + kFarewell;
  exchange_->AwaitPublished(kFarewell);
  while (MonotonicNow() < deadline) {
    bool all_gone = true;
    for (const auto& [task, peer] : exchange_->Peers()) {
      if (peer.state != RegroupPeer::kAnswers) continue;
      all_gone &= peer.note.phase() != TrainingNote::TRAINING || peer.note.held().id() != held.id();
    }
    if (all_gone) break;
    MutexLock lock(mu_);
    lock.WaitUntil(changed_, ToSteady(MonotonicNow() + kLook));
  }
  {
    MutexLock lock(mu_);
    retired = std::move(retired_);
  }
  retired.clear();  // waits
  exchange_.reset();
}

}  // namespace weir
