// The measures: each disturbs real processes and compares what happened with a bound.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "tests/chaos/report.h"

namespace weir::chaos {

struct Settings {
  std::string weir;       // the path of the program
  std::string directory;  // for logs and checkpoints; kept if a bound is broken
  uint64_t seed = 1;      // of all random choices
  bool brief = false;     // the form of seconds
  int64_t runs = 0;       // or clients; 0: the measure's default
  double minutes = 0;     // of the soak; 0: the default
};

// Each prints its rows and returns whether all bounds hold; an error if it could not measure, or if a process did what
// it never should.

// SIGKILL to each role at random points of a job: the result has the same bits as without.
absl::StatusOr<Verdict> MeasureKill(const Settings& settings);
// SIGKILL to the chief during a save, and a flipped bit in the newest checkpoint: it resumes from the newest whole one.
absl::StatusOr<Verdict> MeasureSave(const Settings& settings);
// Cuts between hosts, of 5 s and 60 s, and suspended tasks: each step of a ledger happens once or not at all, in order.
absl::StatusOr<Verdict> MeasurePartition(const Settings& settings);
// The time until an error names the task that was killed, suspended or cut off, whatever the wall clock does.
absl::StatusOr<Verdict> MeasureCulprit(const Settings& settings);
// The time from the return of a task, or of the master, to the next step; beside TensorFlow's if WEIR_TF_PYTHON is set.
absl::StatusOr<Verdict> MeasureReturn(const Settings& settings);
// Clients and masters that are killed in mid-step: memory, threads and open files of the servers stay flat.
absl::StatusOr<Verdict> MeasureClients(const Settings& settings);
// Workers and servers join a cluster, leave it, and workers are killed, while others step: these neither fail nor wait,
// and each step of a ledger happens once or not at all, in order, wherever it has moved.
absl::StatusOr<Verdict> MeasureJoin(const Settings& settings);
// Parameter servers that stand by for each other are killed and stopped: each step of a ledger happens once or not at
// all, in order, and the clients pause for a second at most.
absl::StatusOr<Verdict> MeasureFailOver(const Settings& settings);
// Training on dealt input while workers join, stop, leave and are killed: each example of an epoch is seen once.
absl::StatusOr<Verdict> MeasureDeal(const Settings& settings);
// Workers train together by collectives while others join, leave and are killed: how long the others pause; the weights
// are those of an undisturbed training.
absl::StatusOr<Verdict> MeasureRegroup(const Settings& settings);
// Training with random faults of all kinds: its results have the same bits, and the servers stay flat.
absl::StatusOr<Verdict> MeasureSoak(const Settings& settings);

}  // namespace weir::chaos
