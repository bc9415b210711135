#include "client/elastic/generation_preparation.h"

#include <utility>

namespace weir {

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status);
}

GenerationPreparation::GenerationPreparation(const GenerationGraph::Options& options, const TrainingGeneration& plan,
                                             const TrainingMember& self, const TrainingGeneration& holder,
                                             std::function<void()> on_change)
    : plan_(plan), on_change_(std::move(on_change)) {
  thread_ = std::thread([this, options, self, holder] { Prepare(options, self, holder); });
}

GenerationPreparation::~GenerationPreparation() {
  Cancel();
  thread_.join();
}

GenerationPreparation::State GenerationPreparation::state() const {
  MutexLock lock(mu_);
  return state_;
}

absl::Status GenerationPreparation::status() const {
  MutexLock lock(mu_);
  return status_;
}

bool GenerationPreparation::is_model_error() const {
  MutexLock lock(mu_);
  return is_model_error_;
}

std::shared_ptr<GenerationGraph> GenerationPreparation::graph() const {
  MutexLock lock(mu_);
  return graph_;
}

void GenerationPreparation::Cancel() {
  std::shared_ptr<GenerationGraph> graph;
  {
    MutexLock lock(mu_);
    cancelled_ = true;
    graph = graph_;
  }
  if (graph != nullptr) graph->Close();
}

std::shared_ptr<GenerationGraph> GenerationPreparation::Take() {
  MutexLock lock(mu_);
  return std::exchange(graph_, nullptr);
}

void GenerationPreparation::Prepare(const GenerationGraph::Options& options, const TrainingMember& self,
                                    const TrainingGeneration& holder) {
  auto graph = GenerationGraph::Build(options, plan_, self, holder);
  if (!graph.ok()) return End(State::kFailed, graph.status(), !MayPass(graph.status()));
  const std::shared_ptr<GenerationGraph> built = *std::move(graph);
  bool is_cancelled = false;
  {
    MutexLock lock(mu_);
    graph_ = built;
    is_cancelled = cancelled_;
  }
  if (is_cancelled) return End(State::kFailed, errors::Cancelled("The plan was given up"), false);
  const absl::Status met = built->Meet();
  End(met.ok() ? State::kReady : State::kFailed, met, false);
}

void GenerationPreparation::End(State state, const absl::Status& status, bool is_model_error) {
  {
    MutexLock lock(mu_);
    state_ = cancelled_ && state == State::kReady ? State::kFailed : state;
    status_ = status;
    is_model_error_ = is_model_error;
  }
  on_change_();
}

}  // namespace weir
