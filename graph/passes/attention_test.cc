// Each test gives a graph as text, and reads the text of what came out.
#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/passes/pass_manager.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Apply(const std::string& text, const std::string& device = "", const PassContext& context = {}) {
  Graph graph(&TestOps());
  ImportOptions options;
  options.allow_internal_ops = true;
  absl::Status status = ParseGraph(text, options, &graph);
  EXPECT_TRUE(status.ok()) << status;
  if (!device.empty()) {
    for (Node* node : graph.nodes()) node->set_assigned_device("/job:a/replica:0/task:0/device:" + device);
  }
  int changes = 0;
  status = MakeAttentionPass()->Run(context, &graph, &changes);
  return status.ok() ? PrintGraph(graph) : std::string(status.message());
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

constexpr char kInputs[] =
    "%q:f32 = Placeholder()\n%k:f32 = Placeholder()\n%v:f32 = Placeholder()\n%mask:f32 = Placeholder()\n%go = NoOp()\n"
    "%half:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { } float_val: 0.5}}\n"
    "%vector:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 0.5}}\n"
    "%zero:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { } float_val: 0}}\n";
const std::string kAttention = std::string(kInputs) +
                               "%product:f32 = BatchMatMulV2(%q, %k) {adj_y=true}\n"
                               "%scaled:f32 = Mul(%product, %half)\n"
                               "%masked:f32 = AddV2(%scaled, %mask)\n"
                               "%weights:f32 = Softmax(%masked, ^%go)\n"
                               "%out:f32 = BatchMatMulV2(%weights, %v)\n%y:f32 = Neg(%out)\n%after = NoOp(^%out)\n";

TEST(Attention, BecomesOneNode) {
  const std::string out = Apply(kAttention);
  EXPECT_THAT(out, AllOf(HasSubstr("%out:f32 = _FusedAttention(%q, %k, %v, %mask, ^%go) {"), HasSubstr("scale=0.5"),
                         HasSubstr("%y:f32 = Neg(%out)"), HasSubstr("%after = NoOp(^%out)")));
  EXPECT_THAT(out, AllOf(Not(HasSubstr("BatchMatMulV2")), Not(HasSubstr("Softmax")), Not(HasSubstr("AddV2")),
                         Not(HasSubstr("transpose_k=false"))));
}

TEST(Attention, ScaleAndMaskMayBeMissingOrStandInOtherPlaces) {
  EXPECT_THAT(Apply(Replaced(kAttention, "AddV2(%scaled, %mask)", "AddV2(%mask, %scaled)")),
              AllOf(HasSubstr("_FusedAttention(%q, %k, %v, %mask, ^%go)"), HasSubstr("scale=0.5")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "Mul(%half, %product)")), HasSubstr("scale=0.5"));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product", "RealDiv(%product")), HasSubstr("scale=2"));
  EXPECT_THAT(Apply(Replaced(kAttention, "AddV2(%scaled,", "AddV2(%product,")),
              Not(HasSubstr("_FusedAttention")));  // the scaled ones have no reader: product has two
  EXPECT_THAT(Apply(Replaced(kAttention, "Softmax(%masked", "Softmax(%scaled")), Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(std::string(kInputs) + "%product:f32 = BatchMatMulV2(%q, %k)\n%weights:f32 = Softmax(%product)\n"
                                           "%out:f32 = BatchMatMulV2(%weights, %v)\n"),
              AllOf(HasSubstr("%out:f32 = _FusedAttention(%q, %k, %v) {"), HasSubstr("transpose_k=false")));
}

TEST(Attention, WhatIsReadElsewhereStays) {
  for (const char* name : {"product", "scaled", "masked", "weights"}) {
    EXPECT_THAT(Apply(absl::StrCat(kAttention, "%also:f32 = Neg(%", name, ")\n")), Not(HasSubstr("_FusedAttention")));
    EXPECT_THAT(Apply(absl::StrCat(kAttention, "%also = NoOp(^%", name, ")\n")), Not(HasSubstr("_FusedAttention")));
    PassContext fetched, fed;
    fetched.fetches = {name};
    fed.feeds = {absl::StrCat(name, ":0")};
    EXPECT_THAT(Apply(kAttention, "", fetched), Not(HasSubstr("_FusedAttention")));
    EXPECT_THAT(Apply(kAttention, "", fed), Not(HasSubstr("_FusedAttention")));
  }
  PassContext fed;
  fed.feeds = {"half"};
  EXPECT_THAT(Apply(kAttention, "", fed), Not(HasSubstr("_FusedAttention")));
}

TEST(Attention, WhatIsSomethingElseStays) {
  EXPECT_THAT(Apply(Replaced(kAttention, "{adj_y=true}", "{adj_x=true}")), Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "(%weights, %v)", "(%weights, %v) {adj_y=true}")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "(%weights, %v)", "(%v, %weights)")), Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "Mul(%product, %mask)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "Mul(%product, %vector)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "RealDiv(%half, %product)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "RealDiv(%product, %zero)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply("%q:f64 = Placeholder()\n%s:f64 = BatchMatMulV2(%q, %q)\n%w:f64 = Softmax(%s)\n"
                    "%out:f64 = BatchMatMulV2(%w, %q)\n"),
              Not(HasSubstr("_FusedAttention")));
}

TEST(Attention, OnDevicesThatHaveTheKernel) {
  EXPECT_THAT(Apply(kAttention, "GPU:0"), HasSubstr("_FusedAttention"));
  EXPECT_THAT(Apply(kAttention, "CPU:0"), HasSubstr("_FusedAttention"));
  EXPECT_THAT(Apply(kAttention, "TPU:0"), Not(HasSubstr("_FusedAttention")));
}

TEST(Attention, OneMayFollowAnother) {
  // The first one's output is a product of queries and keys too: one of them becomes a node.
  const std::string shared = std::string(kInputs) +
                             "%a:f32 = BatchMatMulV2(%q, %k)\n%b:f32 = Softmax(%a)\n%c:f32 = BatchMatMulV2(%b, %v)\n"
                             "%d:f32 = Softmax(%c)\n%e:f32 = BatchMatMulV2(%d, %v)\n";
  EXPECT_THAT(Apply(shared), AllOf(HasSubstr("%c:f32 = _FusedAttention(%q, %k, %v)"), HasSubstr("Softmax(%c)")));
  const std::string masks = kAttention +
                            "%p2:f32 = BatchMatMulV2(%q, %k)\n%m2:f32 = AddV2(%p2, %out)\n%w2:f32 = Softmax(%m2)\n"
                            "%out2:f32 = BatchMatMulV2(%w2, %out)\n";
  EXPECT_THAT(Apply(masks), AllOf(HasSubstr("%out:f32 = _FusedAttention(%q, %k, %v, %mask, ^%go)"),
                                  HasSubstr("%out2:f32 = _FusedAttention(%q, %k, %out, %out)")));
}

}  // namespace
}  // namespace weir
