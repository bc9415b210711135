// A worker of an elastic training; started by elastic_test.
#include <CLI/CLI.hpp>

#include "tests/elastic/worker_process.h"

int main(int argc, char** argv) {
  CLI::App app("Trains with others.");
  weir::WorkerProgram options;
  app.add_option("--cluster", options.cluster);
  app.add_option("--join", options.join);
  app.add_option("--index", options.index);
  app.add_option("--ready-file", options.ready_file)->required();
  app.add_option("--result-file", options.result_file)->required();
  app.add_option("--initial-workers", options.initial_workers);
  app.add_option("--min-workers", options.min_workers);
  app.add_option("--hang-millis", options.hang_millis);
  app.add_option("--kill-at", options.kill_at);
  app.add_option("--stop-at", options.stop_at);
  app.add_option("--slow-millis", options.slow_millis);
  app.add_option("--straggler-factor", options.straggler_factor);
  app.add_flag("--per-worker-batch", options.per_worker_batch);
  CLI11_PARSE(app, argc, argv);
  return weir::RunWorkerProgram(options);
}
