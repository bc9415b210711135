// The thread that steps, and the one that agrees with other workers on who steps together.
#pragma once

#include <condition_variable>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/elastic/elastic_training.h"
#include "client/elastic/generation_graph.h"
#include "client/elastic/generation_preparation.h"
#include "client/elastic/note_exchange.h"
#include "client/elastic/slow_workers.h"
#include "core/mutex.h"

namespace weir {

class ElasticTraining::Worker {
 public:
  Worker(ElasticOptions options, ElasticModelFunction build);
  ~Worker();

  absl::StatusOr<ElasticOutcome> Run();
  void Leave();
  void Finish();

 private:
  enum class Outcome { kRegroup, kFinished, kLeft, kExcluded };

  // The thread that decides.
  void Decide();
  void DecideOnce();
  void Act(const RegroupAction& action, const RegroupPeers& peers) REQUIRES(mu_);
  void Prepare(const TrainingGeneration& plan, const RegroupPeers& peers) REQUIRES(mu_);
  void Forget() REQUIRES(mu_);
  void BeginToWait(const std::string& cause) REQUIRES(mu_);
  void Publish() REQUIRES(mu_);
  void Retire(std::shared_ptr<GenerationGraph> graph) REQUIRES(mu_);
  void Wake();

  // The thread that steps.
  absl::StatusOr<ElasticOutcome> Train();
  // The plan that this worker enters, prepared; null: it leaves.
  absl::StatusOr<std::shared_ptr<GenerationPreparation>> AwaitPlan();
  absl::Status Enter(GenerationPreparation& preparation);
  absl::Status Hold(GenerationPreparation& preparation, const MemberState& state);
  absl::StatusOr<Outcome> Step();
  absl::StatusOr<Outcome> AfterStep(const std::shared_ptr<GenerationGraph>& graph,
                                    const GenerationGraph::StepResult& result, absl::Duration duration);
  // The program uses the graph's session until EndUse. False if it is being closed.
  bool BeginToUse(const std::shared_ptr<GenerationGraph>& graph);
  void EndUse();
  void Report();
  // A step was the last of its generation.
  Outcome EndGeneration();
  // Whether a plan of another worker leaves this one out.
  bool IsLeftOut() const REQUIRES(mu_);
  void End();

  const ElasticOptions options_;
  const ElasticModelFunction build_;
  GenerationGraph::Options graph_options_;
  TrainingMember self_;
  std::unique_ptr<NoteExchange> exchange_;

  mutable Mutex mu_;
  std::condition_variable changed_;
  int64_t changes_ GUARDED_BY(mu_) = 0;
  bool ending_ GUARDED_BY(mu_) = false;
  bool leaving_ GUARDED_BY(mu_) = false, finishing_ GUARDED_BY(mu_) = false;
  absl::Time leave_by_ GUARDED_BY(mu_);  // even if the others do not regroup
  TrainingNote note_ GUARDED_BY(mu_);
  std::string cause_ GUARDED_BY(mu_) = "the training begins";
  std::set<std::pair<std::string, uint64_t>> excluded_ GUARDED_BY(mu_);
  std::shared_ptr<GenerationPreparation> preparation_ GUARDED_BY(mu_);  // of note_.prepared
  std::shared_ptr<GenerationGraph> graph_ GUARDED_BY(mu_);              // of note_.held
  std::shared_ptr<GenerationGraph> in_use_ GUARDED_BY(mu_);             // is closed once it is not
  std::vector<std::future<void>> retired_ GUARDED_BY(mu_);

  // Of the thread that steps.
  MemberState state_;
  bool doubted_ = false;  // the variables may be of another step than state_
  absl::Duration own_time_;
  std::vector<WorkerTime> times_;
  SlowWorkers slow_;
  std::optional<absl::Time> last_step_;
  std::optional<RegroupReport> report_;  // until the first step
  std::thread decider_;
};

}  // namespace weir
