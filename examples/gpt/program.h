// The GPT's training step in each form of parallelism.
#pragma once

#include <string>
#include <vector>

#include "examples/gpt/model.h"
#include "weir/scope.h"

namespace weir::gpt {

// The values of --parallel.
std::vector<std::string> ParallelForms();

struct ProgramOptions {
  std::string parallel = "none";
  std::string schedule = "1f1b";
  int batch = 8;
  int micro_batches = 4;
  double learning_rate = 0.003;
  bool in_cluster = false;  // use devices of tasks of job worker, rather than of this process
  ModelOptions model;
};

// Outputs and operations are valid in sessions of `scope`, by name.
struct Program {
  Scope model;  // of one device; has the outputs below
  Scope scope;  // for sessions
  Output tokens, labels, loss;
  Operation initialize, train;
  int num_devices = 1;
  std::string description;
};

absl::StatusOr<Program> BuildProgram(const ProgramOptions& options);

}  // namespace weir::gpt
