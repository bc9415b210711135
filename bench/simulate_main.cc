// weir_simulate: prints a table of the step time of synchronous data-parallel training with up to a thousand workers,
// according to the cost model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/simulation.h"
#include "distribute/collective/algorithms.h"

namespace weir::bench {
namespace {

struct Flags {
  double megabytes = 100, compute_ms = 100;
  int per_host = 8, most_workers = 1000;
};

constexpr Algorithm kAlgorithms[] = {Algorithm::kRing, Algorithm::kHalvingDoubling, Algorithm::kHierarchical};
constexpr int kFewServers = 8;

// One line of the table: cells have the time of the exchange in ms, simulated and, in parentheses, predicted.
class Line {
 public:
  explicit Line(int workers) { absl::StrAppendFormat(&text_, "%7d", workers); }

  void Add(const ExchangeTime& time) {
    Cell(absl::StrFormat("%.3g (%.3g)", time.simulated * 1e3, time.predicted * 1e3));
    best_ = std::min(best_, time.simulated * 1e3);
  }
  void AddNothing() { Cell("-"); }
  std::string Finish(double compute_ms) {
    const double step = compute_ms + best_;
    return absl::StrFormat("%s%11.4g ms%11.0f %%", text_, step, 100 * compute_ms / step);
  }

 private:
  void Cell(const std::string& cell) { absl::StrAppendFormat(&text_, "%20s", cell); }
  std::string text_;
  double best_ = 1e9;
};

absl::StatusOr<std::string> LineOf(const Flags& flags, int workers) {
  const double bytes = flags.megabytes * 1e6;
  const Topology topology = WorkersOnHosts(workers, flags.per_host);
  Line line(workers);
  for (const Algorithm algorithm : kAlgorithms) {
    if (!absl::c_linear_search(AlgorithmsFor(CollectiveKind::kAllReduce, topology), algorithm)) {
      line.AddNothing();
      continue;
    }
    ASSIGN_OR_RETURN(const ExchangeTime time, AllReduceTime(algorithm, bytes, workers, flags.per_host));
    line.Add(time);
  }
  for (const int servers : {kFewServers, topology.num_hosts()}) {
    line.Add(ParameterServerTime(servers, bytes, workers, flags.per_host));
  }
  return line.Finish(flags.compute_ms);
}

absl::Status PrintTable(const Flags& flags) {
  const LinkCosts costs;
  std::printf(
      "Gradients of %.4g MB, %d workers per host; exchange in ms: simulated (predicted). A step computes for %.4g ms, "
      "then\n"
      "exchanges with the fastest method. Links: %.3g us and %.3g GB/s within a host, %.3g us and %.3g GB/s among\n"
      "hosts; bytes are consumed at %.3g GB/s.\n\n",
      flags.megabytes, flags.per_host, flags.compute_ms, costs.within_host.latency * 1e6,
      1e-9 / costs.within_host.seconds_per_byte, costs.between_hosts.latency * 1e6,
      1e-9 / costs.between_hosts.seconds_per_byte, 1e-9 / costs.consume_seconds_per_byte);
  std::printf(
      "workers                ring    halving-doubling        hierarchical %11d servers   a server per host"
      "          step    efficiency\n",
      kFewServers);
  for (int workers = 2; workers <= flags.most_workers;) {
    ASSIGN_OR_RETURN(const std::string line, LineOf(flags, workers));
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    workers = workers < flags.most_workers ? std::min(workers * 2, flags.most_workers) : workers + 1;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Flags flags;
  CLI::App app("Simulates the step time of synchronous training with many workers.");
  app.add_option("--megabytes", flags.megabytes, "size of a worker's gradients")->check(CLI::Range(0.001, 1e4));
  app.add_option("--compute-ms", flags.compute_ms, "computation time of a step")->check(CLI::Range(0.0, 1e6));
  app.add_option("--workers-per-host", flags.per_host, "workers sharing a host's link")->check(CLI::Range(1, 1000));
  app.add_option("--most-workers", flags.most_workers, "largest number of workers")->check(CLI::Range(2, 4000));
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = weir::bench::PrintTable(flags); !status.ok()) {
    std::fprintf(stderr, "weir_simulate: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
