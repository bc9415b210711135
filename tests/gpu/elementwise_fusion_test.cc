// Tests of the pass that fuses nodes. Each gives a graph as text and reads the text of the result.
#include "graph/passes/fusion/elementwise_fusion.h"

#include "absl/strings/str_join.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/text/graph_text.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kGpu[] = "/job:a/replica:0/task:0/device:GPU:0";

const OpRegistry& Ops() {
  static const OpRegistry* const ops = [] {
    auto* made = new OpRegistry;
    EXPECT_THAT(RegisterAllOps(*made), IsOk());
    return made;
  }();
  return *ops;
}

// Of a graph on one GPU, but for nodes that are named elsewhere.
std::string Fuse(const std::string& text, const PassContext& context = {}, const char* elsewhere = "") {
  Graph graph(&Ops());
  ImportOptions options;
  options.allow_internal_ops = true;
  const absl::Status parsed = ParseGraph(text, options, &graph);
  EXPECT_THAT(parsed, IsOk());
  for (Node* node : graph.nodes()) {
    node->set_assigned_device(node->name() == elsewhere ? "/job:a/replica:0/task:0/device:CPU:0" : kGpu);
  }
  int changes = 0;
  const absl::Status status = MakeElementwiseFusionPass("GPU")->Run(context, &graph, &changes);
  EXPECT_THAT(status, IsOk());
  std::string out = PrintGraph(graph);
  EXPECT_EQ(changes > 0, out.find("_FusedElementwise") != std::string::npos);
  return out;
}
auto HasSteps(const std::vector<std::string>& steps) {
  return HasSubstr(absl::StrCat("steps=[\"", absl::StrJoin(steps, "\", \""), "\"]"));
}
auto IsNotFused() { return Not(HasSubstr("_FusedElementwise")); }

constexpr char kInputs[] =
    "%x:f32 = Placeholder()\n%y:f32 = Placeholder()\n%c:bool = Placeholder()\n%h:f16 = Placeholder()\n%go = NoOp()\n";
std::string Inputs(const std::string& text) { return absl::StrCat(kInputs, text); }

TEST(ElementwiseFusion, MakesOneNodeOfAChain) {
  const std::string out =
      Fuse(Inputs("%a:f32 = AddV2(%x, %y, ^%go)\n%b:f32 = Tanh(%a)\n%d:f32 = Mul(%b, %a)\n%z:f32 = Softmax(%d)\n"));
  EXPECT_THAT(out, HasSteps({"AddV2(0, 1)", "Tanh(2)", "Mul(3, 2)"}));
  EXPECT_THAT(out, HasSubstr("_FusedElementwise(%x, %y, ^%go)"));
  EXPECT_THAT(out, HasSubstr("nodes=[\"a\", \"b\", \"d\"]"));
  EXPECT_THAT(out, HasSubstr("%z:f32 = Softmax(%d/_fused)"));
  EXPECT_THAT(out, Not(HasSubstr("Tanh(%")));
}

TEST(ElementwiseFusion, OneNodeAloneStays) {
  EXPECT_THAT(Fuse(Inputs("%a:f32 = AddV2(%x, %y)\n%z:f32 = Softmax(%a)\n%b:f32 = Neg(%z)\n")), IsNotFused());
}

TEST(ElementwiseFusion, TakesCastsChoicesBiasesAndSums) {
  const std::string out =
      Fuse(Inputs("%a:f32 = Cast(%h)\n%b:f32 = BiasAdd(%a, %y) {data_format=\"NCHW\"}\n%d:bool = Greater(%b, %x)\n"
                  "%e:f32 = SelectV2(%d, %b, %x)\n%f:f32 = AddN(%e, %x, %a)\n"));
  EXPECT_THAT(out,
              HasSteps({"Cast:float(0)", "BiasAdd:NCHW(3, 1)", "Greater(4, 2)", "SelectV2(5, 4, 2)", "AddN(6, 2, 3)"}));
}

TEST(ElementwiseFusion, ABiasStaysAnInputOfItsOwn) {
  const std::string out = Fuse(Inputs("%n:f32 = Neg(%y)\n%b:f32 = BiasAdd(%x, %n)\n%z:f32 = Mul(%b, %n)\n"));
  EXPECT_THAT(out, AllOf(HasSubstr("%n:f32 = Neg(%y)"), HasSteps({"BiasAdd(0, 1)", "Mul(3, 2)"}),
                         HasSubstr("_FusedElementwise(%x, %n, %n)")));
}

TEST(ElementwiseFusion, WhatIsReadElsewhereTooIsAFurtherOutput) {
  const std::string out =
      Fuse(Inputs("%a:f32 = AddV2(%x, %y)\n%b:f32 = Tanh(%a)\n%s:f32 = Softmax(%a)\n%t:f32 = Softmax(%b)\n"));
  EXPECT_THAT(out, HasSteps({"AddV2(0, 1)", "Tanh(2)"}));
  EXPECT_THAT(out, AllOf(HasSubstr("outputs=[2, 3]"), HasSubstr("%s:f32 = Softmax(%b/_fused)"),
                         HasSubstr("%t:f32 = Softmax(%b/_fused:1)")));
}

TEST(ElementwiseFusion, NoPathLeavesAndComesBack) {
  // d reads a both by itself and through the softmax.
  const std::string out = Fuse(Inputs("%a:f32 = Neg(%x)\n%s:f32 = Softmax(%a)\n%d:f32 = Mul(%a, %s)\n"));
  EXPECT_THAT(out, IsNotFused());
  // Nor through another group: once b and q are one node, a and p cannot be.
  const std::string crossed =
      Fuse(Inputs("%a:f32 = Neg(%x)\n%b:f32 = Exp(%x)\n%sa:f32 = Softmax(%a)\n%sb:f32 = Softmax(%b)\n"
                  "%p:f32 = Mul(%a, %sb)\n%q:f32 = Mul(%b, %sa)\n%f:f32 = Softmax(%p)\n%g:f32 = Softmax(%q)\n"));
  EXPECT_THAT(crossed, AllOf(HasSteps({"Exp(0)", "Mul(2, 1)"}), HasSubstr("%a:f32 = Neg(%x)"),
                             HasSubstr("%p:f32 = Mul(%a, %sb)")));
}

TEST(ElementwiseFusion, AReductionEndsAGroup) {
  const std::string axes =
      "%axes:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -1}}\n";
  const std::string out =
      Fuse(Inputs(axes + "%a:f32 = Square(%x)\n%m:f32 = Mean(%a, %axes) {keep_dims=true}\n%r:f32 = Rsqrt(%m)\n"));
  EXPECT_THAT(out, AllOf(HasSteps({"Square(0)"}), HasSubstr("fold=\"Mean\""), HasSubstr("axes=[-1]"),
                         HasSubstr("keep_dims=true"), HasSubstr("%r:f32 = Rsqrt(%m/_fused)"), Not(HasSubstr("%axes"))));
  // Not where the elements are wanted too, or axes are no constant.
  EXPECT_THAT(Fuse(Inputs(axes + "%a:f32 = Square(%x)\n%m:f32 = Mean(%a, %axes)\n%r:f32 = Softmax(%a)\n")),
              IsNotFused());
  EXPECT_THAT(Fuse(Inputs("%axes:i32 = Placeholder()\n%a:f32 = Square(%x)\n%m:f32 = Mean(%a, %axes)\n")), IsNotFused());
}

TEST(ElementwiseFusion, LeavesWhatIsFetchedFedOrElsewhere) {
  const std::string text = Inputs("%a:f32 = Neg(%x)\n%b:f32 = Exp(%a)\n");
  PassContext fetch, feed;
  fetch.fetches = {"a:0"};
  feed.feeds = {"b:0"};
  EXPECT_THAT(Fuse(text, fetch), IsNotFused());
  EXPECT_THAT(Fuse(text, feed), IsNotFused());
  EXPECT_THAT(Fuse(text, {}, "a"), IsNotFused());
  EXPECT_THAT(Fuse(text), HasSteps({"Neg(0)", "Exp(1)"}));
}

TEST(ElementwiseFusion, LeavesOtherTypesAndAttributes) {
  EXPECT_THAT(Fuse("%i:i32 = Placeholder()\n%a:i32 = Neg(%i)\n%b:i32 = Neg(%a)\n"), IsNotFused());
  EXPECT_THAT(Fuse("%i:c64 = Placeholder()\n%a:c64 = Neg(%i)\n%b:c64 = Neg(%a)\n"), IsNotFused());
  EXPECT_THAT(Fuse(Inputs("%a:f16 = Cast(%x) {Truncate=true}\n%b:f16 = Neg(%a)\n")), IsNotFused());
  EXPECT_THAT(Fuse(Inputs("%a:bool = Equal(%x, %y) {incompatible_shape_error=false}\n%b:bool = LogicalNot(%a)\n")),
              IsNotFused());
  EXPECT_THAT(Fuse("%v:f32& = VariableV2() {shape=shape[]}\n%a:f32 = Neg(%v)\n%b:f32 = Neg(%a)\n"), IsNotFused());
}

TEST(ElementwiseFusion, ControlEdgesGoOn) {
  const std::string out =
      Fuse(Inputs("%a:f32 = Neg(%x)\n%b:f32 = Exp(%a, ^%go)\n%after = NoOp(^%b)\n%s:f32 = Softmax(%b)\n"));
  EXPECT_THAT(out, AllOf(HasSubstr("_FusedElementwise(%x, ^%go)"), HasSubstr("%after = NoOp(^%b/_fused)")));
  // What somebody waits for is an output.
  EXPECT_THAT(Fuse(Inputs("%a:f32 = Neg(%x)\n%b:f32 = Exp(%a)\n%after = NoOp(^%a)\n")), HasSubstr("outputs=[1, 2]"));
}

TEST(ElementwiseFusion, NothingWaitsForMoreReceivesThanBefore) {
  const std::string recv =
      "%r:f32 = _Recv() {tensor_name=\"r\", send_device=\"/job:b/replica:0/task:0/device:CPU:0\", "
      "send_device_incarnation=1, recv_device=\"/job:a/replica:0/task:0/device:GPU:0\"}\n";
  // Who gets a may be he who sends r.
  EXPECT_THAT(Fuse(Inputs(recv + "%a:f32 = Neg(%x)\n%b:f32 = Mul(%a, %r)\n%s:f32 = Softmax(%a)\n")), IsNotFused());
  EXPECT_THAT(Fuse(Inputs(recv + "%a:f32 = Neg(%x)\n%b:f32 = Mul(%a, %r)\n")), HasSteps({"Neg(0)", "Mul(2, 1)"}));
}

TEST(ElementwiseFusion, NothingIsDeadThatWasNot) {
  const std::string branch = "%p:bool = Placeholder()\n%sw:(f32, f32) = Switch(%y, %p)\n";
  EXPECT_THAT(Fuse(Inputs(branch + "%a:f32 = Neg(%x)\n%b:f32 = Mul(%a, %sw:1)\n%s:f32 = Softmax(%a)\n")), IsNotFused());
  EXPECT_THAT(Fuse(Inputs(branch + "%a:f32 = Neg(%sw:1)\n%b:f32 = Exp(%a)\n%s:f32 = Softmax(%a)\n")),
              HasSteps({"Neg(0)", "Exp(1)"}));
}

TEST(ElementwiseFusion, GroupsStayWithinTheLimits) {
  std::string text = Inputs("");
  std::string last = "x";
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&text, "%n", i, ":f32 = Neg(%", last, ")\n");
    last = absl::StrCat("n", i);
  }
  const std::string chain = Fuse(text);
  EXPECT_THAT(chain, Not(HasSubstr("= Neg(")));
  text.clear();
  for (int i = 0; i < 40; ++i) absl::StrAppend(&text, "%p", i, ":f32 = Placeholder()\n");
  last = "p0";
  for (int i = 1; i < 40; ++i) {
    absl::StrAppend(&text, "%a", i, ":f32 = AddV2(%", last, ", %p", i, ")\n");
    last = absl::StrCat("a", i);
  }
  EXPECT_THAT(Fuse(text), Not(HasSubstr("= AddV2(")));
}

TEST(FusionOptionsTest, AreAmongTheCustomOptimizersOrTensorFlowsJitLevel) {
  tensorflow::GraphOptions options;
  EXPECT_FALSE(*AsksForFusion(options));
  options.mutable_optimizer_options()->set_global_jit_level(tensorflow::OptimizerOptions::OFF);
  EXPECT_FALSE(*AsksForFusion(options));
  options.mutable_optimizer_options()->set_global_jit_level(tensorflow::OptimizerOptions::ON_1);
  EXPECT_TRUE(*AsksForFusion(options));
  options.Clear();
  auto* const optimizer = options.mutable_rewrite_options()->add_custom_optimizers();
  optimizer->set_name(kGpuFusionOptimizer);
  EXPECT_TRUE(*AsksForFusion(options));
  (*optimizer->mutable_parameter_map())["speed"].set_i(1);
  EXPECT_THAT(AsksForFusion(options).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("speed")));
}

}  // namespace
}  // namespace weir
