// One worker's graph of one generation: the model, its update, and the collectives by which the workers meet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/elastic/elastic_model.h"
#include "client/strategy/communication_options.h"
#include "distribute/membership/regrouping.h"

namespace weir {

// What a member says in each step.
struct StepSignal {
  bool stop = false;        // this step is the generation's last
  bool finish = false;      // and the training's
  absl::Duration own_time;  // of the last measured step: its input and gradients, without waiting for others
};

// Not thread-safe, except for Close.
class GenerationGraph {
 public:
  struct Options {
    std::string target;  // of this worker's server
    std::vector<std::string> local_devices;
    ElasticModelFunction build;
    BatchPolicy batch_policy = BatchPolicy::kGlobalBatch;
    int64_t batch_size = 0;
    int initial_workers = 1;
    CommunicationOptions communication;
    absl::Duration meet_timeout = absl::Minutes(1);
  };

  // Builds the graph and connects. `holder` is the generation that trains meanwhile, if any: its first member in `plan`
  // will most likely be the source, and those that are new will need its state.
  static absl::StatusOr<std::unique_ptr<GenerationGraph>> Build(const Options& options, const TrainingGeneration& plan,
                                                                const TrainingMember& self,
                                                                const TrainingGeneration& holder);

  const TrainingGeneration& generation() const { return generation_; }
  const ElasticGeneration& info() const { return info_; }
  Session& session() { return *session_; }

  // All members call these together, each with its own arguments, and get the same result.
  absl::Status Meet();
  absl::StatusOr<std::vector<MemberState>> Exchange(const MemberState& own);
  // Copies the variables of rank `source` to the needy.
  absl::Status CopyState(int source, const std::vector<int>& needy);

  // One step. `measured`, if not null, receives the time from `begin` until this worker's gradients are there.
  struct StepResult {
    std::vector<StepSignal> signals;  // by rank
    int64_t global_step = 0;
    std::vector<Tensor> fetches;
  };
  absl::StatusOr<StepResult> Step(int64_t step, const StepSignal& own, absl::Duration* measured);

  // The initial values, and what the model starts with; of one worker. Returns the global step.
  absl::StatusOr<int64_t> Initialize();
  // Of this worker's variables. Not whole if they cannot be read.
  void ReadState(MemberState* state);

  // Ends running calls with an error. Thread-safe.
  void Close();

 private:
  GenerationGraph(const Options& options, TrainingGeneration plan, const TrainingMember& self);
  absl::Status BuildGraph();
  absl::Status BuildStep();
  void BuildMeeting();
  absl::Status BuildCopy(int source, const std::vector<int>& needy);
  absl::Status Connect();
  // Of all members' values.
  Output Gather(const Scope& scope, const Output& value, int instance) const;
  // For a copy of a variable between tasks.
  static DataType SentType(DataType dtype);
  static bool IsCopied(const ResourceVariable& variable);
  int num_workers() const { return generation_.member_size(); }
  int num_local() const { return static_cast<int>(options_.local_devices.size()); }

  const Options options_;
  const TrainingGeneration generation_;
  ElasticGeneration info_;
  int group_key_ = 0, first_instance_ = 0;
  std::vector<RowRange> rows_;
  std::unique_ptr<Strategy> strategy_;
  ElasticModel model_;
  ResourceVariable global_step_, whole_;
  // The step.
  Output signal_, signals_, step_after_, measured_;
  Operation train_, measure_, initialize_, set_whole_;
  // The meeting.
  Output own_state_, states_, state_;
  struct Copy {
    int source = -1;
    std::vector<int> needy;
    Operation copied;  // invalid: this worker has no part in it
  };
  Copy copy_;
  std::unique_ptr<Session> session_;
};

}  // namespace weir
