#include "graph/placement/cost_placer.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "core/device/device.h"
#include "core/kernel/op_kernel.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NoKernel : public OpKernel {
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

constexpr char kFloat[] = "attr { key: 'T' value { type: DT_FLOAT } }";

std::string NodeText(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                     const std::string& attrs = kFloat, const std::string& device = "") {
  std::string text = absl::StrCat("node { name: '", name, "' op: '", op, "' device: '", device, "' ", attrs);
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  return text + " }\n";
}
std::string MatrixAttrs(const char* dtype, int64_t rows, int64_t columns) {
  return absl::StrCat("attr { key: '", dtype,
                      "' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: ", rows,
                      " } dim { size: ", columns, " } } } }");
}
std::string Placeholder(const std::string& name, int64_t rows, int64_t columns) {
  return NodeText(name, "Placeholder", {}, MatrixAttrs("dtype", rows, columns));
}
std::string Variable(const std::string& name, int64_t rows, int64_t columns, const std::string& device = "") {
  return NodeText(name, "VariableV2", {}, MatrixAttrs("dtype", rows, columns), device);
}
std::string MatMul(const std::string& name, const std::string& a, const std::string& b,
                   const std::string& device = "") {
  return NodeText(name, "MatMul", {a, b}, kFloat, device);
}

// Three devices of one task each: a slow, a fast and a middle one, and a GPU without kernels for MatMul.
class CostPlacerTest : public ::testing::Test {
 protected:
  CostPlacerTest() {
    for (const char* op : {"Const", "Placeholder", "NoOp", "Neg", "Add", "MatMul", "Identity", "VariableV2", "Assign",
                           "AddN", "RandomUniform"}) {
      EXPECT_THAT(kernels_.Register<NoKernel>(Kernel(op).Cpu()), IsOk());
      if (std::string(op) != "MatMul") {
        EXPECT_THAT(kernels_.Register<NoKernel>(Kernel(op).Device(kDeviceGpu)), IsOk());
      }
    }
    SetCosts(
        "/job:worker/task:0/device:CPU:0=gflops:10,gbs:10;/job:worker/task:1/device:CPU:0=gflops:40,gbs:20;"
        "/job:ps/task:0/device:CPU:0=gflops:20,gbs:20;/job:worker/task:1/device:GPU:0=gflops:1000,gbs:500");
  }

  void SetCosts(const std::string& text) {
    auto devices = ParseDeviceCosts(text);
    ASSERT_THAT(devices, IsOk());
    costs_ = ClusterCosts(*std::move(devices));
    costs_.set_links({.latency = 100e-6, .seconds_per_byte = 1e-9});
  }
  CostPlacerOptions Options() const {
    return {.placement = {.devices = costs_.names(), .kernels = &kernels_}, .costs = &costs_, .most_kernels = 200'000};
  }
  static std::unique_ptr<Graph> Import(const std::string& text) {
    auto graph = std::make_unique<Graph>(&TestOps());
    EXPECT_THAT(ImportGraphDef(ImportOptions(), GraphDefFromText(text), graph.get()), IsOk());
    return graph;
  }

  KernelRegistry kernels_;
  ClusterCosts costs_{{}};
};

// 2 x 256^3 operations take 0.84 ms on the fast CPU, 3.4 ms on the first device; a tensor takes 0.36 ms. MatMul has no
// kernel on the GPU.
TEST_F(CostPlacerTest, AChainGoesToTheFastestDeviceWithKernels) {
  const auto graph = Import(Placeholder("x", 256, 256) + MatMul("a", "x", "x") + MatMul("b", "a", "a"));
  ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(Options(), graph.get()));
  EXPECT_EQ(graph->FindNode("x")->assigned_device(), "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(graph->FindNode("a")->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(graph->FindNode("b")->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
  const double product = 2.0 * 256 * 256 * 256 / 40e9 + 2e-6, transfer = 100e-6 + 256 * 256 * 4e-9;
  EXPECT_NEAR(placement.chosen.step.seconds, 2e-6 + transfer + 2 * product, 1e-9);
}

TEST_F(CostPlacerTest, IndependentWorkIsSpread) {
  const auto graph = Import(Placeholder("x", 512, 512) + MatMul("a", "x", "x") + MatMul("b", "x", "x") +
                            MatMul("c", "x", "x") + MatMul("d", "x", "x"));
  ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(Options(), graph.get()));
  int on_fast = 0, on_middle = 0;
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::string& device = graph->FindNode(name)->assigned_device();
    on_fast += device == "/job:worker/replica:0/task:1/device:CPU:0" ? 1 : 0;
    on_middle += device == "/job:ps/replica:0/task:0/device:CPU:0" ? 1 : 0;
  }
  EXPECT_GE(on_fast, 2);
  EXPECT_GE(on_middle, 1);
}

TEST_F(CostPlacerTest, AMeasuredTimeReplacesTheEstimate) {
  const std::string text = Placeholder("x", 256, 256) + MatMul("a", "x", "x");
  tensorflow::StepStats stats;
  auto* const lane = stats.add_dev_stats();
  lane->set_device("/job:worker/replica:0/task:0/device:CPU:0");
  auto* const node = lane->add_node_stats();
  node->set_node_name("a");
  node->set_op_end_rel_nanos(10'000);  // much faster than estimated
  KernelTimes times;
  times.Add(stats);
  // Devices of one type share the calibration: everything is fast, and only the transfer counts.
  CostPlacerOptions options = Options();
  options.model.times = &times;
  const auto graph = Import(text);
  ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(options, graph.get()));
  EXPECT_EQ(graph->FindNode("a")->assigned_device(), "/job:worker/replica:0/task:0/device:CPU:0");
  const auto& kernel = placement.model.kernels[1];
  EXPECT_NEAR(kernel.seconds[0], 10e-6, 1e-12);
}

TEST_F(CostPlacerTest, VariablesGoWhereTheyFit) {
  SetCosts(
      "/job:worker/task:0/device:CPU:0=gflops:10,gbs:10,memory:1m;"
      "/job:worker/task:1/device:CPU:0=gflops:40,gbs:20,memory:3m");
  // A megabyte each; the larger device holds only two.
  std::string text = Placeholder("x", 1, 512);
  for (const char* name : {"v", "w"}) {
    text += Variable(name, 512, 512) + MatMul(absl::StrCat("use_", name), "x", name);
  }
  const auto graph = Import(text);
  ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(Options(), graph.get()));
  for (int i = 0; i < costs_.num_devices(); ++i) {
    EXPECT_LE(placement.chosen.step.peak_bytes[i], costs_.device(i).memory_bytes);
  }
}

TEST_F(CostPlacerTest, WhatDoesNotFitIsNamed) {
  SetCosts(
      "/job:worker/task:0/device:CPU:0=gflops:10,gbs:10,memory:512k;"
      "/job:worker/task:1/device:CPU:0=gflops:40,gbs:20,memory:600k");
  const auto graph = Import(Placeholder("x", 1, 512) + Variable("large", 512, 512) + MatMul("use", "x", "large"));
  EXPECT_THAT(PlaceByCost(Options(), graph.get()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("large (1048576 bytes)"), HasSubstr("bytes, but needs"))));
  EXPECT_EQ(graph->FindNode("use")->assigned_device(), "");
}

TEST_F(CostPlacerTest, NodesThatCannotBePlacedAreReturned) {
  const auto graph = Import(Placeholder("x", 256, 256) + MatMul("a", "x", "x") +
                            MatMul("b", "x", "x", "/job:worker/task:1/device:GPU:0"));
  ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(Options(), graph.get()));
  EXPECT_EQ(placement.unplaced.size(), 1);
  EXPECT_TRUE(placement.unplaced.contains("b"));
  EXPECT_EQ(graph->FindNode("a")->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

TEST_F(CostPlacerTest, OnlyStatelessNodesArePlacedAnew) {
  const auto graph =
      Import(Placeholder("x", 256, 256) + Variable("v", 256, 256) + MatMul("a", "x", "v") + MatMul("b", "a", "a") +
             NodeText("r", "RandomUniform", {"s"},
                      "attr { key: 'T' value { type: DT_INT32 } } attr { key: "
                      "'dtype' value { type: DT_FLOAT } }") +
             NodeText("s", "Const", {},
                      "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { dtype: "
                      "DT_INT32 tensor_shape { dim { size: 1 } } int_val: 4 } } }"));
  const std::string slow = "/job:worker/replica:0/task:0/device:CPU:0";
  for (Node* node : graph->nodes()) node->set_assigned_device(slow);
  ASSERT_THAT(PlaceByCost(Options(), graph.get()), IsOk());
  EXPECT_EQ(graph->FindNode("b")->assigned_device(), slow);
  CostPlacerOptions options = Options();
  options.reopens_stateless = true;
  ASSERT_THAT(PlaceByCost(options, graph.get()), IsOk());
  EXPECT_EQ(graph->FindNode("v")->assigned_device(), slow);
  EXPECT_EQ(graph->FindNode("r")->assigned_device(), slow);
  EXPECT_EQ(graph->FindNode("b")->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

// Only the step with the most work counts: initialisers would pull "v" to the first device.
TEST_F(CostPlacerTest, TheHeaviestStepDecides) {
  std::string text =
      Placeholder("x", 256, 256) + Variable("v", 256, 256) + MatMul("a", "x", "v") + MatMul("b", "a", "v");
  text += Placeholder("initial", 256, 256) + NodeText("init", "Assign", {"v", "initial"});
  const auto graph = Import(text);
  CostPlacerOptions options = Options();
  options.model.heaviest_step_only = true;
  ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(options, graph.get()));
  for (const auto& kernel : placement.model.kernels) EXPECT_NE(graph->node(kernel.node)->name(), "init");
  EXPECT_EQ(graph->FindNode("v")->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(graph->FindNode("init")->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

// --- Random graphs ---

struct RandomGraph {
  std::string text;
  int nodes = 0;
};

std::string RandomDevice(std::mt19937& random) {
  static const std::vector<std::string> devices = {"/job:worker/task:1/device:CPU:0", "/job:worker", "/device:CPU:0",
                                                   "/job:ps", "/job:worker/task:1/device:GPU:0"};
  return random() % 5 == 0 ? devices[random() % devices.size()] : "";
}

std::string RandomGraphText(std::mt19937& random) {
  std::string text = Placeholder("n0", 64, 64);
  std::vector<std::string> values = {"n0"}, variables;
  const int nodes = 10 + static_cast<int>(random() % 40);
  for (int i = 1; i < nodes; ++i) {
    const std::string name = absl::StrCat("n", i), a = values[random() % values.size()],
                      b = values[random() % values.size()];
    switch (random() % 6) {
      case 0:
        text += Variable(name, 64, 64, random() % 2 == 0 ? "" : "/job:ps");
        variables.push_back(name);
        break;
      case 1:
        if (!variables.empty()) {
          const std::string& variable = variables[random() % variables.size()];
          text += NodeText(name, "Assign", {variable, a});
          break;
        }
        [[fallthrough]];
      case 2:
        text += MatMul(name, a, b, random() % 4 == 0 ? "/job:worker" : "");
        break;
      case 3:
        text += NodeText(name, "Neg", {a},
                         absl::StrCat(kFloat, " attr { key: '_class' value { list { s: 'loc:@", b, "' } } }"));
        break;
      default:
        text += NodeText(name, "Add", {a, b}, kFloat, RandomDevice(random));
    }
    values.push_back(name);
  }
  return text;
}

// Requests, colocation and kernels are respected, whatever the cost; and the step is never slower than the others'.
TEST_F(CostPlacerTest, ConstraintsOfRandomGraphsHold) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const std::string text = RandomGraphText(random);
    const auto graph = Import(text), by_request = Import(text), again = Import(text);
    CostPlacerOptions options = Options();
    options.most_kernels = 20'000;
    ASSERT_OK_AND_ASSIGN(const CostPlacement placement, PlaceByCost(options, graph.get()));
    const auto unplaced = PlaceGraph(options.placement, by_request.get());
    EXPECT_EQ(placement.unplaced.size(), unplaced.size());
    for (const Node* node : graph->nodes()) {
      EXPECT_EQ(placement.unplaced.contains(node->name()), unplaced.contains(node->name()));
      if (unplaced.contains(node->name())) continue;
      ASSERT_OK_AND_ASSIGN(const DeviceName device, DeviceName::ParseFull(node->assigned_device()));
      EXPECT_TRUE(kernels_.Find(node->def(), *device.type).ok()) << node->name();
    }
    const auto unassigned = Import(text);
    const PlacementGroups colocated = ColocateNodes(*unassigned, false);
    for (const PlacementGroup& group : colocated.groups) {
      if (!group.error.ok() || unplaced.contains(group.members[0]->name())) continue;
      const std::string& device = graph->FindNode(group.members[0]->name())->assigned_device();
      EXPECT_TRUE(DeviceName::ParseFull(device)->Matches(group.request)) << group.members[0]->name();
      for (const Node* member : group.members) {
        EXPECT_EQ(graph->FindNode(member->name())->assigned_device(), device) << member->name();
      }
    }
    for (const SimulatedPlacement& other : placement.others) {
      EXPECT_LE(placement.chosen.step.seconds, other.step.seconds) << other.name;
    }
    ASSERT_THAT(PlaceByCost(options, again.get()), IsOk());
    for (const Node* node : graph->nodes()) {
      EXPECT_EQ(again->FindNode(node->name())->assigned_device(), node->assigned_device()) << node->name();
    }
  }
}

}  // namespace
}  // namespace weir
