// The protocol between bench/run.py and a runner: a program that times steps on request.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/step_spec.h"

namespace weir::bench {

// One session with one graph. Methods return error messages; empty on success.
class Runner {
 public:
  virtual ~Runner() = default;
  // Opens a session on `target` ("": this process) with the serialised GraphDef.
  virtual std::string Open(const std::string& target, const std::string& graph_def, const StepSpec& spec) = 0;
  // Loads the SavedModel in `folder` into this process.
  virtual std::string OpenModel(const std::string& folder, const StepSpec& spec) = 0;
  virtual std::string RunTarget(const std::string& node) = 0;
  // Builds the step's feeds, then runs it `count` times.
  virtual std::string RunSteps(int count) = 0;
  // Appends the first fetch, a float scalar, of each of `count` steps.
  virtual std::string FetchSteps(int count, std::vector<float>* values) {
    (void)count, (void)values;
    return "this runner fetches nothing";
  }
};

// Runs one step and prints "ready". Then each line N on standard input runs N steps and prints the time taken in
// seconds. Returns at the end of input, or with an error of `run_steps`.
std::string AnswerOnDemand(const std::function<std::string(int count)>& run_steps);

// Usage: PROGRAM GRAPH [TARGET] [--values N]. Reads GRAPH.spec, and GRAPH.pb or the SavedModel in GRAPH, opens the
// session, initialises, and calls AnswerOnDemand, or prints the first fetch of each of N steps, a line each. Returns
// the exit status; errors go to standard error.
int RunnerMain(int argc, char** argv, Runner& runner);

}  // namespace weir::bench
