#include "graph/functions/lower_functions.h"

#include "core/testing.h"
#include "gmock/gmock.h"
#include "graph/functions/function_recursion.h"
#include "graph/graph_testing.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Graph> Parse(const std::string& text) {
  auto graph = std::make_unique<Graph>(&TestOps());
  absl::Status status = ParseGraph(text, {}, graph.get());
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

constexpr char kNeg[] = R"(
function {
  signature { name: "Minus" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "neg:y:0" }
}
)";

// Calls itself through Twin.
constexpr char kRecursive[] = R"(
function {
  signature { name: "Loop" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "again" op: "Twin" input: "x" }
  ret { key: "y" value: "again:y:0" }
}
function {
  signature { name: "Twin" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "again" op: "Loop" input: "x" }
  ret { key: "y" value: "again:y:0" }
}
)";

TEST(RecursiveFunctions, AreThoseOnACycle) {
  auto graph = Parse(std::string(kNeg) + kRecursive + R"(
function {
  signature { name: "Caller" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "call" op: "Loop" input: "x" }
  ret { key: "y" value: "call:y:0" }
}
)");
  EXPECT_THAT(RecursiveFunctions(graph->functions()), UnorderedElementsAre("Loop", "Twin"));
}

TEST(LowerFunctions, LeavesAGraphWithoutCallsAlone) {
  auto graph = Parse("%a:f32 = Placeholder() {dtype=f32}\n%b:f32 = Neg(%a)\n");
  auto changed = LowerFunctions({}, graph.get());
  ASSERT_THAT(changed.status(), IsOk());
  EXPECT_FALSE(*changed);
}

TEST(LowerFunctions, WritesOutACallAndLeavesItToBePlaced) {
  auto graph = Parse(std::string(kNeg) + "%a:f32 = Placeholder() {dtype=f32}\n%call:f32 = Minus(%a)\n");
  graph->FindNode("call")->set_assigned_device("/job:worker/replica:0/task:0/device:CPU:0");
  auto changed = LowerFunctions({}, graph.get());
  ASSERT_THAT(changed.status(), IsOk());
  EXPECT_TRUE(*changed);
  ASSERT_NE(graph->FindNode("call/neg"), nullptr);
  EXPECT_EQ(graph->FindNode("call/neg")->assigned_device(), "");
  EXPECT_EQ(graph->FindNode("call")->op(), "IdentityN");
}

TEST(LowerFunctions, ARemoteCallBranchesWhereOnlyTheStepKnowsItsTarget) {
  auto graph = Parse(std::string(kNeg) +
                     "%t:string = Placeholder() {dtype=string}\n%a:f32 = Placeholder() {dtype=f32}\n"
                     "%call:f32 = RemoteCall(%t, %a) {Tin=[f32], Tout=[f32], f=@Minus{}}\n");
  LowerOptions options;
  auto changed = LowerFunctions(options, graph.get());
  ASSERT_THAT(changed.status(), IsOk());
  EXPECT_FALSE(*changed) << "without devices";
  options.devices = {"/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"};
  changed = LowerFunctions(options, graph.get());
  ASSERT_THAT(changed.status(), IsOk());
  EXPECT_TRUE(*changed);
  std::vector<std::string> devices;
  for (const Node* node : graph->nodes()) {
    if (node->op() == "Neg") devices.push_back(node->requested_device());
  }
  EXPECT_THAT(devices, ::testing::UnorderedElementsAreArray(options.devices));
}

TEST(LowerFunctions, LeavesRecursionACall) {
  auto graph = Parse(std::string(kRecursive) + "%a:f32 = Placeholder() {dtype=f32}\n%call:f32 = Loop(%a)\n");
  auto changed = LowerFunctions({}, graph.get());
  ASSERT_THAT(changed.status(), IsOk());
  EXPECT_FALSE(*changed);
  EXPECT_EQ(graph->FindNode("call")->op(), "Loop");
}

// A call of 40 functions, each of which calls the next one twice.
std::string Doubling() {
  std::string text = kNeg;
  for (int i = 0; i < 40; ++i) {
    const std::string callee = i == 0 ? "Minus" : absl::StrCat("F", i - 1);
    absl::StrAppend(&text, "function { signature { name: 'F", i,
                    "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } ",
                    "node_def { name: 'a' op: '", callee, "' input: 'x' } node_def { name: 'b' op: '", callee,
                    "' input: 'a:y:0' } ret { key: 'y' value: 'b:y:0' } }\n");
  }
  return text + "%a:f32 = Placeholder() {dtype=f32}\n%call:f32 = F39(%a)\n";
}

TEST(LowerFunctions, StopsWhenTheGraphGrowsTooMuch) {
  auto graph = Parse(Doubling());
  LowerOptions options;
  options.max_new_nodes = 1000;
  ASSERT_THAT(LowerFunctions(options, graph.get()).status(), IsOk());
  EXPECT_LT(graph->num_nodes(), 1100);
}

TEST(LowerFunctions, StopsWhenItIsToldTo) {
  auto graph = Parse(Doubling());
  int asked = 0;
  LowerOptions options;
  options.check = [&] { return ++asked < 100 ? absl::OkStatus() : absl::DeadlineExceededError("enough"); };
  EXPECT_EQ(LowerFunctions(options, graph.get()).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(asked, 100);
  EXPECT_LT(graph->num_nodes(), 1000);
}

TEST(LowerFunctions, NamesTheNodeThatDoesNotFit) {
  auto graph =
      Parse(std::string(kNeg) + "%a:i32 = Placeholder() {dtype=i32}\n%call:i32 = PartitionedCall(%a) {f=@Minus{}}\n");
  EXPECT_THAT(LowerFunctions({}, graph.get()).status().message(), HasSubstr("Node 'call'"));
}

}  // namespace
}  // namespace weir
