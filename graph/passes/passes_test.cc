// Each test passes in a graph as text, runs one pass, and checks the text of the result.
#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/passes/pass_manager.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Graph> Parse(const std::string& text) {
  auto graph = std::make_unique<Graph>(&TestOps());
  ImportOptions options;
  options.allow_internal_ops = true;
  absl::Status status = ParseGraph(text, options, graph.get());
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

std::string Apply(const Pass& pass, const PassContext& context, const std::string& text) {
  auto graph = Parse(text);
  int changes = 0;
  absl::Status status = pass.Run(context, graph.get(), &changes);
  return status.ok() ? PrintGraph(*graph) : std::string(status.message());
}

PassContext Fetch(std::vector<std::string> fetches, std::vector<std::string> feeds = {}) {
  PassContext context;
  context.fetches = std::move(fetches);
  context.feeds = std::move(feeds);
  return context;
}

// Supports Add and Split2 of integers.
absl::StatusOr<std::vector<Tensor>> Evaluate(const tensorflow::NodeDef& node, absl::Span<const Tensor> inputs) {
  if (node.op() == "Split2") return std::vector<Tensor>{inputs[0], inputs[0]};
  if (node.op() != "Add" || inputs[0].dtype() != DT_INT32) return errors::Unimplemented(node.op());
  Tensor sum(DT_INT32, inputs[0].shape());
  for (int64_t i = 0; i < sum.NumElements(); ++i) {
    sum.data<int32_t>()[i] = inputs[0].data<int32_t>()[i] + inputs[1].data<int32_t>()[i];
  }
  return std::vector<Tensor>{sum};
}

std::string Int(const std::string& name, int value, const std::string& inputs = "") {
  return absl::StrCat("%", name, ":i32 = Const(", inputs,
                      ") {value=tensor{dtype: DT_INT32 tensor_shape { } int_val: ", value, "}}\n");
}

// The text of a folded integer below 128.
std::string Folded(const std::string& name, int value, const std::string& inputs = "") {
  return absl::StrCat("%", name, ":i32 = Const(", inputs, ") {value=tensor{dtype: DT_INT32 tensor_shape { } ",
                      "tensor_content: \"\\", absl::StrCat("00", value), "\\000\\000\\000\"}}\n");
}

TEST(Prune, KeepsWhatIsFetchedOrRun) {
  PassContext context = Fetch({"b:0"});
  context.targets = {"t"};
  EXPECT_EQ(Apply(*MakePrunePass(), context,
                  "%a:f32 = Placeholder()\n%b:f32 = Neg(%a)\n%c:f32 = Neg(%b)\n%t = NoOp(^%d)\n%d:f32 = Neg(%a)\n"),
            "%a:f32 = Placeholder()\n%b:f32 = Neg(%a)\n%t = NoOp(^%d)\n%d:f32 = Neg(%a)\n");
}

TEST(Prune, CutsAtFeeds) {
  EXPECT_EQ(Apply(*MakePrunePass(), Fetch({"c"}, {"b:0"}),
                  "%a:f32 = Placeholder()\n%b:f32 = Neg(%a) @worker:0/CPU:0\n%c:f32 = Square(%b)\n"),
            "%c:f32 = Square(%b)\n%b:f32 = Placeholder() @worker:0/CPU:0\n");
}

TEST(Prune, SaysWhatIsNotThere) {
  EXPECT_EQ(Apply(*MakePrunePass(), Fetch({"b"}), "%a = NoOp()\n"), "Node 'b' is not in the graph");
}

TEST(ConstantFolding, GoesOnWithWhatItFolded) {
  PassContext context = Fetch({"z"});
  context.evaluate = Evaluate;
  const std::string out = Apply(*MakeConstantFoldingPass(), context,
                                Int("one", 1) + Int("two", 2) + "%y:i32 = Add(%one, %two)\n%z:i32 = Add(%y, %one)\n");
  EXPECT_THAT(out, HasSubstr(Folded("z", 4)));
}

TEST(ConstantFolding, LeavesAloneWhatIsNotConstant) {
  PassContext context = Fetch({"fed", "random", "odd"}, {"one"});
  context.evaluate = Evaluate;
  const std::string text = Int("one", 1) + Int("two", 2) +
                           "%fed:i32 = Add(%one, %two)\n%odd:i32 = Mul(%two, %two)\n"
                           "%shape:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { } }}}\n"
                           "%random:f32 = RandomUniform(%shape)\n";
  EXPECT_EQ(Apply(*MakeConstantFoldingPass(), context, text), text);
}

TEST(ConstantFolding, StaysInItsBranch) {
  PassContext context = Fetch({"y"});
  context.evaluate = Evaluate;
  const std::string out =
      Apply(*MakeConstantFoldingPass(), context,
            "%p = NoOp()\n%q = NoOp()\n" + Int("one", 1, "^%p") + "%y:i32 = Add(%one, %one, ^%q)\n");
  EXPECT_THAT(out, HasSubstr(Folded("y", 2, "^%p, ^%q")));
}

TEST(ConstantFolding, DoesNotComputeWhatHasUnknownSize) {
  PassContext context = Fetch({"z"});
  context.evaluate = Evaluate;
  const std::string text = Int("one", 1) + "%s:(i32, i32) = Split2(%one)\n%z:i32 = Add(%s, %s:1)\n";
  EXPECT_EQ(Apply(*MakeConstantFoldingPass(), context, text), text);
}

TEST(ConstantFolding, MakesAConstantOfEachOutput) {
  PassContext context = Fetch({"z"});
  context.evaluate = Evaluate;
  const std::string out = Apply(*MakeConstantFoldingPass(), context,
                                Int("one", 1) +
                                    "%s:(i32, i32) = Split2(%one) {_output_shapes=[shape[], shape[]]}\n"
                                    "%t = NoOp(^%s)\n%z:i32 = Add(%s, %s:1)\n");
  EXPECT_THAT(out, HasSubstr(Folded("s/folded", 1) + Folded("s/folded_1", 1)));
  EXPECT_THAT(out, HasSubstr("%t = NoOp(^%s/folded, ^%s/folded_1)\n"));
  EXPECT_THAT(out, HasSubstr(Folded("z", 2)));
}

TEST(ConstantFolding, DoesNotMakeLargeConstants) {
  PassContext context = Fetch({"y"});
  bool asked = false;
  context.evaluate = [&](const tensorflow::NodeDef& node, absl::Span<const Tensor> inputs) {
    asked = true;
    return Evaluate(node, inputs);
  };
  context.max_constant_bytes = 3;
  Apply(*MakeConstantFoldingPass(), context, Int("one", 1) + "%y:i32 = Add(%one, %one)\n");
  EXPECT_FALSE(asked);
}

TEST(CommonSubexpressions, AreComputedOnce) {
  EXPECT_EQ(Apply(*MakeCommonSubexpressionPass(), Fetch({"f"}),
                  "%a:f32 = Placeholder()\n%b:f32 = Neg(%a)\n%c:f32 = Neg(%a)\n%d:f32 = Mul(%a, %b)\n%e:f32 = Mul(%c, "
                  "%a)\n%f:f32 = AddN(%d, %e)\n"),
            "%a:f32 = Placeholder()\n%b:f32 = Neg(%a)\n%d:f32 = Mul(%a, %b)\n%f:f32 = AddN(%d, %d)\n");
}

TEST(CommonSubexpressions, DifferInWhatMatters) {
  const std::string text =
      "%a:f32 = Placeholder()\n"
      "%b:f32 = Placeholder()\n"
      "%m = NoOp()\n"
      "%x1:f32 = MatMul(%a, %b)\n"
      "%x2:f32 = MatMul(%b, %a)\n"
      "%x3:f32 = MatMul(%a, %b) {transpose_a=true}\n"
      "%x4:f32 = MatMul(%a, %b, ^%m)\n"
      "%x5:f32 = MatMul(%a, %b) @worker:1/CPU:0\n";
  EXPECT_EQ(Apply(*MakeCommonSubexpressionPass(), {}, text), text);
}

TEST(CommonSubexpressions, LeaveStateAndReadsOfVariablesAlone) {
  const std::string text =
      "%shape:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { } }}}\n"
      "%r1:f32 = RandomUniform(%shape)\n"
      "%r2:f32 = RandomUniform(%shape)\n"
      "%v:f32& = VariableV2() {shape=shape[]}\n"
      "%i1:f32 = Identity(%v)\n"
      "%i2:f32 = Identity(%v)\n";
  EXPECT_EQ(Apply(*MakeCommonSubexpressionPass(), {}, text), text);
}

TEST(CommonSubexpressions, KeepTheNamesThatAreFetched) {
  const std::string text = "%a:f32 = Placeholder()\n%b:f32 = Neg(%a)\n%c:f32 = Neg(%a)\n";
  EXPECT_EQ(Apply(*MakeCommonSubexpressionPass(), Fetch({"b", "c"}), text), text);
}

constexpr char kLayer[] =
    "%x:f32 = Placeholder()\n%w:f32 = Placeholder()\n%b:f32 = Placeholder()\n%go = NoOp()\n"
    "%h:f32 = MatMul(%x, %w) {transpose_b=true}\n%a:f32 = BiasAdd(%h, %b, ^%go)\n%y:f32 = Relu(%a)\n";

TEST(Remapping, MakesOneNodeOfAProductItsBiasAndItsActivation) {
  const std::string out = Apply(*MakeRemappingPass(), Fetch({"z"}), absl::StrCat(kLayer, "%z:f32 = Neg(%y)\n"));
  EXPECT_THAT(out, HasSubstr("%y:f32 = _FusedMatMul(%x, %w, %b, ^%go) {"));
  EXPECT_THAT(out, HasSubstr("fused_ops=[\"BiasAdd\", \"Relu\"]"));
  EXPECT_THAT(out, HasSubstr("transpose_b=true"));
  EXPECT_THAT(out, HasSubstr("%z:f32 = Neg(%y)\n"));
  EXPECT_THAT(out, Not(HasSubstr("BiasAdd(")));
}

TEST(Remapping, StopsAtWhatOthersSee) {
  const std::string fetched = Apply(*MakeRemappingPass(), Fetch({"y", "a"}), kLayer);
  EXPECT_THAT(fetched, HasSubstr("%a:f32 = _FusedMatMul("));
  EXPECT_THAT(fetched, HasSubstr("%y:f32 = Relu(%a)\n"));
  const std::string read_twice = Apply(*MakeRemappingPass(), Fetch({"y"}), absl::StrCat(kLayer, "%z:f32 = Neg(%h)\n"));
  EXPECT_THAT(read_twice, HasSubstr("%h:f32 = MatMul("));
  const std::string fed = Apply(*MakeRemappingPass(), Fetch({"y"}, {"h:0"}), kLayer);
  EXPECT_THAT(fed, HasSubstr("%h:f32 = MatMul("));
  const std::string elsewhere =
      Apply(*MakeRemappingPass(), Fetch({"y"}),
            "%x:f32 = Placeholder()\n%h:f32 = MatMul(%x, %x) @a:0/CPU:0\n%a:f32 = BiasAdd(%h, %x) @a:1/CPU:0\n");
  EXPECT_THAT(elsewhere, HasSubstr("%h:f32 = MatMul("));
}

TEST(Remapping, FusesProductsWhereDevicesHaveTheKernel) {
  const auto layer = [](const std::string& device) {
    auto graph = Parse(kLayer);
    for (Node* node : graph->nodes()) node->set_assigned_device("/job:a/replica:0/task:0/device:" + device);
    int changes = 0;
    EXPECT_TRUE(MakeRemappingPass()->Run(Fetch({"y"}), graph.get(), &changes).ok());
    return PrintGraph(*graph);
  };
  EXPECT_THAT(layer("GPU:0"), HasSubstr("%y:f32 = _FusedMatMul("));
  EXPECT_THAT(layer("TPU:0"), HasSubstr("%h:f32 = MatMul("));
}

TEST(Remapping, LeavesWhatRoundsInBetween) {
  const std::string out = Apply(*MakeRemappingPass(), Fetch({"a"}),
                                "%x:f64 = Placeholder()\n%h:f64 = MatMul(%x, %x)\n%a:f64 = BiasAdd(%h, %x)\n");
  EXPECT_THAT(out, HasSubstr("%h:f64 = MatMul("));
}

TEST(PassManager, RunsPassesInOrderAndReports) {
  const PassManager passes = PassManager::Default();
  EXPECT_THAT(passes.Names(),
              ElementsAre("prune", "inline", "constant_folding", "common_subexpressions", "remapping", "prune"));
  PassContext context = Fetch({"z"});
  context.evaluate = Evaluate;
  auto graph = Parse(Int("one", 1) + "%y:i32 = Add(%one, %one)\n%z:i32 = Add(%y, %y)\n%unused = NoOp()\n");
  auto reports = passes.Run(context, graph.get());
  ASSERT_TRUE(reports.ok()) << reports.status();
  EXPECT_EQ(reports->front().changes, 1);
  EXPECT_EQ(reports->back().nodes_after, 1);
  EXPECT_EQ(PrintGraph(*graph), Folded("z", 4));
}

TEST(PassManager, SwitchesPassesOff) {
  PassManager passes = PassManager::Default();
  ASSERT_TRUE(passes.Disable("prune").ok());
  absl::Status unknown = passes.Disable("fly");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("There is no pass 'fly'; there are prune, inline"));
  auto graph = Parse("%unused = NoOp()\n%a = NoOp()\n");
  ASSERT_TRUE(passes.Run(Fetch({"a"}), graph.get()).ok());
  EXPECT_EQ(graph->num_nodes(), 2);
}

}  // namespace
}  // namespace weir
