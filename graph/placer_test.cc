#include "graph/placer.h"

#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kWorkerCpu[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kWorkerGpu[] = "/job:worker/replica:0/task:0/device:GPU:0";
constexpr char kPsCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";

class NoKernel : public OpKernel {
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

// Two tasks, the first with a GPU that has a kernel for Mul only.
class PlacerTest : public ::testing::Test {
 protected:
  PlacerTest() {
    for (const char* op : {"Const", "Placeholder", "NoOp", "Neg", "Add", "Mul", "Identity", "VariableV2", "Assign"}) {
      EXPECT_THAT(kernels_.Register<NoKernel>(Kernel(op).Cpu()), IsOk());
    }
    EXPECT_THAT(kernels_.Register<NoKernel>(Kernel("Mul").Device(kDeviceGpu)), IsOk());
    options_.kernels = &kernels_;
    for (const char* device : {kWorkerGpu, kWorkerCpu, kPsCpu}) {
      options_.devices.push_back(DeviceName::ParseFull(device).value());
    }
  }

  void Import(const std::string& text) {
    EXPECT_THAT(ImportGraphDef(ImportOptions(), GraphDefFromText(text), &graph_), IsOk());
    errors_ = PlaceGraph(options_, &graph_);
  }
  std::string DeviceOf(const char* node) { return graph_.FindNode(node)->assigned_device(); }

  KernelRegistry kernels_;
  PlacerOptions options_;
  Graph graph_{&TestOps()};
  absl::flat_hash_map<std::string, absl::Status> errors_;
};

constexpr char kFloatAttr[] = "attr { key: 'T' value { type: DT_FLOAT } }";

std::string Unary(const std::string& name, const std::string& op, const std::string& input,
                  const std::string& device = "", const std::string& extra = "") {
  return absl::StrCat("node { name: '", name, "' op: '", op, "' input: '", input, "' device: '", device, "' ",
                      kFloatAttr, extra, " }");
}
std::string Placeholder(const std::string& name, const std::string& device = "") {
  return absl::StrCat("node { name: '", name, "' op: 'Placeholder' device: '", device,
                      "' attr { key: 'dtype' value { type: DT_FLOAT } } }");
}

// Nodes that forward a variant, in chains of any length, follow its tensors unless they request a device.
TEST_F(PlacerTest, VariantsAreFollowed) {
  EXPECT_THAT(kernels_.Register<NoKernel>(Kernel("Identity").Device(kDeviceGpu)), IsOk());
  const std::string variant = "attr { key: 'T' value { type: DT_VARIANT } }";
  const auto identity = [&](const char* name, const char* input, const std::string& device = "") {
    return absl::StrCat("node { name: '", name, "' op: 'Identity' input: '", input, "' device: '", device, "' ",
                        variant, " }");
  };
  Import(absl::StrCat(identity("c", "b"), identity("b", "made"), identity("told", "b", kWorkerGpu),
                      identity("after", "told"), "node { name: 'made' op: 'Placeholder' device: '", kPsCpu,
                      "' attr { key: 'dtype' value { type: DT_VARIANT } } }", Placeholder("p"),
                      Unary("number", "Identity", "p")));
  EXPECT_THAT(errors_, testing::IsEmpty());
  EXPECT_EQ(DeviceOf("b"), kPsCpu);
  EXPECT_EQ(DeviceOf("c"), kPsCpu);
  EXPECT_EQ(DeviceOf("told"), kWorkerGpu);
  EXPECT_EQ(DeviceOf("after"), kWorkerGpu);
  EXPECT_EQ(DeviceOf("number"), kWorkerGpu);
}

TEST_F(PlacerTest, TakesTheFirstDeviceWithAKernel) {
  Import(Placeholder("p") + "node { name: 'm' op: 'Mul' input: 'p' input: 'p' " + kFloatAttr + "}" +
         Unary("n", "Neg", "m"));
  EXPECT_EQ(DeviceOf("m"), kWorkerGpu);
  EXPECT_EQ(DeviceOf("n"), kWorkerCpu);
}

TEST_F(PlacerTest, HonoursPartialNames) {
  Import(Placeholder("p", "/job:ps") + Unary("n", "Neg", "p", "/job:worker/device:CPU:0"));
  EXPECT_EQ(DeviceOf("p"), kPsCpu);
  EXPECT_EQ(DeviceOf("n"), kWorkerCpu);
}

TEST_F(PlacerTest, ColocatesByClass) {
  Import(Placeholder("p", "/job:ps") +
         Unary("n", "Neg", "p", "", "attr { key: '_class' value { list { s: 'loc:@p' } } }"));
  EXPECT_EQ(DeviceOf("n"), kPsCpu);
}

TEST_F(PlacerTest, ReportsAConflictOfColocation) {
  Import(Placeholder("p", "/job:ps") +
         Unary("n", "Neg", "p", "/job:worker", "attr { key: '_class' value { list { s: 'loc:@p' } } }"));
  EXPECT_THAT(errors_["n"], StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Cannot colocate nodes")));
}

TEST_F(PlacerTest, StateStaysWhereItWasAskedFor) {
  Import(
      Placeholder("p") +
      "node { name: 'v' op: 'VariableV2' device: '/job:ps' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
      "'shape' value { shape {} } } } node { name: 'a' op: 'Assign' input: 'v' input: 'p' device: '/job:worker' " +
      kFloatAttr + "}");
  EXPECT_EQ(DeviceOf("v"), kPsCpu);
  EXPECT_EQ(DeviceOf("a"), kPsCpu);
}

TEST_F(PlacerTest, ReportsADeviceThatIsNotThere) {
  Import(Placeholder("p", "/job:ps/task:7"));
  EXPECT_THAT(errors_["p"], StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("was explicitly assigned to /job:ps/task:7 but available devices")));
}

TEST_F(PlacerTest, ReportsAMissingKernelAsUnimplemented) {
  Import(Placeholder("p") + Unary("s", "Square", "p"));
  EXPECT_THAT(errors_["s"], StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Square")));
  EXPECT_EQ(errors_.size(), 1);
}

TEST_F(PlacerTest, SoftPlacementKeepsTheTask) {
  options_.allow_soft_placement = true;
  Import(Placeholder("p") + Unary("n", "Neg", "p", "/job:worker/device:GPU:0"));
  EXPECT_EQ(DeviceOf("n"), kWorkerCpu);
}

TEST_F(PlacerTest, PutsAConstantBesideItsConsumer) {
  Import(
      Placeholder("p", "/job:ps") +
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
      "{ dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }"
      "node { name: 'a' op: 'Add' input: 'p' input: 'c' device: '/job:ps' " +
      kFloatAttr + "}");
  EXPECT_EQ(DeviceOf("c"), kPsCpu);
}

TEST_F(PlacerTest, NodesPlacedBeforeStay) {
  ASSERT_THAT(ImportGraphDef(ImportOptions(), GraphDefFromText(Placeholder("p")), &graph_), IsOk());
  graph_.FindNode("p")->set_assigned_device(kPsCpu);
  Import(Unary("n", "Neg", "p", "", "attr { key: '_class' value { list { s: 'loc:@p' } } }"));
  EXPECT_EQ(DeviceOf("p"), kPsCpu);
  EXPECT_EQ(DeviceOf("n"), kPsCpu);
}

TEST_F(PlacerTest, WithoutSoftPlacementAMissingKernelIsSaidInTensorFlowsWords) {
  Import(Placeholder("p") + Unary("n", "Neg", "p", "/device:GPU:0"));
  EXPECT_THAT(errors_["n"],
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Cannot assign a device for operation n: Could not satisfy explicit device "
                                 "specification '/device:GPU:0' because no supported kernel for GPU devices is "
                                 "available.\nOp: Neg")));
}

TEST_F(PlacerTest, TellsOfNodesThatSoftPlacementMoved) {
  options_.allow_soft_placement = true;
  std::vector<std::string> moved;
  options_.moved = [&moved](const Node& node, absl::string_view asked, const DeviceName& chosen) {
    moved.push_back(absl::StrCat(node.name(), " ", asked, " ", chosen.ToString()));
  };
  Import(Placeholder("p") + Unary("n", "Neg", "p", "/device:GPU:0") +
         "node { name: 'm' op: 'Mul' input: 'p' input: 'p' " + kFloatAttr + "device: '/device:GPU:0' }");
  EXPECT_EQ(DeviceOf("n"), kWorkerCpu);
  EXPECT_EQ(DeviceOf("m"), kWorkerGpu);
  EXPECT_THAT(moved, testing::ElementsAre(absl::StrCat("n GPU ", kWorkerCpu)));
}

}  // namespace
}  // namespace weir
