#include "bench/runner.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace weir::bench {
namespace {

std::string Prepare(Runner& runner, const std::string& graph, const std::string& target) {
  std::string graph_def, text, error;
  StepSpec spec;
  if (!ReadFile(graph + ".spec", &text)) return "cannot read " + graph + ".spec";
  if (!StepSpec::FromText(text, &spec, &error)) return error;
  if (spec.saved_model) return runner.OpenModel(graph, spec);
  if (!ReadFile(graph + ".pb", &graph_def)) return "cannot read " + graph + ".pb";
  if (error = runner.Open(target, graph_def, spec); !error.empty()) return error;
  for (const std::string& node : spec.init) {
    if (error = runner.RunTarget(node); !error.empty()) return error;
  }
  return "";
}

std::string PrintValues(Runner& runner, int count) {
  std::vector<float> values;
  std::string error = runner.FetchSteps(count, &values);
  for (float value : values) std::printf("%.9g\n", value);
  return error;
}

}  // namespace

std::string AnswerOnDemand(const std::function<std::string(int count)>& run_steps) {
  std::string error = run_steps(1);
  if (error.empty()) std::cout << "ready" << std::endl;
  for (int count; error.empty() && std::cin >> count;) {
    const auto start = std::chrono::steady_clock::now();
    error = run_steps(count);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (error.empty()) std::cout << elapsed.count() << std::endl;
  }
  return error;
}

int RunnerMain(int argc, char** argv, Runner& runner) {
  int values = 0;
  if (argc > 3 && std::string(argv[argc - 2]) == "--values") {
    values = std::atoi(argv[argc - 1]);
    argc -= 2;
  }
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s GRAPH [TARGET] [--values N]\n", argv[0]);
    return 2;
  }
  std::string error = Prepare(runner, argv[1], argc == 3 ? argv[2] : "");
  if (error.empty()) {
    error = values > 0 ? PrintValues(runner, values)
                       : AnswerOnDemand([&runner](int count) { return runner.RunSteps(count); });
  }
  if (error.empty()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], error.c_str());
  return 1;
}

}  // namespace weir::bench
