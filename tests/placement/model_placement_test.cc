// The models of `scripts/bench placement`, small, on four unequal devices.
#include <algorithm>

#include "bench/graphs/placement_graphs.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/placement/cost_placer.h"
#include "graph/placement/node_work.h"
#include "graph/shapes/shape_refiner.h"
#include "kernels/library.h"

namespace weir::bench {
namespace {

class ModelPlacementTest : public ::testing::Test {
 protected:
  ModelPlacementTest() {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    auto devices = ParseDeviceCosts(
        "/job:worker/task:0/device:CPU:0=gflops:0.4,gbs:0.2;/job:worker/task:1/device:CPU:0=gflops:0.2,gbs:0.15;"
        "/job:worker/task:2/device:CPU:0=gflops:0.2,gbs:0.15;/job:worker/task:3/device:CPU:0=gflops:0.1,gbs:0.1");
    EXPECT_THAT(devices, IsOk());
    costs_ = ClusterCosts(*std::move(devices));
    costs_.set_links({.latency = 1e-6, .seconds_per_byte = 1e-9});
  }

  std::unique_ptr<Graph> Import(const tensorflow::GraphDef& def) {
    auto graph = std::make_unique<Graph>(&ops_);
    ImportOptions import;
    import.allow_internal_ops = true;
    EXPECT_THAT(ImportGraphDef(import, def, graph.get()), IsOk());
    return graph;
  }
  CostPlacerOptions Options() const {
    return {.placement = {.devices = costs_.names(), .kernels = &kernels_},
            .costs = &costs_,
            .model = {.heaviest_step_only = true},
            .most_kernels = 300'000};
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  ClusterCosts costs_{{}};
};

double SecondsOf(const CostPlacement& placement, const std::string& name) {
  const auto found = std::find_if(placement.others.begin(), placement.others.end(),
                                  [&](const SimulatedPlacement& other) { return other.name == name; });
  return found->step.seconds;
}

// Neither simulated time nor search depends on the machine.
TEST_F(ModelPlacementTest, StepsAreNeverSlowerThanThoseOfOtherPlacements) {
  ASSERT_OK_AND_ASSIGN(const std::vector<PlacementGraph> models, MakePlacementGraphs(ModelSize::kSmall));
  ASSERT_EQ(models.size(), 6);
  for (const PlacementGraph& model : models) {
    SCOPED_TRACE(model.name);
    const auto graph = Import(model.graph), again = Import(model.graph);
    ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(Options(), graph.get()));
    EXPECT_THAT(placement.unplaced, ::testing::IsEmpty());
    for (const char* other : {"first fit", "single device", "round-robin", "greedy"}) {
      EXPECT_LE(placement.chosen.step.seconds, SecondsOf(placement, other)) << other;
    }
    EXPECT_LT(placement.chosen.step.seconds, SecondsOf(placement, "round-robin"));
    EXPECT_EQ(placement.chosen.step.seconds, Simulator(placement.model, costs_).Run(placement.chosen.devices).seconds);
    ASSERT_THAT(PlaceByCost(Options(), again.get()), IsOk());
    for (const Node* node : graph->nodes()) {
      EXPECT_EQ(node->assigned_device(), again->FindNode(node->name())->assigned_device()) << node->name();
    }
  }
}

// Products, convolutions and recurrent layers count their operations: the sums are computed by hand.
TEST_F(ModelPlacementTest, TheWorkOfAStepIsCounted) {
  ASSERT_OK_AND_ASSIGN(const std::vector<PlacementGraph> models, MakePlacementGraphs(ModelSize::kSmall));
  const auto graph = Import(models[0].graph);  // the MLP: 16 x 16 -> 3 more of 32 -> 10
  ASSERT_OK_AND_ASSIGN(const ShapeRefiner shapes, InferShapes(*graph));
  double flops = 0;
  for (const Node* node : graph->nodes()) {
    if (node->op() == "MatMul") flops += WorkOf(*node, shapes, 1).flops;
  }
  const double first = 2.0 * 16 * 16 * 32, inner = 2.0 * 16 * 32 * 32, last = 2.0 * 16 * 32 * 10;
  // Forward, and the gradients of weights and inputs; no step needs that of the images, but the graph has it.
  EXPECT_EQ(flops, 3 * first + 3 * 3 * inner + 3 * last);
}

}  // namespace
}  // namespace weir::bench
