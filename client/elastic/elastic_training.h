// Synchronous training by workers that join and leave while it runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/elastic/elastic_model.h"
#include "client/strategy/communication_options.h"
#include "core/api.h"

namespace WEIR_API weir {

// Leaves slow workers out of the next generation.
struct StragglerPolicy {
  double factor = 0;  // slow: its own time is longer than this times the median's; 0: none is left out
  int window = 5;     // in so many measured steps in turn
};

// A worker's time in a measured step: input and gradients, without waiting for others.
struct WorkerTime {
  std::string task;
  absl::Duration own;
};

struct ElasticStep {
  int64_t global_step = 0;  // after the step
  std::vector<Tensor> fetches;
  absl::Duration duration;
  std::vector<WorkerTime> times;  // of the last measured step before, by rank
};

// The workers have changed.
struct RegroupReport {
  ElasticGeneration generation;
  int64_t global_step = 0;  // from which it continues
  std::string cause;        // why the generation before has ended
  bool received = false;    // this worker got the variables from another one
  absl::Duration pause;     // between the last step of this worker and its first step in this generation
};

struct ElasticOptions {
  std::string name = "training";  // of the training: the same in all its workers
  std::string target;             // "grpc://host:port" of this worker's own server, of a cluster that may grow
  std::string task;               // that server's name, Server::task()
  std::vector<std::string> jobs = {"chief", "master", "worker"};  // whose tasks train
  std::vector<std::string> local_devices = {"/device:CPU:0"};     // a replica on each; the same on all workers
  int initial_workers = 1;                                        // the first step waits for so many
  int min_workers = 1;  // with fewer, workers wait. A majority of all there can be prevents that halves of a network
                        // that was cut train apart
  int max_workers = 64;
  BatchPolicy batch_policy = BatchPolicy::kGlobalBatch;
  int64_t batch_size = 0;  // rows of the global batch, or of each replica's
  int64_t max_steps = 0;   // 0: no limit
  CommunicationOptions communication;
  absl::Duration hang_timeout = absl::Seconds(5);  // a worker that does not answer for this long is lost
  absl::Duration wait_timeout = absl::Minutes(5);  // for enough workers
  int64_t measured_steps = 10;                     // each so many steps own times are measured; 0: never
  StragglerPolicy stragglers;
  std::function<absl::Status(Session& session, const ElasticStep& step)> after_step;  // an error ends the training here
  std::function<void(const RegroupReport& report)> after_regroup;                     // after its first step
};

enum class ElasticEnd {
  kFinished,  // the last step is made, or a worker called Finish
  kLeft,      // this task drains, or Leave was called
  kExcluded,  // it was too slow
};

struct ElasticOutcome {
  ElasticEnd end = ElasticEnd::kFinished;
  int64_t global_step = 0;
};

// One worker's part in a training. All variables are copies that each worker has, as under
// MultiWorkerMirroredStrategy.
// - When a worker joins, drains or is too slow, all end the same step, and continue as the next generation, which was
//   prepared meanwhile. New workers receive the variables.
// - When a worker is lost, the others repeat the step that it was in, from their variables.
// - Ops with a state of their own, such as random ones, begin anew in each generation: keep such state in variables.
// - If all workers with the variables are lost, those that are left begin again, with ElasticModel::start.
class ElasticTraining {
 public:
  ElasticTraining(ElasticOptions options, ElasticModelFunction build);
  ~ElasticTraining();
  ElasticTraining(const ElasticTraining&) = delete;

  // Blocks until the end. Once. INVALID_ARGUMENT for wrong options; DEADLINE_EXCEEDED if there are too few workers;
  // FAILED_PRECONDITION if no worker is left whose variables are whole. Errors of the model and of after_step end it.
  absl::StatusOr<ElasticOutcome> Run();
  // This worker ends after a step, and the others continue. Thread-safe, and does not block.
  void Leave();
  // All workers finish, after one and the same step. Thread-safe, and does not block.
  void Finish();

 private:
  class Worker;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace weir
