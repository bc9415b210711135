// The next generation's graph, made while this one trains.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "client/elastic/generation_graph.h"
#include "core/mutex.h"

namespace weir {

// Builds a generation's graph and meets the other members once, so that their groups are formed. Thread-safe. Owns a
// thread.
class GenerationPreparation {
 public:
  enum class State { kRunning, kReady, kFailed };

  // `on_change` is called, with no lock held, when the state has changed.
  GenerationPreparation(const GenerationGraph::Options& options, const TrainingGeneration& plan,
                        const TrainingMember& self, const TrainingGeneration& holder, std::function<void()> on_change);
  ~GenerationPreparation();  // cancels it, and waits for its end

  const TrainingGeneration& plan() const { return plan_; }
  State state() const;
  absl::Status status() const;
  // Whether the model could not be built: trying again is of no use.
  bool is_model_error() const;
  // Null unless the graph is built.
  std::shared_ptr<GenerationGraph> graph() const;
  // Ends calls of the graph, unless it was taken.
  void Cancel();
  // The graph is the caller's from now on.
  std::shared_ptr<GenerationGraph> Take();

 private:
  void Prepare(const GenerationGraph::Options& options, const TrainingMember& self, const TrainingGeneration& holder);
  void End(State state, const absl::Status& status, bool is_model_error);

  const TrainingGeneration plan_;
  const std::function<void()> on_change_;
  mutable Mutex mu_;
  State state_ GUARDED_BY(mu_) = State::kRunning;
  absl::Status status_ GUARDED_BY(mu_);
  bool is_model_error_ GUARDED_BY(mu_) = false;
  bool cancelled_ GUARDED_BY(mu_) = false;
  std::shared_ptr<GenerationGraph> graph_ GUARDED_BY(mu_);
  std::thread thread_;
};

// The task is lost, or its work was ended: what failed may succeed later, perhaps with other workers.
bool MayPass(const absl::Status& status);

}  // namespace weir
