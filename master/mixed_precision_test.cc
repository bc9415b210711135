// Tests of mixed precision with this build's ops and kernels, enabled by session options.
#include "core/testing.h"
#include "graph/text/graph_text.h"
#include "kernels/library.h"
#include "master/graph_preparation.h"

namespace weir {
namespace {

using tensorflow::RewriterConfig;
using ::testing::HasSubstr;

class MixedPrecisionTest : public ::testing::Test {
 protected:
  MixedPrecisionTest() : graph_(&ops_) {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    options_.placement.kernels = &kernels_;
    for (const char* device : {"CPU:0", "GPU:0"}) {
      options_.placement.devices.push_back(
          *DeviceName::ParseFull(absl::StrCat("/job:worker/replica:0/task:0/device:", device)));
    }
    rewrite().set_auto_mixed_precision_onednn_bfloat16(RewriterConfig::ON);
  }

  RewriterConfig& rewrite() { return *options_.graph_options.mutable_rewrite_options(); }
  void UseFloat16() {
    rewrite().Clear();
    rewrite().set_auto_mixed_precision_cpu(RewriterConfig::ON);
  }
  absl::Status TryPrepare(const std::string& text, std::vector<std::string> kept) {
    ImportOptions import;
    import.allow_internal_ops = true;
    RETURN_IF_ERROR(ParseGraph(text, import, &graph_));
    const auto unplaced = PlaceGraph(options_.placement, &graph_);
    options_.kept = std::move(kept);
    return PrepareGraph(options_, unplaced, &graph_);
  }
  void Prepare(const std::string& text, std::vector<std::string> kept) {
    ASSERT_THAT(TryPrepare(text, std::move(kept)), IsOk());
  }
  DataType TypeOf(const std::string& node, int output = 0) {
    const Node* found = graph_.FindNode(node);
    EXPECT_NE(found, nullptr) << node << " in\n" << PrintGraph(graph_);
    return found == nullptr ? DT_INVALID : found->output_type(output);
  }
  int NumCasts() {
    int casts = 0;
    for (const Node* node : graph_.nodes()) casts += node->op() == "Cast";
    return casts;
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  PreparationOptions options_;
  Graph graph_;
};

std::string Inputs(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, "%", name, ":f32 = Placeholder() {dtype=f32}\n");
  return text;
}

const std::string kMlp = Inputs({"x", "w", "b"}) +
                         "%h:f32 = MatMul(%x, %w)\n%sum:f32 = BiasAdd(%h, %b)\n%r:f32 = Relu(%sum)\n"
                         "%h2:f32 = MatMul(%r, %w)\n%e:f32 = Exp(%h2)\n%m:f32 = Mul(%e, %h2)\n";

TEST_F(MixedPrecisionTest, ConvertsWhatIsBetweenProducts) {
  Prepare(kMlp, {"m"});
  for (const char* node : {"h", "sum", "r", "h2"}) EXPECT_EQ(TypeOf(node), DT_BFLOAT16) << node;
  for (const char* node : {"x", "w", "b", "e", "m"}) EXPECT_EQ(TypeOf(node), DT_FLOAT) << node;
  EXPECT_EQ(NumCasts(), 4) << PrintGraph(graph_);  // x, w and b, and h2 once for its two readers
}

TEST_F(MixedPrecisionTest, DoesNothingUnlessItIsAsked) {
  for (const auto toggle : {RewriterConfig::DEFAULT, RewriterConfig::OFF}) {
    graph_ = Graph(&ops_);
    rewrite().set_auto_mixed_precision_onednn_bfloat16(toggle);
    Prepare(kMlp, {"m"});
    EXPECT_EQ(NumCasts(), 0);
  }
  graph_ = Graph(&ops_);
  rewrite().set_auto_mixed_precision_mkl(RewriterConfig::AGGRESSIVE);
  Prepare(kMlp, {"m"});
  EXPECT_EQ(NumCasts(), 4);
  graph_ = Graph(&ops_);
  rewrite().set_disable_meta_optimizer(true);
  Prepare(kMlp, {"m"});
  EXPECT_EQ(NumCasts(), 0);
}

TEST_F(MixedPrecisionTest, CanBeNamedAmongOptimizers) {
  rewrite().add_optimizers("auto_mixed_precision_cpu");
  Prepare(kMlp, {"m"});
  EXPECT_EQ(TypeOf("h"), DT_HALF);
}

TEST_F(MixedPrecisionTest, ACustomOptimizerConvertsWhatIsOnGpus) {
  rewrite().Clear();
  rewrite().add_custom_optimizers()->set_name("GpuBfloat16");
  const std::string product = "%h:f32 = MatMul(%x, %w)";
  const std::string both = Inputs({"x", "w"}) + product +
                           " @\"/device:GPU:0\"\n%c:f32 = MatMul(%x, %w) @\"/device:CPU:0\"\n" +
                           "%m:f32 = Mul(%h, %c)\n";
  Prepare(both, {"m"});
  EXPECT_EQ(TypeOf("h"), DT_BFLOAT16);
  EXPECT_EQ(TypeOf("c"), DT_FLOAT);
}

TEST_F(MixedPrecisionTest, NodesOnGpusHaveOneType) {
  rewrite().Clear();
  rewrite().add_custom_optimizers()->set_name("GpuBfloat16");
  rewrite().set_auto_mixed_precision(RewriterConfig::ON);
  EXPECT_THAT(TryPrepare(kMlp, {"m"}).message(), HasSubstr("float16, and for GpuBfloat16"));
  graph_ = Graph(&ops_);
  rewrite().clear_auto_mixed_precision();
  (*rewrite().mutable_custom_optimizers(0)->mutable_parameter_map())["level"].set_i(1);
  EXPECT_THAT(TryPrepare(kMlp, {"m"}).message(), HasSubstr("GpuBfloat16 has no parameters, not even level"));
}

TEST_F(MixedPrecisionTest, WhatIsAskedForKeepsItsType) {
  Prepare(kMlp, {"m", "r", "h"});
  EXPECT_EQ(TypeOf("h"), DT_FLOAT);
  EXPECT_EQ(TypeOf("r"), DT_FLOAT);
  EXPECT_EQ(TypeOf("h2"), DT_BFLOAT16);
}

TEST_F(MixedPrecisionTest, VariablesStayInFloatAndAreCastOnce) {
  Prepare(Inputs({"x", "y"}) +
              "%v:resource = VarHandleOp() {dtype=f32, shape=shape[2,2]}\n"
              "%read:f32 = ReadVariableOp(%v) {dtype=f32}\n%a:f32 = MatMul(%x, %read)\n%b:f32 = MatMul(%y, %read)\n"
              "%sum:f32 = AddV2(%a, %b)\n%update = AssignAddVariableOp(%v, %sum) {dtype=f32}\n",
          {"update"});
  EXPECT_EQ(TypeOf("read"), DT_FLOAT);
  EXPECT_EQ(TypeOf("sum"), DT_BFLOAT16);
  EXPECT_EQ(graph_.FindNode("update")->input_type(1), DT_FLOAT);
  EXPECT_EQ(NumCasts(), 4);  // x, y, read, sum
}

TEST_F(MixedPrecisionTest, ReferenceVariablesKeepTheirReads) {
  Prepare(Inputs({"x"}) +
              "%v:f32& = VariableV2() {dtype=f32, shape=shape[2,2]}\n%read:f32 = Identity(%v)\n"
              "%a:f32 = MatMul(%x, %read)\n%e:f32 = Exp(%a)\n",
          {"e"});
  EXPECT_EQ(TypeOf("read"), DT_FLOAT);
  EXPECT_EQ(TypeOf("a"), DT_BFLOAT16);
}

TEST_F(MixedPrecisionTest, DangerSpreadsToWhatIsComputedFromIt) {
  UseFloat16();
  Prepare(Inputs({"x", "w"}) +
              "%a:f32 = MatMul(%x, %w)\n%e:f32 = Exp(%a)\n%n:f32 = Neg(%e)\n%t:f32 = Tanh(%n)\n"
              "%i:f32 = Identity(%t)\n%b:f32 = MatMul(%i, %w)\n%out:f32 = Exp(%b)\n",
          {"out"});
  for (const char* node : {"e", "n", "t"}) EXPECT_EQ(TypeOf(node), DT_FLOAT) << node;
  for (const char* node : {"a", "i", "b"}) EXPECT_EQ(TypeOf(node), DT_HALF) << node;
}

TEST_F(MixedPrecisionTest, BatchNormalisationKeepsItsStatistics) {
  Prepare(Inputs({"x", "f", "s", "m"}) +
              "%c:f32 = Conv2D(%x, %f) {strides=[1, 1, 1, 1], padding=\"SAME\"}\n"
              "%n:(f32, f32, f32, f32, f32) = FusedBatchNorm(%c, %s, %s, %m, %m)\n"
              "%d:f32 = Conv2D(%n, %f) {strides=[1, 1, 1, 1], padding=\"SAME\"}\n%out:f32 = AddV2(%d, %n:1)\n"
              "%e:f32 = Exp(%out)\n",
          {"e"});
  EXPECT_EQ(graph_.FindNode("n")->op(), "FusedBatchNormV2");
  EXPECT_EQ(TypeOf("n"), DT_BFLOAT16);
  EXPECT_EQ(TypeOf("n", 1), DT_FLOAT);
}

constexpr char kLoop[] =
    "%start:f32 = Enter(%x) {frame_name=\"f\"}\n%weights:f32 = Enter(%w) {frame_name=\"f\", is_constant=true}\n"
    "%merge:(f32, i32) = Merge(%start, %next)\n%limit:f32 = Enter(%l) {frame_name=\"f\", is_constant=true}\n"
    "%first:f32 = Max(%merge, %axes)\n%less:bool = Less(%first, %limit)\n%cond:bool = LoopCond(%less)\n"
    "%switch:(f32, f32) = Switch(%merge, %cond)\n%exit:f32 = Exit(%switch)\n";

std::string Axes() {
  return "%all:i32 = Const() {dtype=i32, value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 0 "
         "int_val: 1}}\n%axes:i32 = Enter(%all) {frame_name=\"f\", is_constant=true}\n";
}

TEST_F(MixedPrecisionTest, ALoopVariableHasOneType) {
  Prepare(Inputs({"x", "w", "l"}) + Axes() + kLoop +
              "%body:f32 = MatMul(%switch:1, %weights)\n%next:f32 = NextIteration(%body)\n%out:f32 = Exp(%exit)\n",
          {"out"});
  for (const char* node : {"merge", "switch", "body", "next", "exit"}) EXPECT_EQ(TypeOf(node), DT_BFLOAT16) << node;
}

TEST_F(MixedPrecisionTest, ALoopVariableThatIsDangerousStaysFloat) {
  Prepare(Inputs({"x", "w", "l"}) + Axes() + kLoop +
              "%body:f32 = MatMul(%switch:1, %weights)\n%exp:f32 = Exp(%body)\n%t:f32 = Tanh(%exp)\n"
              "%next:f32 = NextIteration(%t)\n%out:f32 = Exp(%exit)\n",
          {"out"});
  for (const char* node : {"merge", "next"}) EXPECT_EQ(TypeOf(node), DT_FLOAT) << node;
  EXPECT_EQ(TypeOf("body"), DT_BFLOAT16);
}

std::string List(const std::string& danger) {
  return Inputs({"x", "w"}) +
         "%shape:i32 = Const() {dtype=i32, value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: "
         "-1}}\n"
         "%i:i32 = Const() {dtype=i32, value=tensor{dtype: DT_INT32 tensor_shape { } int_val: 0}}\n"
         "%n:i32 = Const() {dtype=i32, value=tensor{dtype: DT_INT32 tensor_shape { } int_val: 1}}\n"
         "%list:variant = TensorListReserve(%shape, %n) {element_dtype=f32, shape_type=i32}\n"
         "%a:f32 = MatMul(%x, %w)\n" +
         danger +
         "%with:variant = TensorListSetItem(%list, %i, %item) {element_dtype=f32}\n"
         "%get:f32 = TensorListGetItem(%with, %i, %shape) {element_dtype=f32}\n"
         "%b:f32 = MatMul(%get, %w)\n%out:f32 = Exp(%b)\n";
}

TEST_F(MixedPrecisionTest, ListsOfTensorsHaveOneType) {
  Prepare(List("%item:f32 = Tanh(%a)\n"), {"out"});
  EXPECT_EQ(TypeOf("get"), DT_BFLOAT16);
  for (const char* node : {"list", "with"}) {
    EXPECT_EQ(graph_.FindNode(node)->def().attr().at("element_dtype").type(), DT_BFLOAT16) << node;
  }
}

TEST_F(MixedPrecisionTest, AListThatSomebodyElseSeesStaysFloat) {
  Prepare(List("%item:f32 = Tanh(%a)\n"), {"out", "with"});
  EXPECT_EQ(TypeOf("get"), DT_FLOAT);
  EXPECT_EQ(graph_.FindNode("list")->def().attr().at("element_dtype").type(), DT_FLOAT);
}

TEST_F(MixedPrecisionTest, CastsToFloatGiveTheNewTypeAtOnce) {
  Prepare("%pixels:u8 = Placeholder() {dtype=u8}\n" + Inputs({"w"}) +
              "%wide:f32 = Cast(%pixels) {DstT=f32}\n%a:f32 = MatMul(%wide, %w)\n%out:f32 = Exp(%a)\n",
          {"out"});
  EXPECT_EQ(TypeOf("wide"), DT_BFLOAT16);
}

TEST_F(MixedPrecisionTest, WhatHasNoKernelStaysFloat) {
  // The op's definition allows the type.
  options_.mixed_precision.allow.add = {"Lgamma"};
  Prepare(Inputs({"x"}) + "%c:f32 = Lgamma(%x)\n%out:f32 = Exp(%c)\n", {"out"});
  EXPECT_EQ(TypeOf("c"), DT_FLOAT);
}

// A square of this number would take minutes.
TEST_F(MixedPrecisionTest, TensorsOfOneNodeMayBeMany) {
  constexpr int kMany = 100'000;
  std::string types = "f32", inputs = "%a";
  for (int i = 1; i < kMany; ++i) {
    absl::StrAppend(&types, ", f32");
    absl::StrAppend(&inputs, ", %a");
  }
  Prepare(absl::StrCat(Inputs({"x", "w"}), "%a:f32 = MatMul(%x, %w)\n%all:(", types, ") = IdentityN(", inputs,
                       ")\n%out:f32 = Exp(%all:", kMany - 1, ")\n"),
          {"out"});
  EXPECT_EQ(TypeOf("all"), DT_BFLOAT16);
  EXPECT_EQ(TypeOf("all", kMany - 1), DT_BFLOAT16);
}

TEST_F(MixedPrecisionTest, EachModeIsForOneKindOfDevice) {
  const std::string text = Inputs({"x", "w"}) +
                           "%a:f32 = MatMul(%x, %w) @worker:0/CPU:0\n"
                           "%b:f32 = MatMul(%x, %w) @worker:0/GPU:0\n%out:f32 = Sub(%a, %b)\n"
                           "%e:f32 = Exp(%out)\n";
  Prepare(text, {"e"});
  EXPECT_EQ(TypeOf("a"), DT_BFLOAT16);
  EXPECT_EQ(TypeOf("b"), DT_FLOAT);
  graph_ = Graph(&ops_);
  rewrite().Clear();
  rewrite().set_auto_mixed_precision(RewriterConfig::ON);
  Prepare(text, {"e"});
  EXPECT_EQ(TypeOf("a"), DT_FLOAT);
  EXPECT_EQ(TypeOf("b"), DT_HALF);
}

TEST_F(MixedPrecisionTest, ForcesAllWhereItIsTold) {
  options_.mixed_precision.level = MixedPrecisionSettings::Level::kUnsafeForceAll;
  EXPECT_THAT(TryPrepare(kMlp, {"m"}).message(), HasSubstr("cannot be UNSAFE_FORCE_ALL"));
  graph_ = Graph(&ops_);
  UseFloat16();
  Prepare(kMlp, {"m"});
  EXPECT_EQ(TypeOf("e"), DT_HALF);
  EXPECT_EQ(TypeOf("m"), DT_FLOAT);
}

}  // namespace
}  // namespace weir
