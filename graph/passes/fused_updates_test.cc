// Each test passes in a graph as text and checks the text of the result.
#include "graph/passes/fused_updates.h"

#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// `names_groups`: also runs the master's pass; otherwise groups are those that the text names.
std::string Apply(const std::string& text, const std::string& device = "GPU:0", bool names_groups = true) {
  Graph graph(&TestOps());
  ImportOptions options;
  options.allow_internal_ops = true;
  absl::Status status = ParseGraph(text, options, &graph);
  EXPECT_TRUE(status.ok()) << status;
  for (Node* node : graph.nodes()) node->set_assigned_device("/job:a/replica:0/task:0/device:" + device);
  int changes = 0;
  if (names_groups) status = MakeUpdateGroupsPass()->Run({}, &graph, &changes);
  if (status.ok()) status = MakeFusedUpdatesPass()->Run({}, &graph, &changes);
  return status.ok() ? PrintGraph(graph) : std::string(status.message());
}

constexpr char kInputs[] =
    "%a:resource = Variable()\n%b:resource = Variable()\n%sa:resource = Variable()\n%sb:resource = Variable()\n"
    "%lr:f32 = Placeholder()\n%m:f32 = Placeholder()\n%ga:f32 = Placeholder()\n%gb:f32 = Placeholder()\n"
    "%go = NoOp()\n";
const std::string kTwo = std::string(kInputs) +
                         "%ua = ResourceApplyMomentum(%a, %sa, %lr, %ga, %m, ^%go)\n"
                         "%ub = ResourceApplyMomentum(%b, %sb, %lr, %gb, %m)\n%done = NoOp(^%ub)\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FusedUpdates, BecomeOneNode) {
  const std::string out = Apply(kTwo);
  EXPECT_THAT(out, AllOf(HasSubstr("_FusedResourceApply(%a, %sa, %b, %sb, %lr, %m, %ga, %gb, ^%go)"),
                         HasSubstr("rule=\"Momentum\""), HasSubstr("NoOp(^%ua/fused)")));
  EXPECT_THAT(out, Not(HasSubstr("ResourceApplyMomentum")));
}

TEST(FusedUpdates, OfOneKindAndWithTheSameScalars) {
  EXPECT_THAT(Apply(Replaced(kTwo, "%gb, %m)", "%gb, %lr)")), Not(HasSubstr("_Fused")));
  EXPECT_THAT(Apply(Replaced(kTwo, "%gb, %m)", "%gb, %m) {use_nesterov=true}")), Not(HasSubstr("_Fused")));
  EXPECT_THAT(Apply(kTwo, "CPU:0"), Not(HasSubstr("_Fused")));
}

TEST(FusedUpdates, WhatComesAfterAnotherStaysBehindIt) {
  EXPECT_THAT(Apply(Replaced(kTwo, "%gb, %m)", "%gb, %m, ^%ua)")), Not(HasSubstr("_Fused")));
  const std::string later = Replaced(kTwo, "%gb:f32 = Placeholder()", "%gb:f32 = Placeholder(^%ua)");
  EXPECT_THAT(Apply(later), Not(HasSubstr("_Fused")));
  // Two updates after one are of one generation.
  const std::string three = later + "%uc = ResourceApplyMomentum(%a, %sb, %lr, %gb, %m)\n";
  EXPECT_THAT(Apply(three), AllOf(HasSubstr("_FusedResourceApply(%b, %sb, %a, %sb, %lr, %m, %gb, %gb)"),
                                  HasSubstr("%ua = ResourceApplyMomentum(")));
}

TEST(FusedUpdates, AGroupThatIsNamedWronglyIsNone) {
  const std::string group = " {_weir_update_group=0}";
  std::string chained = Replaced(kTwo, "%ga, %m, ^%go)", "%ga, %m, ^%go)" + group);
  EXPECT_THAT(Apply(Replaced(chained, "%gb, %m)", "%gb, %m)" + group), "GPU:0", false), HasSubstr("_Fused"));
  chained = Replaced(chained, "%gb, %m)", "%gb, %m, ^%ua)" + group);
  EXPECT_THAT(Apply(chained, "GPU:0", false), Not(HasSubstr("_Fused")));
}

TEST(FusedUpdates, WhatMayNotRunStaysAlone) {
  const std::string switched =
      Replaced(kTwo, "%gb:f32 = Placeholder()",
               "%p:bool = Placeholder()\n%x:f32 = Placeholder()\n%s:(f32, f32) = Switch(%x, %p)\n%gb:f32 = Neg(%s)");
  EXPECT_THAT(Apply(switched), Not(HasSubstr("_Fused")));
}

TEST(FusedUpdates, WhatMayBeAwaitedWithoutAPathHasNoneBeforeIt) {
  EXPECT_THAT(Apply(kTwo + "%close = QueueCloseV2(%sa, ^%ua)\n"), Not(HasSubstr("_Fused")));
  EXPECT_THAT(Apply(kTwo + "%then = NoOp(^%ub)\n%close = QueueCloseV2(%sa, ^%then)\n"), Not(HasSubstr("_Fused")));
  EXPECT_THAT(Apply(kTwo + "%close = QueueCloseV2(%sa, ^%go)\n"), HasSubstr("_Fused"));
}

}  // namespace
}  // namespace weir
