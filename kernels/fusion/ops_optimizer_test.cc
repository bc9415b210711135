// Expansion of the ops that TensorFlow's optimizer makes.
#include "absl/strings/str_join.h"
#include "core/testing.h"
#include "graph/fused/expand_fused_ops.h"
#include "graph/text/graph_text.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

const OpRegistry& AllOps() {
  static const OpRegistry* const ops = [] {
    auto* all = new OpRegistry;
    EXPECT_THAT(RegisterAllOps(*all), IsOk());
    return all;
  }();
  return *ops;
}

constexpr char kInputs[] = R"(
  %x:f32 = Placeholder() {shape=shape[?]}
  %w:f32 = Placeholder() {shape=shape[?]}
  %b:f32 = Placeholder() {shape=shape[?]}
  %before = NoOp()
)";

absl::StatusOr<std::unique_ptr<Graph>> Expand(const std::string& text) {
  auto graph = std::make_unique<Graph>(&AllOps());
  RETURN_IF_ERROR(ParseGraph(kInputs + text, {.allow_internal_ops = true, .prefix = ""}, graph.get()));
  RETURN_IF_ERROR(ExpandFusedOps(graph.get()));
  return graph;
}

// "name = op(inputs)" of the nodes that are not among the inputs, constants left out.
std::vector<std::string> Nodes(const Graph& graph) {
  std::vector<std::string> nodes;
  const tensorflow::GraphDef def = graph.ToGraphDef();
  for (const auto& node : def.node()) {
    if (node.op() == "Placeholder" || node.op() == "Const" || node.name() == "before") continue;
    nodes.push_back(absl::StrCat(node.name(), " = ", node.op(), "(", absl::StrJoin(node.input(), ", "), ")"));
  }
  return nodes;
}

TEST(OptimizerOpsTest, TheProductHasTheNodesNameAndWaitsForWhatTheNodeWaitedFor) {
  ASSERT_OK_AND_ASSIGN(auto graph, Expand(R"(
    %y:f32 = _FusedMatMul(%x, %w, %b, ^%before) {num_args=1, fused_ops=["BiasAdd", "_MklSwish"], transpose_b=true} @ps:1/CPU:0
    %z:f32 = Neg(%y, ^%y)
  )"));
  EXPECT_THAT(Nodes(*graph),
              testing::UnorderedElementsAre("y = MatMul(x, w, ^before)", "y/BiasAdd = BiasAdd(y, b)",
                                            "y/Sigmoid = Sigmoid(y/BiasAdd)", "y/Mul = Mul(y/BiasAdd, y/Sigmoid)",
                                            "z = Neg(y/Mul, ^y/Mul)"));
  EXPECT_TRUE(graph->FindNode("y")->def().attr().at("transpose_b").b());
  EXPECT_THAT(graph->FindNode("y/Mul")->requested_device(), HasSubstr("/job:ps/"));
}

TEST(OptimizerOpsTest, AConvolutionsStepsTakeTheirArgumentsInTurn) {
  ASSERT_OK_AND_ASSIGN(auto graph, Expand(R"(
    %y:f32 = _FusedConv2D(%x, %w, %b, %x) {num_args=2, TArgs=[f32, f32], fused_ops=["BiasAdd", "Add", "LeakyRelu"],
        leakyrelu_alpha=0.5, strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW"}
  )"));
  EXPECT_THAT(Nodes(*graph),
              testing::UnorderedElementsAre("y = Conv2D(x, w)", "y/BiasAdd = BiasAdd(y, b)",
                                            "y/AddV2 = AddV2(y/BiasAdd, x)", "y/LeakyRelu = LeakyRelu(y/AddV2)"));
  EXPECT_EQ(graph->FindNode("y/BiasAdd")->def().attr().at("data_format").s(), "NCHW");
  EXPECT_EQ(graph->FindNode("y/LeakyRelu")->def().attr().at("alpha").f(), 0.5f);
}

TEST(OptimizerOpsTest, BatchNormKeepsItsOtherOutputs) {
  ASSERT_OK_AND_ASSIGN(auto graph, Expand(R"(
    %y:(f32, f32, f32, f32, f32, f32) = _FusedBatchNormEx(%x, %b, %b, %b, %b, %w)
        {num_side_inputs=1, activation_mode="Relu"}
    %z:f32 = AddV2(%y, %y:2)
  )"));
  EXPECT_THAT(Nodes(*graph),
              testing::UnorderedElementsAre("y = FusedBatchNormV3(x, b, b, b, b)", "y/AddV2 = AddV2(y, w)",
                                            "y/Relu = Relu(y/AddV2)", "z = AddV2(y/Relu, y:2)"));
}

TEST(OptimizerOpsTest, GradientsOfBatchNormPassTheActivationFirst) {
  ASSERT_OK_AND_ASSIGN(auto graph, Expand(R"(
    %d:(f32, f32, f32, f32, f32, f32) = _FusedBatchNormGradEx(%x, %w, %b, %b, %b, %b, %b, %x)
        {num_side_inputs=1, activation_mode="Relu"}
    %z:f32 = AddV2(%d, %d:5)
  )"));
  EXPECT_THAT(Nodes(*graph),
              testing::UnorderedElementsAre("d = ReluGrad(x, x)",
                                            "d/FusedBatchNormGradV3 = FusedBatchNormGradV3(d, w, b, b, b, b)",
                                            "z = AddV2(d/FusedBatchNormGradV3, d)"));
}

TEST(OptimizerOpsTest, WhatAKernelDoesStays) {
  ASSERT_OK_AND_ASSIGN(auto graph,
                       Expand(R"(%y:f32 = _FusedMatMul(%x, %w, %b) {num_args=1, fused_ops=["BiasAdd", "Relu"]})"));
  EXPECT_THAT(Nodes(*graph), testing::UnorderedElementsAre("y = _FusedMatMul(x, w, b)"));
}

TEST(OptimizerOpsTest, AChainOfUnaryOps) {
  ASSERT_OK_AND_ASSIGN(auto graph, Expand(R"(%y:f32 = _UnaryOpsComposition(%x) {op_names=["Abs", "Sqrt"]})"));
  EXPECT_THAT(Nodes(*graph), testing::UnorderedElementsAre("y = Abs(x)", "y/Sqrt = Sqrt(y)"));
}

TEST(OptimizerOpsTest, RowsThatAreWrittenInPlaceAreConcatenated) {
  ASSERT_OK_AND_ASSIGN(auto graph, Expand(R"(
    %start:f32 = _ParallelConcatStart() {shape=shape[2], dtype=f32}
    %second:f32 = _ParallelConcatUpdate(%start, %x) {loc=1}
    %first:f32 = _ParallelConcatUpdate(%start, %w, ^%second, ^%before) {loc=0}
    %y:f32 = Identity(%start, ^%first, ^%second)
  )"));
  EXPECT_THAT(Nodes(*graph),
              testing::UnorderedElementsAre("start = ParallelConcat(w, x, ^before)", "y = Identity(start, ^start)"));
}

struct BadCase {
  std::string text;
  absl::StatusCode code;
  std::string message;
};

TEST(OptimizerOpsTest, WhatCannotBeExpandedIsNamed) {
  const BadCase cases[] = {
      {R"(%y:f32 = _FusedMatMul(%x, %w, %b) {num_args=1, fused_ops=["Nonsense"]})", absl::StatusCode::kUnimplemented,
       "Node 'y' (_FusedMatMul): there is no fused op 'Nonsense'"},
      {R"(%y:f32 = _FusedMatMul(%x, %w, %b) {num_args=1, fused_ops=["Relu"]})", absl::StatusCode::kInvalidArgument,
       "fused_ops take 0 arguments, but there are 1"},
      {R"(%y:f32 = _FusedMatMul(%x, %w) {num_args=0, fused_ops=["Add"]})", absl::StatusCode::kInvalidArgument,
       "input 2 is not connected"},
      {R"(%y:f32 = _UnaryOpsComposition(%x) {op_names=["MatMul"]})", absl::StatusCode::kUnimplemented, "MatMul"},
      {R"(%y:f32 = _UnaryOpsComposition(%x) {op_names=[]})", absl::StatusCode::kInvalidArgument, "op_names is empty"},
      {R"(%y:f32 = _ParallelConcatUpdate(%x, %w) {loc=0})", absl::StatusCode::kUnimplemented, "Node 'y'"},
      {R"(%s:f32 = _ParallelConcatStart() {shape=shape[2], dtype=f32}
          %y:f32 = _ParallelConcatUpdate(%s, %w) {loc=1})",
       absl::StatusCode::kUnimplemented, "rows must be written once each"},
      {R"(%s:f32 = _ParallelConcatStart() {shape=shape[2], dtype=f32})", absl::StatusCode::kUnimplemented,
       "nothing is written to it"},
  };
  for (const BadCase& c : cases) {
    EXPECT_THAT(Expand(c.text), StatusIs(c.code, HasSubstr(c.message))) << c.text;
  }
}

}  // namespace
}  // namespace weir
