// Tests of the passes on batch normalisation for GPUs. Each gives a graph as text and reads the text of the result.
#include "core/testing.h"
#include "graph/passes/pass_manager.h"
#include "graph/text/graph_text.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const OpRegistry& AllOps() {
  static const OpRegistry* const ops = [] {
    auto* all = new OpRegistry;
    EXPECT_THAT(RegisterAllOps(*all), IsOk());
    return all;
  }();
  return *ops;
}

std::string Apply(const std::string& text, const std::string& device = "GPU:0", const PassContext& context = {}) {
  Graph graph(&AllOps());
  ImportOptions options;
  options.allow_internal_ops = true;
  absl::Status status = ParseGraph(text, options, &graph);
  EXPECT_TRUE(status.ok()) << status;
  for (Node* node : graph.nodes()) node->set_assigned_device("/job:a/replica:0/task:0/device:" + device);
  int changes = 0;
  status = MakeBatchNormPass()->Run(context, &graph, &changes);
  return status.ok() ? PrintGraph(graph) : std::string(status.message());
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

constexpr char kInputs[] =
    "%x:f32 = Placeholder() {shape=shape[2,4,4,3]}\n%side:f32 = Placeholder() {shape=shape[2,4,4,3]}\n"
    "%small:f32 = Placeholder() {shape=shape[1,4,4,3]}\n%v:f32 = Placeholder() {shape=shape[3]}\n%go = NoOp()\n";
constexpr char kNorm[] =
    "%norm:(f32, f32, f32, f32, f32, f32) = FusedBatchNormV3(%x, %v, %v, %v, %v, ^%go) {epsilon=0.25}\n";
const std::string kPlain = std::string(kInputs) + kNorm + "%y:f32 = Relu(%norm)\n%after = NoOp(^%norm)\n" +
                           "%mean:f32 = Neg(%norm:1)\n%read:f32 = Neg(%y)\n";
const std::string kResidual =
    std::string(kInputs) + kNorm + "%sum:f32 = AddV2(%norm, %side)\n" + "%y:f32 = Relu(%sum)\n%read:f32 = Neg(%y)\n";
constexpr char kGradient[] =
    "%dy:f32 = Placeholder() {shape=shape[2,4,4,3]}\n%passed:f32 = ReluGrad(%dy, %y)\n"
    "%grad:(f32, f32, f32, f32, f32) = FusedBatchNormGradV3(%passed, %x, %v, %norm:3, %norm:4, %norm:5)"
    " {epsilon=0.25}\n%dx:f32 = Neg(%grad)\n%dscale:f32 = Neg(%grad:1)\n";

TEST(BatchNorm, TakesTheReluBehindIt) {
  const std::string out = Apply(kPlain);
  EXPECT_THAT(out, AllOf(HasSubstr("_FusedBatchNormEx(%x, %v, %v, %v, %v, ^%go)"), HasSubstr("epsilon=0.25"),
                         HasSubstr("activation_mode=\"Relu\""), HasSubstr("Neg(%y:1)"), HasSubstr("Neg(%y)"),
                         HasSubstr("NoOp(^%y)")));
  EXPECT_THAT(out, AllOf(Not(HasSubstr("FusedBatchNormV3")), Not(HasSubstr("= Relu("))));
}

TEST(BatchNorm, TakesAnImageOfTheSameShape) {
  EXPECT_THAT(Apply(kResidual),
              AllOf(HasSubstr("_FusedBatchNormEx(%x, %v, %v, %v, %v, %side, ^%go)"), Not(HasSubstr("AddV2"))));
  EXPECT_THAT(Apply(Replaced(kResidual, "AddV2(%norm, %side)", "AddV2(%side, %norm)")),
              HasSubstr("_FusedBatchNormEx(%x, %v, %v, %v, %v, %side, ^%go)"));
  EXPECT_THAT(Apply(Replaced(kResidual, "AddV2(%norm, %side)", "AddV2(%norm, %small)")),
              Not(HasSubstr("_FusedBatchNormEx")));
  for (const char* sum : {"AddV2(%norm, %norm)", "AddV2(%norm:3, %norm)", "AddV2(%norm, %norm:3)"}) {
    EXPECT_THAT(Apply(Replaced(kResidual, "AddV2(%norm, %side)", sum)), Not(HasSubstr("_FusedBatchNormEx"))) << sum;
  }
}

TEST(BatchNorm, TheGradientComesThroughRelu) {
  const std::string out = Apply(kPlain + kGradient);
  EXPECT_THAT(out, AllOf(HasSubstr("_FusedBatchNormGradEx(%dy, %x, %v, %y:3, %y:4, %y:5, %v, %y)"),
                         HasSubstr("Neg(%grad)"), HasSubstr("Neg(%grad:1)"), Not(HasSubstr("ReluGrad"))));
  const std::string shared = Apply(kResidual + kGradient + "%dside:f32 = Neg(%passed)\n");
  EXPECT_THAT(shared, AllOf(HasSubstr("_FusedBatchNormGradEx(%dy, %x, %v, %y:3, %y:4, %y:5, %v, %y)"),
                            HasSubstr("Neg(%grad:5)")));
}

TEST(BatchNorm, WhatIsReadElsewhereStays) {
  EXPECT_THAT(Apply(kPlain, "CPU:0"), Not(HasSubstr("_FusedBatchNormEx")));
  EXPECT_THAT(Apply(kPlain + "%also:f32 = Neg(%norm)\n"), Not(HasSubstr("_FusedBatchNormEx")));
  EXPECT_THAT(Apply(kResidual + "%also:f32 = Neg(%sum)\n"), Not(HasSubstr("_FusedBatchNormEx")));
  for (const char* name : {"norm", "sum"}) {
    PassContext fetched, fed;
    fetched.fetches = {name};
    fed.feeds = {absl::StrCat(name, ":0")};
    EXPECT_THAT(Apply(kResidual, "GPU:0", fetched), Not(HasSubstr("_FusedBatchNormEx")));
    EXPECT_THAT(Apply(kResidual, "GPU:0", fed), Not(HasSubstr("_FusedBatchNormEx")));
  }
  PassContext fed;
  fed.feeds = {"y:0"};
  EXPECT_THAT(Apply(kPlain, "GPU:0", fed), Not(HasSubstr("_FusedBatchNormEx")));
  PassContext fetched;
  fetched.fetches = {"y"};
  EXPECT_THAT(Apply(kPlain, "GPU:0", fetched), HasSubstr("_FusedBatchNormEx"));
}

// The Relu waits for what waits for the normalisation.
TEST(BatchNorm, NothingWaitsForItself) {
  EXPECT_THAT(
      Apply(Replaced(kPlain, "Relu(%norm)\n%after = NoOp(^%norm)", "Relu(%norm, ^%after)\n%after = NoOp(^%norm)")),
      Not(HasSubstr("_FusedBatchNormEx")));
}

}  // namespace
}  // namespace weir
