// The GPT's training step, in each of the forms in which devices share its work.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "examples/gpt/model.h"

namespace weir::gpt {

// What --parallel takes.
std::vector<std::string> ParallelForms();

struct ProgramOptions {
  std::string parallel = "none";
  std::string schedule = "1f1b";
  int batch = 8;
  int micro_batches = 4;
  double learning_rate = 0.003;
  bool in_cluster = false;  // devices are those of tasks of job worker; else of this process
  ModelOptions model;
};

// Outputs and operations are known to a session of `scope` by their names.
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
