// A worker of an elastic training as a process of its own: its server, and the program that trains.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// The arguments of the program.
struct WorkerProgram {
  std::string cluster;      // JSON; or
  std::string join;         // "host:port" of a task
  int index = 0;            // with `cluster`
  std::string ready_file;   // written when its server serves
  std::string result_file;  // gets the step and the variables' values at the end
  int initial_workers = 1;
  int min_workers = 1;
  int64_t hang_millis = 2000;
  int64_t kill_at = -1, stop_at = -1;  // SIGKILL or SIGSTOP to itself within the step after this one
  int64_t slow_millis = 0;             // its input takes so long
  double straggler_factor = 0;
  bool per_worker_batch = false;
};

// Trains until SIGUSR1 to any worker (all finish) or SIGTERM (this one leaves). Prints a line for each step and each
// generation. Returns the exit code.
int RunWorkerProgram(const WorkerProgram& options);

// What a worker printed.
struct WorkerProgress {
  int64_t step = 0, generation = 0;
  int workers = 0, rank = 0;
  struct Regrouping {
    int before = 0, workers = 0;  // in the generations before and after
    absl::Duration pause;
  };
  std::vector<Regrouping> regroupings;  // after its first generation
};
WorkerProgress ParseProgress(const std::string& log);

// The result file of a worker that has finished.
struct WorkerResult {
  int64_t step = 0;
  std::map<std::string, Tensor> variables;
};
absl::StatusOr<WorkerResult> ReadWorkerResult(const std::string& path);
// The same training for so many steps, on one device and without disturbances.
absl::StatusOr<WorkerResult> TrainUndisturbed(int64_t steps);
// OK if both have the same variables within the reordering of float sums; otherwise names the first difference.
absl::Status CompareResults(const WorkerResult& actual, const WorkerResult& expected);

}  // namespace weir
