#include "client/elastic/elastic_training.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/elastic/elastic_worker.h"
#include "core/clock.h"
#include "core/logging.h"

namespace weir {
namespace {

constexpr absl::Duration kWaitSlice = absl::Milliseconds(20);
// For a plan without this worker to be seen, once a step was the last.
constexpr absl::Duration kPlanPatience = absl::Seconds(1);

absl::Status CheckOptions(const ElasticOptions& options) {
  const auto wrong = [](auto&&... what) { return errors::InvalidArgument("ElasticOptions: ", what...); };
  if (options.target.empty() || options.task.empty())
    return wrong("target and task of this worker's server are missing");
  if (options.local_devices.empty()) return wrong("local_devices is empty");
  if (options.batch_size <= 0) return wrong("batch_size must be positive but is ", options.batch_size);
  if (options.min_workers < 1 || options.initial_workers < 1 || options.max_workers < options.min_workers ||
      options.max_workers < options.initial_workers) {
    return wrong("workers must be 1 <= min (", options.min_workers, "), initial (", options.initial_workers,
                 ") <= max (", options.max_workers, ")");
  }
  if (options.batch_policy == BatchPolicy::kGlobalBatch &&
      options.batch_size < static_cast<int64_t>(options.local_devices.size()) * options.initial_workers) {
    return wrong("a global batch of ", options.batch_size, " rows is too small for ", options.initial_workers,
                 " workers of ", options.local_devices.size(), " replicas");
  }
  return absl::OkStatus();
}

}  // namespace

ElasticTraining::ElasticTraining(ElasticOptions options, ElasticModelFunction build)
    : worker_(std::make_unique<Worker>(std::move(options), std::move(build))) {}

ElasticTraining::~ElasticTraining() = default;

absl::StatusOr<ElasticOutcome> ElasticTraining::Run() { return worker_->Run(); }

void ElasticTraining::Leave() { worker_->Leave(); }

void ElasticTraining::Finish() { worker_->Finish(); }

absl::StatusOr<ElasticOutcome> ElasticTraining::Worker::Train() {
  RETURN_IF_ERROR(CheckOptions(options_));
  while (true) {
    ASSIGN_OR_RETURN(const std::shared_ptr<GenerationPreparation> preparation, AwaitPlan());
    if (preparation == nullptr) return ElasticOutcome{ElasticEnd::kLeft, state_.step};
    absl::Status entered = Enter(*preparation);
    if (!entered.ok()) {
      MutexLock lock(mu_);
      // The other thread may have given the plan up: whatever failed is over.
      if (preparation_ != preparation) continue;
      if (!MayPass(entered) && !absl::IsInternal(entered)) return entered;
      BeginToWait(entered.ToString());
      continue;
    }
    absl::StatusOr<Outcome> outcome = Outcome::kRegroup;
    while (true) {
      outcome = Step();
      RETURN_IF_ERROR(outcome.status());
      if (*outcome != Outcome::kRegroup) break;
      MutexLock lock(mu_);
      if (graph_ == nullptr || note_.phase() != TrainingNote::TRAINING) break;
    }
    switch (*outcome) {
      case Outcome::kFinished:
        return ElasticOutcome{ElasticEnd::kFinished, state_.step};
      case Outcome::kLeft:
        return ElasticOutcome{ElasticEnd::kLeft, state_.step};
      case Outcome::kExcluded:
        return ElasticOutcome{ElasticEnd::kExcluded, state_.step};
      case Outcome::kRegroup:
        break;
    }
  }
}

absl::StatusOr<std::shared_ptr<GenerationPreparation>> ElasticTraining::Worker::AwaitPlan() {
  const absl::Time deadline = MonotonicNow() + options_.wait_timeout;
  MutexLock lock(mu_);
  while (true) {
    if (note_.phase() == TrainingNote::ENTERING && preparation_ != nullptr) {
      if (preparation_->state() == GenerationPreparation::State::kReady) return preparation_;
      if (preparation_->is_model_error()) return preparation_->status();
    }
    if (leaving_ && note_.phase() == TrainingNote::WAITING) return nullptr;
    if (MonotonicNow() > deadline) {
      return errors::DeadlineExceeded("Training '", options_.name, "': ", options_.task, " has waited ",
                                      absl::FormatDuration(options_.wait_timeout),
                                      " for workers to train with: at least ", options_.min_workers, ", and ",
                                      options_.initial_workers, " at first (", cause_, ")");
    }
    lock.WaitUntil(changed_, ToSteady(MonotonicNow() + kWaitSlice));
  }
}

absl::Status ElasticTraining::Worker::Enter(GenerationPreparation& preparation) {
  const std::shared_ptr<GenerationGraph> graph = preparation.graph();
  if (graph == nullptr) return errors::Cancelled("The plan was given up");
  if (doubted_ && state_.number > 0) graph->ReadState(&state_);
  ASSIGN_OR_RETURN(const std::vector<MemberState> states, graph->Exchange(state_));
  doubted_ = false;  // a graph that was closed while it read says nothing about the variables
  ASSIGN_OR_RETURN(const int source, SourceOf(states));
  const std::vector<int> needy = NeedyOf(states, source);
  const int rank = graph->info().rank;
  MemberState state = states[rank];
  if (rank == source && state.number == 0) {
    ASSIGN_OR_RETURN(state.step, graph->Initialize());
  }
  const bool receives = std::find(needy.begin(), needy.end(), rank) != needy.end();
  if (!needy.empty()) {
    doubted_ = receives;
    if (receives) state_.whole = false;
    RETURN_IF_ERROR(graph->CopyState(source, needy));
  }
  if (receives) {
    graph->ReadState(&state);
    if (!state.whole) return errors::Internal("The variables that ", options_.task, " received cannot be read");
    doubted_ = false;
  }
  report_ = RegroupReport{.generation = graph->info(), .global_step = state.step, .received = receives};
  return Hold(preparation, state);
}

absl::Status ElasticTraining::Worker::Hold(GenerationPreparation& preparation, const MemberState& state) {
  const TrainingGeneration& plan = preparation.plan();
  // The variables are this generation's, whether it makes a step or not.
  state_ = {.number = plan.number(), .id = plan.id(), .step = state.step, .whole = true};
  MutexLock lock(mu_);
  if (preparation_.get() != &preparation || note_.phase() != TrainingNote::ENTERING) {
    return errors::Aborted("The plan was given up");
  }
  Retire(std::exchange(graph_, preparation.Take()));
  if (graph_ == nullptr) return errors::Aborted("The plan was given up");
  preparation_ = nullptr;  // the caller has it too
  *note_.mutable_held() = plan;
  note_.clear_prepared();
  note_.set_phase(TrainingNote::TRAINING);
  report_->cause = cause_;
  exchange_->SetUrgent(false);
  Publish();
  ++changes_;
  changed_.notify_all();
  return absl::OkStatus();
}

absl::StatusOr<ElasticTraining::Worker::Outcome> ElasticTraining::Worker::Step() {
  std::shared_ptr<GenerationGraph> graph;
  StepSignal signal{.own_time = own_time_};
  {
    MutexLock lock(mu_);
    graph = graph_;
    if (graph == nullptr) return Outcome::kRegroup;
    signal.finish = finishing_;
    const bool is_alone = note_.held().member_size() == 1;
    if (leaving_ && (is_alone || MonotonicNow() > leave_by_)) return Outcome::kLeft;
    signal.stop = preparation_ != nullptr && preparation_->state() == GenerationPreparation::State::kReady;
    if (preparation_ != nullptr && preparation_->is_model_error()) return preparation_->status();
  }
  if (options_.max_steps > 0 && state_.step >= options_.max_steps) return Outcome::kFinished;
  const bool is_measured = options_.measured_steps > 0 && state_.step % options_.measured_steps == 0;
  absl::Duration measured;
  const absl::Time start = MonotonicNow();
  absl::StatusOr<GenerationGraph::StepResult> result =
      graph->Step(state_.step, signal, is_measured ? &measured : nullptr);
  if (!result.ok()) {
    doubted_ = true;
    MutexLock lock(mu_);
    // Closed by the other thread: another worker is lost, whatever the error.
    const bool was_closed = graph_ != graph;
    if (!was_closed && !MayPass(result.status()) && !absl::IsInternal(result.status())) return result.status();
    if (!was_closed) BeginToWait(result.status().ToString());
    return Outcome::kRegroup;
  }
  if (is_measured) own_time_ = measured;
  return AfterStep(graph, *result, MonotonicNow() - start);
}

absl::StatusOr<ElasticTraining::Worker::Outcome> ElasticTraining::Worker::AfterStep(
    const std::shared_ptr<GenerationGraph>& graph, const GenerationGraph::StepResult& result, absl::Duration duration) {
  state_.step = result.global_step;
  Report();
  const TrainingGeneration& generation = graph->generation();
  // The times arrive with the step after the measured one.
  if (options_.measured_steps > 0 && (state_.step - 2) % options_.measured_steps == 0) {
    std::vector<absl::Duration> own;
    times_.clear();
    for (int rank = 0; rank < generation.member_size(); ++rank) {
      own.push_back(result.signals[rank].own_time);
      times_.push_back({generation.member(rank).task(), own.back()});
    }
    for (const auto& slow : slow_.Add(generation, own)) {
      MutexLock lock(mu_);
      if (!excluded_.insert(slow).second) continue;
      WEIR_LOG(WARNING).With("task", slow.first) << "a slow worker is left out of the next generation";
    }
  }
  if (options_.after_step != nullptr && BeginToUse(graph)) {
    const absl::Status called = options_.after_step(
        graph->session(),
        {.global_step = state_.step, .fetches = result.fetches, .duration = duration, .times = times_});
    EndUse();
    RETURN_IF_ERROR(called);
  }
  last_step_ = MonotonicNow();
  const auto any = [&](bool StepSignal::*flag) {
    return std::any_of(result.signals.begin(), result.signals.end(), [&](const auto& s) { return s.*flag; });
  };
  if (any(&StepSignal::finish) || (options_.max_steps > 0 && state_.step >= options_.max_steps)) {
    return Outcome::kFinished;
  }
  const bool stops = any(&StepSignal::stop);
  return stops ? EndGeneration() : Outcome::kRegroup;
}

bool ElasticTraining::Worker::BeginToUse(const std::shared_ptr<GenerationGraph>& graph) {
  MutexLock lock(mu_);
  if (graph_ != graph) return false;  // its session is being closed
  in_use_ = graph;
  return true;
}

void ElasticTraining::Worker::EndUse() {
  MutexLock lock(mu_);
  in_use_ = nullptr;
  changed_.notify_all();
}

void ElasticTraining::Worker::Report() {
  if (!report_) return;
  report_->pause = last_step_ ? MonotonicNow() - *last_step_ : absl::ZeroDuration();
  WEIR_LOG(INFO)
          .With("task", options_.task)
          .With("generation", report_->generation.number)
          .With("workers", report_->generation.tasks.size())
          .With("rank", report_->generation.rank)
          .With("step", report_->global_step)
          .With("pause", absl::FormatDuration(report_->pause))
      << "a new generation trains" << (report_->received ? ", with variables from another worker" : "");
  if (options_.after_regroup != nullptr) options_.after_regroup(*report_);
  report_.reset();
}

// All workers know that the step was the last. Those of the plan enter it, and the others end.
ElasticTraining::Worker::Outcome ElasticTraining::Worker::EndGeneration() {
  exchange_->SetUrgent(true);
  const absl::Time deadline = MonotonicNow() + kPlanPatience;
  MutexLock lock(mu_);
  while (note_.phase() == TrainingNote::TRAINING) {
    if (preparation_ != nullptr) {
      cause_ = "workers join or leave";
      note_.set_phase(TrainingNote::ENTERING);
      Publish();
      break;
    }
    if (IsLeftOut()) return leaving_ ? Outcome::kLeft : Outcome::kExcluded;
    if (MonotonicNow() > deadline) {
      BeginToWait("the plan was given up");
      break;
    }
    lock.WaitUntil(changed_, ToSteady(MonotonicNow() + kWaitSlice));
  }
  return Outcome::kRegroup;
}

}  // namespace weir
