#include "graph/passes/step_commit.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/rendezvous.h"
#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPs0[] = "/job:ps/replica:0/task:0", kPs1[] = "/job:ps/replica:0/task:1",
               kPs2[] = "/job:ps/replica:0/task:2", kWorker[] = "/job:worker/replica:0/task:0";

class StepCommitTest : public testing::Test {
 protected:
  // The coordinator of the graph's commit, with `local` as the master's task.
  std::string AddTo(const std::string& text, const std::string& local = kWorker) {
    graph_ = std::make_unique<Graph>(&TestOps());
    ImportOptions options;
    options.allow_internal_ops = true;
    absl::Status status = ParseGraph(text, options, graph_.get());
    EXPECT_TRUE(status.ok()) << status;
    for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
    const auto task = [](const Node& node) { return DeviceName::ParseFull(node.assigned_device())->TaskName(); };
    const auto coordinator = AddStepCommit({.task = task,
                                            .cpu = [](const std::string& of) { return of + "/device:CPU:0"; },
                                            .incarnation = [](absl::string_view) { return 7; },
                                            .local_task = local,
                                            .standby_of = [this](const std::string& of) { return standbys_[of]; }},
                                           graph_.get());
    EXPECT_TRUE(coordinator.ok()) << coordinator.status();
    return coordinator.value_or("");
  }

  // "op on task" or, of a node of the text, its name.
  static std::string NameOf(const Node& node) {
    if (node.name().rfind("_commit/", 0) != 0) return node.name();
    const DeviceName device = *DeviceName::ParseFull(node.assigned_device());
    return absl::StrCat(node.op(), "@", *device.job, *device.task);
  }
  const Node* Find(const std::string& name) const {
    for (const Node* node : graph_->nodes()) {
      if (NameOf(*node) == name) return node;
    }
    return nullptr;
  }
  // The names of the node's control inputs, sorted.
  std::vector<std::string> WaitsFor(const std::string& name) const {
    const Node* const node = Find(name);
    return node != nullptr ? WaitsFor(*node) : std::vector<std::string>{"there is no node " + name};
  }
  static std::vector<std::string> WaitsFor(const Node& node) {
    std::vector<std::string> names;
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control()) names.push_back(NameOf(*edge->src));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The ControlTrigger that the node waits for; one of them.
  static const Node& TriggerBefore(const Node& node) {
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control() && edge->src->op() == "ControlTrigger") return *edge->src;
    }
    ADD_FAILURE() << node.name() << " waits for no ControlTrigger";
    return node;
  }

  std::unique_ptr<Graph> graph_;
  std::map<std::string, std::string> standbys_;
};

// A worker computes a gradient, and two servers apply it.
constexpr char kTwoServers[] =
    "%a:resource = Variable() @ps:0/CPU:0\n"
    "%b:resource = Variable() @ps:1/CPU:0\n"
    "%x:f32 = Placeholder() @worker:0/CPU:0\n"
    "%g:f32 = Neg(%x) @worker:0/CPU:0\n"
    "%scaled:f32 = Square(%g) @ps:1/CPU:0\n"
    "%ua = ResourceApplyMomentum(%a, %a, %x, %g, %x) @ps:0/CPU:0\n"
    "%ub = ResourceApplyMomentum(%b, %b, %x, %scaled, %x) @ps:1/CPU:0\n"
    "%done = NoOp(^%ua, ^%ub) @worker:0/CPU:0\n";

TEST_F(StepCommitTest, OneTaskDecidesForAll) {
  EXPECT_EQ(AddTo(kTwoServers), kPs0);
  EXPECT_THAT(WaitsFor("_CommitDecide@ps0"), ElementsAre("ControlTrigger@ps0", "_CommitReady@ps1"));
  EXPECT_THAT(WaitsFor("ua"), ElementsAre("_CommitDecide@ps0"));
  EXPECT_THAT(WaitsFor("ub"), ElementsAre("_CommitWait@ps1"));
}

TEST_F(StepCommitTest, ATaskIsReadyOnceItHasComputedWhatPrecedesTheUpdates) {
  AddTo(kTwoServers);
  // Handles of variables, and nodes that other nodes before the updates wait for, need no edge. The servers have
  // received the gradient and x.
  EXPECT_EQ(Find("ControlTrigger@worker0"), nullptr);
  EXPECT_THAT(WaitsFor("ControlTrigger@ps0"), ElementsAre("Identity@ps0", "Identity@ps0"));
  EXPECT_THAT(WaitsFor("ControlTrigger@ps1"), ElementsAre("Identity@ps1", "scaled"));
  EXPECT_THAT(WaitsFor("_CommitReady@ps1"), ElementsAre("ControlTrigger@ps1"));
}

TEST_F(StepCommitTest, TheDecisionTravelsUnderOneKey) {
  AddTo(kTwoServers);
  std::vector<std::string> sent;
  std::string awaited, coordinator;
  ASSERT_TRUE(GetNodeAttr(Find("_CommitDecide@ps0")->def(), "keys", &sent).ok());
  ASSERT_TRUE(GetNodeAttr(Find("_CommitWait@ps1")->def(), "key", &awaited).ok());
  ASSERT_TRUE(GetNodeAttr(Find("_CommitWait@ps1")->def(), "coordinator", &coordinator).ok());
  EXPECT_THAT(sent, ElementsAre(awaited));
  EXPECT_EQ(RendezvousKey::Parse(awaited)->src_incarnation, 7);
  EXPECT_EQ(coordinator, kPs0);
}

TEST_F(StepCommitTest, TheTaskWithMostUpdatesDecides) {
  EXPECT_EQ(AddTo(std::string(kTwoServers) + "%uc = ResourceApplyMomentum(%b, %b, %x, %g, %x) @ps:1/CPU:0\n"), kPs1);
}

// The loss of either must not leave the others with a decision that the other one does not know.
TEST_F(StepCommitTest, AStandbyDecidesAndItsTaskRelays) {
  standbys_[kPs0] = kPs2;
  EXPECT_EQ(AddTo(std::string(kTwoServers) + "%c:resource = Variable() @ps:2/CPU:0\n"
                                             "%uc = ResourceApplyMomentum(%c, %c, %x, %g, %x) @ps:2/CPU:0\n"),
            kPs2);
  EXPECT_THAT(WaitsFor("_CommitDecide@ps2"), ElementsAre("ControlTrigger@ps2", "_CommitReady@ps0", "_CommitReady@ps1"));
  EXPECT_THAT(WaitsFor("_CommitRelay@ps0"), ElementsAre("_CommitWait@ps0"));
  EXPECT_THAT(WaitsFor("ua"), ElementsAre("_CommitWait@ps0"));
  std::vector<std::string> decided, relayed;
  std::string at_relay, at_other, coordinator, decider;
  ASSERT_TRUE(GetNodeAttr(Find("_CommitDecide@ps2")->def(), "keys", &decided).ok());
  ASSERT_TRUE(GetNodeAttr(Find("_CommitRelay@ps0")->def(), "keys", &relayed).ok());
  ASSERT_TRUE(GetNodeAttr(Find("_CommitWait@ps0")->def(), "key", &at_relay).ok());
  ASSERT_TRUE(GetNodeAttr(Find("_CommitWait@ps1")->def(), "key", &at_other).ok());
  EXPECT_THAT(decided, ElementsAre(at_relay));
  EXPECT_THAT(relayed, ElementsAre(at_other));
  ASSERT_TRUE(GetNodeAttr(Find("_CommitWait@ps1")->def(), "coordinator", &coordinator).ok());
  ASSERT_TRUE(GetNodeAttr(Find("_CommitWait@ps1")->def(), "decider", &decider).ok());
  EXPECT_EQ(coordinator, kPs0);
  EXPECT_EQ(decider, kPs2);
}

TEST_F(StepCommitTest, AGraphOnTheMastersTaskAloneHasNone) {
  const char local[] =
      "%a:resource = Variable() @worker:0/CPU:0\n%x:f32 = Placeholder() @worker:0/CPU:0\n"
      "%u = ResourceApplyMomentum(%a, %a, %x, %x, %x) @worker:0/CPU:0\n";
  EXPECT_EQ(AddTo(local), "");
  EXPECT_EQ(Find("_CommitDecide@worker0"), nullptr);
  EXPECT_EQ(AddTo(local, kPs0), kWorker);  // the same on another task than the master's
  EXPECT_THAT(WaitsFor("u"), ElementsAre("_CommitDecide@worker0"));
}

TEST_F(StepCommitTest, AGraphWithoutUpdatesHasNone) {
  EXPECT_EQ(AddTo("%x:f32 = Placeholder() @worker:0/CPU:0\n%y:f32 = Neg(%x) @ps:0/CPU:0\n"), "");
}

TEST_F(StepCommitTest, WhatFollowsAnUpdateIsNotAwaited) {
  AddTo(std::string(kTwoServers) +
        "%after:f32 = Neg(%x, ^%ua) @worker:0/CPU:0\n%later:f32 = Neg(%after) @ps:1/CPU:0\n");
  EXPECT_THAT(WaitsFor("ControlTrigger@ps1"), ElementsAre("Identity@ps1", "scaled"));
}

TEST_F(StepCommitTest, AnInputKeepsTheUpdatesWireFormat) {
  std::string text = kTwoServers;
  AddTo(text.replace(text.find("%x) @ps:0"), 3, "%x) {_weir_wire=\"bf16\"}"));
  std::string wire;
  ASSERT_TRUE(GetNodeAttr(Find("Identity@ps0")->def(), "_weir_wire", &wire).ok());
  EXPECT_EQ(wire, "bf16");
}

// The worker may be lost between the two updates, and then the second would never come.
TEST_F(StepCommitTest, UpdatesOfOneTaskDoNotWaitForOthers) {
  AddTo(std::string(kTwoServers) +
        "%all = NoOp(^%done) @worker:0/CPU:0\n"
        "%step = ResourceApplyMomentum(%a, %a, %x, %x, %x, ^%all) @ps:0/CPU:0\n"
        "%last = NoOp(^%step) @worker:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("step"), ElementsAre("_CommitDecide@ps0", "ua"));
  EXPECT_THAT(WaitsFor("all"), ElementsAre("done"));
}

// As in TensorFlow's training ops: what is added to the global step is a constant that waits for all variables.
TEST_F(StepCommitTest, AnOperandOfItsOwnTaskDoesNotMakeAnUpdateWaitForOthers) {
  AddTo(std::string(kTwoServers) +
        "%one:f32 = Neg(%x, ^%done) @ps:0/CPU:0\n"
        "%two:f32 = Neg(%one, ^%ub) @ps:0/CPU:0\n"
        "%step = ResourceApplyMomentum(%a, %a, %two, %x, %x, ^%done) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("one"), ElementsAre("_CommitDecide@ps0", "ua"));
  EXPECT_THAT(WaitsFor("two"), ElementsAre("_CommitDecide@ps0"));
  EXPECT_THAT(WaitsFor("step"), ElementsAre("_CommitDecide@ps0", "ua"));
}

// Two updates of one variable keep their order, although it passes through another task.
TEST_F(StepCommitTest, UpdatesOfOneTaskKeepTheirOrder) {
  AddTo(std::string(kTwoServers) +
        "%u2 = ResourceApplyMomentum(%a, %a, %x, %x, %x) @ps:0/CPU:0\n"
        "%both = NoOp(^%ua, ^%u2) @worker:0/CPU:0\n"
        "%other = ResourceApplyMomentum(%b, %b, %x, %x, %x, ^%both) @ps:1/CPU:0\n"
        "%u3 = ResourceApplyMomentum(%a, %a, %x, %x, %x, ^%other) @ps:0/CPU:0\n"
        "%u4 = ResourceApplyMomentum(%a, %a, %x, %x, %x, ^%u3) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("u3"), ElementsAre("NoOp@ps0", "_CommitDecide@ps0"));
  EXPECT_THAT(WaitsFor("NoOp@ps0"), ElementsAre("u2", "ua"));
  EXPECT_THAT(WaitsFor("other"), ElementsAre("_CommitWait@ps1"));
  EXPECT_THAT(WaitsFor("u4"), ElementsAre("_CommitDecide@ps0", "u3"));
}

// Each update waits for all before it, through a chain on another task: what joins those of its own task is a chain,
// too.
TEST_F(StepCommitTest, AChainOfUpdatesKeepsItsSize) {
  constexpr int kLength = 300;
  std::string text = std::string(kTwoServers) + "%n0 = NoOp(^%done) @worker:0/CPU:0\n";
  for (int i = 1; i <= kLength; ++i) {
    absl::StrAppendFormat(&text, "%%u%d = ResourceApplyMomentum(%%a, %%a, %%x, %%x, %%x, ^%%n%d) @ps:0/CPU:0\n", i,
                          i - 1);
    absl::StrAppendFormat(&text, "%%n%d = NoOp(^%%n%d, ^%%u%d) @worker:0/CPU:0\n", i, i - 1, i);
  }
  AddTo(text);
  EXPECT_THAT(WaitsFor("u1"), ElementsAre("_CommitDecide@ps0", "ua"));
  EXPECT_THAT(WaitsFor("u2"), ElementsAre("NoOp@ps0", "_CommitDecide@ps0"));
  EXPECT_THAT(WaitsFor("NoOp@ps0"), ElementsAre("u1", "ua"));
  int num_edges = 0;
  for (const Node* node : graph_->nodes()) num_edges += node->in_edges().size();
  EXPECT_LT(num_edges, 20 * kLength);
}

// A moving average, for example, that is updated after the global step, whose own update waits for no other task.
TEST_F(StepCommitTest, WhatIsReadAfterAnUpdateWaitsForAllThatPrecededTheUpdate) {
  AddTo(std::string(kTwoServers) +
        "%step = ResourceApplyMomentum(%b, %b, %x, %x, %x, ^%done) @ps:1/CPU:0\n"
        "%second = ResourceApplyMomentum(%b, %b, %x, %x, %x, ^%step) @ps:1/CPU:0\n"
        "%read:f32 = Neg(%x, ^%second) @ps:0/CPU:0\n"
        "%twice:f32 = Neg(%read) @worker:0/CPU:0\n"
        "%average = ResourceApplyMomentum(%a, %a, %x, %twice, %x) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("step"), ElementsAre("_CommitDecide@ps1", "ub"));
  EXPECT_THAT(WaitsFor("second"), ElementsAre("_CommitDecide@ps1", "step"));
  EXPECT_THAT(WaitsFor("read"), ElementsAre("ControlTrigger@ps1", "second"));
  const Node& last = TriggerBefore(*Find("read"));
  EXPECT_THAT(WaitsFor(last), ElementsAre("ControlTrigger@ps1", "second"));
  EXPECT_THAT(WaitsFor(TriggerBefore(last)), ElementsAre("done", "step"));
}

// The same, with a read that its own task uses, and a constant that alone follows the other updates.
TEST_F(StepCommitTest, AReadForAnUpdateOfItsTaskWaitsForAllThatPrecededAnother) {
  AddTo(std::string(kTwoServers) +
        "%one:f32 = Neg(%x, ^%done) @ps:1/CPU:0\n"
        "%step = ResourceApplyMomentum(%b, %b, %x, %one, %x) @ps:1/CPU:0\n"
        "%read:f32 = Neg(%x, ^%step) @ps:0/CPU:0\n"
        "%average = ResourceApplyMomentum(%a, %a, %x, %read, %x) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("one"), ElementsAre("_CommitWait@ps1", "ub"));
  EXPECT_THAT(WaitsFor("read"), ElementsAre("ControlTrigger@ps1", "_CommitDecide@ps0", "one"));
  EXPECT_THAT(WaitsFor(TriggerBefore(*Find("read"))), ElementsAre("done", "one"));
}

TEST_F(StepCommitTest, AnUpdateThatUsesAnothersValueWaitsForAllThatPrecededIt) {
  AddTo(std::string(kTwoServers) +
        "%v:f32 = Neg(%x, ^%ua) @ps:1/CPU:0\n"
        "%uc = ResourceApplyMomentum(%b, %b, %x, %v, %x) @ps:1/CPU:0\n"
        "%ud = ResourceApplyMomentum(%a, %a, %x, %v, %x) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("v"), ElementsAre("_CommitWait@ps1"));
  EXPECT_THAT(WaitsFor(TriggerBefore(*Find("ud"))), ElementsAre("ua", "v"));
}

// Of the inputs of a merge one is dead, which a NoOp would be, too.
TEST_F(StepCommitTest, WhatFollowsAMergeRunsAlthoughABranchIsDead) {
  AddTo(std::string(kTwoServers) +
        "%p:bool = Placeholder() @ps:0/CPU:0\n"
        "%s:(f32, f32) = Switch(%x, %p) @ps:0/CPU:0\n"
        "%t:f32 = Neg(%s:1, ^%ub) @ps:0/CPU:0\n"
        "%f:f32 = Neg(%s, ^%ub) @ps:0/CPU:0\n"
        "%m:(f32, i32) = Merge(%f, %t) @ps:0/CPU:0\n"
        "%step = ResourceApplyMomentum(%a, %a, %x, %m, %x) @ps:0/CPU:0\n"
        "%fetch:f32 = Neg(%m) @worker:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("fetch"), ElementsAre("ControlTrigger@ps0"));
  const Node& merged = TriggerBefore(*Find("fetch"));
  EXPECT_THAT(WaitsFor(merged), ElementsAre("ControlTrigger@ps0", "ControlTrigger@ps0", "m"));
  EXPECT_THAT(WaitsFor(TriggerBefore(merged)), ElementsAre(::testing::AnyOf("f", "t"), "ub"));
}

TEST_F(StepCommitTest, WhatNoLongerWaitsForAnUpdateWaitsForTheDecision) {
  AddTo(std::string(kTwoServers) +
        "%between:f32 = Neg(%x, ^%ub) @ps:0/CPU:0\n"
        "%step = ResourceApplyMomentum(%a, %a, %x, %between, %x) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("between"), ElementsAre("_CommitDecide@ps0"));
}

TEST_F(StepCommitTest, AnUpdateWaitsForTheValueOfAnother) {
  AddTo(std::string(kTwoServers) +
        "%v:f32 = Neg(%x, ^%ub) @ps:1/CPU:0\n"
        "%uc = ResourceApplyMomentum(%a, %a, %v, %x, %x) @ps:0/CPU:0\n"
        "%ud = ResourceApplyMomentum(%a, %a, %x, %x, %x, ^%v) @ps:0/CPU:0\n");
  EXPECT_THAT(WaitsFor("ud"), ElementsAre("_CommitDecide@ps0", "v"));
  EXPECT_EQ(Find("uc")->input_edge(2)->src->name(), "v");
}

// Its iterations wait for each other, so none may run before the decision.
TEST_F(StepCommitTest, ALoopWithAnUpdateWaitsAsAWhole) {
  const std::string coordinator = AddTo(
      "%v:resource = Variable() @ps:0/CPU:0\n"
      "%zero:f32 = Placeholder() @worker:0/CPU:0\n"
      "%enter:f32 = Enter(%zero) {frame_name=\"f\"} @worker:0/CPU:0\n"
      "%other:f32 = Enter(%zero) {frame_name=\"f\"} @worker:0/CPU:0\n"
      "%var:resource = Enter(%v) {frame_name=\"f\", is_constant=true} @ps:0/CPU:0\n"
      "%m:(f32, i32) = Merge(%enter, %next) @worker:0/CPU:0\n"
      "%p:bool = Placeholder() @worker:0/CPU:0\n"
      "%ep:bool = Enter(%p) {frame_name=\"f\"} @worker:0/CPU:0\n"
      "%cond:bool = LoopCond(%ep) @worker:0/CPU:0\n"
      "%s:(f32, f32) = Switch(%m, %cond) @worker:0/CPU:0\n"
      "%u = ResourceApplyMomentum(%var, %var, %s:1, %s:1, %s:1) @ps:0/CPU:0\n"
      "%next:f32 = NextIteration(%s:1) @worker:0/CPU:0\n"
      "%exit:f32 = Exit(%s) @worker:0/CPU:0\n");
  EXPECT_EQ(coordinator, kPs0);
  for (const char* enter : {"enter", "other", "var"})
    EXPECT_THAT(WaitsFor(enter), ElementsAre("_CommitDecide@ps0")) << enter;
  EXPECT_THAT(WaitsFor("u"), IsEmpty());
  EXPECT_THAT(WaitsFor("ControlTrigger@worker0"), ElementsAre("p", "zero"));
}

// The first may be what the second waits for, which the decision would wait for.
TEST_F(StepCommitTest, OpsThatMayBlockOnBothSidesExcludeACommit) {
  const std::string queue = "%q:resource = Variable() @ps:0/CPU:0\n";
  const std::string before = queue + "%c = QueueCloseV2(%q) @ps:0/CPU:0\n";
  const std::string after = "%d = QueueCloseV2(%q, ^%ua) @ps:0/CPU:0\n";
  EXPECT_EQ(AddTo(before + kTwoServers), kPs0);
  EXPECT_EQ(AddTo(queue + kTwoServers + after), kPs0);
  EXPECT_EQ(AddTo(before + kTwoServers + after), "");
}

TEST_F(StepCommitTest, ACallOfAFunctionThatUpdatesIsAnUpdate) {
  const std::string function =
      "function {signature {name: 'Up' input_arg {name: 'v' type: DT_RESOURCE} input_arg {name: 'x' type: DT_FLOAT}} "
      "node_def {name: 'u' op: 'ResourceApplyMomentum' input: 'v' input: 'v' input: 'x' input: 'x' input: 'x' "
      "attr {key: 'T' value {type: DT_FLOAT}}}}\n";
  EXPECT_EQ(AddTo(function + "%v:resource = Variable() @ps:0/CPU:0\n%x:f32 = Placeholder() @worker:0/CPU:0\n"
                             "%call = Up(%v, %x) @ps:0/CPU:0\n"),
            kPs0);
  EXPECT_THAT(WaitsFor("call"), ElementsAre("_CommitDecide@ps0"));
}

}  // namespace
}  // namespace weir
