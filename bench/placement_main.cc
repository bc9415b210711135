// weir_placement: prints the simulated step time of six models placed by cost and as TensorFlow places.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/graphs/placement_graphs.h"
#include "core/clock.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph_import.h"
#include "graph/placement/cost_placer.h"
#include "kernels/library.h"

namespace weir::bench {
namespace {

struct Flags {
  // Hosts of 8, 4, 4 and 2 cores, with 25 GFLOP/s a core.
  std::string devices =
      "/job:worker/task:0/device:CPU:0=gflops:200,gbs:20;/job:worker/task:1/device:CPU:0=gflops:100,gbs:15;"
      "/job:worker/task:2/device:CPU:0=gflops:100,gbs:15;/job:worker/task:3/device:CPU:0=gflops:50,gbs:10";
  std::string link = "latency_us=150,gbs=3";
  int effort = 100;
  bool is_small = false;
  double at_least = 0;
};

struct Registries {
  OpRegistry ops;
  KernelRegistry kernels;
};

double Milliseconds(const CostPlacement& placement, const std::string& name) {
  const auto found = std::find_if(placement.others.begin(), placement.others.end(),
                                  [&](const SimulatedPlacement& other) { return other.name == name; });
  return (found != placement.others.end() ? *found : placement.chosen).step.seconds * 1e3;
}

absl::Status PrintTable(const Flags& flags) {
  Registries registries;
  RETURN_IF_ERROR(RegisterAllOps(registries.ops));
  RETURN_IF_ERROR(RegisterAllKernels(registries.kernels));
  ASSIGN_OR_RETURN(std::vector<DeviceCosts> devices, ParseDeviceCosts(flags.devices));
  ASSIGN_OR_RETURN(const TransferCost link, ParseTransferCost(flags.link));
  ClusterCosts costs(std::move(devices));
  costs.set_links(link);
  for (const DeviceCosts& device : costs.devices()) {
    std::printf("%s: %.4g GFLOP/s, %.4g GB/s\n", device.name.ToString().c_str(), device.flops_per_second * 1e-9,
                device.bytes_per_second * 1e-9);
  }
  std::printf(
      "links: %.4g us, %.4g GB/s. Step times in ms, simulated. Round-robin and greedy (by bytes) spread the variables; "
      "all else is\n"
      "on the worker with which the step is fastest. Ratio: round-robin / by cost.\n\n",
      link.latency * 1e6, 1e-9 / link.seconds_per_byte);
  std::printf(
      "model           kernels   first fit  single device  round-robin      greedy     by cost   ratio   placed in\n");
  ASSIGN_OR_RETURN(const std::vector<PlacementGraph> graphs,
                   MakePlacementGraphs(flags.is_small ? ModelSize::kSmall : ModelSize::kFull));
  std::string slow;
  for (const PlacementGraph& made : graphs) {
    Graph graph(&registries.ops);
    ImportOptions import;
    import.allow_internal_ops = true;
    RETURN_IF_ERROR(Annotate(ImportGraphDef(import, made.graph, &graph), made.name));
    const CostPlacerOptions options{.placement = {.devices = costs.names(), .kernels = &registries.kernels},
                                    .costs = &costs,
                                    .model = {.heaviest_step_only = true},
                                    .most_kernels = int64_t{flags.effort} * 1'000'000};
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(const CostPlacement placement, PlaceByCost(options, &graph));
    const double by_cost = placement.chosen.step.seconds * 1e3;
    const double ratio = Milliseconds(placement, "round-robin") / by_cost;
    std::printf("%-15s%8zu%12.4g%15.4g%13.4g%12.4g%12.4g%8.2f%10.2f s  %s\n", made.name.c_str(),
                placement.model.kernels.size(), Milliseconds(placement, "first fit"),
                Milliseconds(placement, "single device"), Milliseconds(placement, "round-robin"),
                Milliseconds(placement, "greedy"), by_cost, ratio, absl::ToDoubleSeconds(MonotonicNow() - start),
                made.description.c_str());
    std::fflush(stdout);
    if (ratio < flags.at_least) absl::StrAppend(&slow, slow.empty() ? "" : ", ", made.name);
  }
  if (slow.empty()) return absl::OkStatus();
  return errors::OutOfRange("the ratio is below ", flags.at_least, " for ", slow);
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Flags flags;
  CLI::App app("Simulates a training step of six models, placed by cost and as TensorFlow places.");
  app.add_option("--devices", flags.devices, "devices and their costs")->capture_default_str();
  app.add_option("--link", flags.link, "the cost of each link")->capture_default_str();
  app.add_option("--at-least", flags.at_least, "fail if a ratio is lower")->check(CLI::Range(0.0, 1e6));
  app.add_option("--effort", flags.effort, "millions of kernels to simulate for a placement")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_flag("--small", flags.is_small, "small models");
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = weir::bench::PrintTable(flags); !status.ok()) {
    std::fprintf(stderr, "weir_placement: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
