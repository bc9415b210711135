// The conversation between bench/run.py and a runner: a program that times steps on demand.
#pragma once

#include <functional>
#include <string>

#include "bench/step_spec.h"

namespace weir::bench {

// One session with one graph. Errors are messages; empty means fine.
class Runner {
 public:
  virtual ~Runner() = default;
  // Opens a session on `target` ("" is this process) with the serialised GraphDef.
  virtual std::string Open(const std::string& target, const std::string& graph_def, const StepSpec& spec) = 0;
  virtual std::string RunTarget(const std::string& node) = 0;
  // Builds what the step is fed, then runs it `count` times.
  virtual std::string RunSteps(int count) = 0;
};

// Runs a step and prints "ready". Then each line N on standard input runs N steps and prints how many seconds they
// took. Ends with standard input, or with an error of `run_steps`, which it gives.
std::string AnswerOnDemand(const std::function<std::string(int count)>& run_steps);

// Usage: PROGRAM GRAPH [TARGET], which reads GRAPH.pb and GRAPH.spec, opens the session, initialises, and answers on
// demand. Returns the exit status; errors go to standard error.
int RunnerMain(int argc, char** argv, Runner& runner);

}  // namespace weir::bench
