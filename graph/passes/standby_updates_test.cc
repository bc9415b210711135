#include "graph/passes/standby_updates.h"

#include <algorithm>

#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/graph_testing.h"
#include "graph/text/graph_text.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPs0[] = "/job:ps/replica:0/task:0", kPs1[] = "/job:ps/replica:0/task:1";

// Server 1 stands by for server 0.
class StandbyUpdatesTest : public testing::Test {
 protected:
  absl::Status AddTo(const std::string& text) {
    graph_ = std::make_unique<Graph>(&TestOps());
    RETURN_IF_ERROR(ParseGraph(text, ImportOptions(), graph_.get()));
    for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
    return AddStandbyUpdates(
        {.task = [](const Node& node) { return DeviceName::ParseFull(node.assigned_device())->TaskName(); },
         .standbys_of =
             [](const std::string& task) {
               return task == kPs0 ? std::vector<std::string>{kPs1} : std::vector<std::string>();
             }},
        graph_.get());
  }
  const Node* Copy(const std::string& name) const { return graph_->FindNode(name + "/_standby/ps_1"); }
  // The names of what the node gets, "^" before those of control inputs, sorted.
  static std::vector<std::string> InputsOf(const Node* node) {
    if (node == nullptr) return {"there is no such node"};
    std::vector<std::string> names;
    for (const Edge* edge : node->in_edges()) names.push_back((edge->is_control() ? "^" : "") + edge->src->name());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Attr(const Node* node, const char* name) const {
    const tensorflow::AttrValue* const attr = FindAttr(node->def(), name);
    return attr == nullptr ? "" : attr->s();
  }

  std::unique_ptr<Graph> graph_;
};

constexpr char kUpdate[] =
    "%v:resource = VarHandleOp() {shared_name=\"v\"} @ps:0/CPU:0\n"
    "%x:f32 = Placeholder() @worker:0/CPU:0\n"
    "%g:f32 = Neg(%x) @worker:0/CPU:0\n"
    "%u = AssignAddVariableOp(%v, %g) @ps:0/CPU:0\n";

TEST_F(StandbyUpdatesTest, AnUpdateIsMadeOnTheStandbyToo) {
  ASSERT_THAT(AddTo(kUpdate), IsOk());
  ASSERT_THAT(InputsOf(Copy("u")), ElementsAre("g", "v/_standby/ps_1"));
  EXPECT_EQ(Copy("u")->assigned_device(), std::string(kPs1) + "/device:CPU:0");
  EXPECT_EQ(Attr(Copy("v"), "container"), "localhost@ps/0/CPU/0");
  EXPECT_EQ(Attr(Copy("v"), "shared_name"), "v");
  EXPECT_EQ(Attr(Copy("v"), kStandbyForAttr), kPs0);
  EXPECT_EQ(Attr(Copy("u"), kStandbyForAttr), kPs0);
  std::vector<std::string> standbys;
  ASSERT_THAT(GetNodeAttr(graph_->FindNode("u")->def(), kStandbysAttr, &standbys), IsOk());
  EXPECT_THAT(standbys, ElementsAre(kPs1));
}

TEST_F(StandbyUpdatesTest, AVariableWithoutASharedNameKeepsThatOfItsNode) {
  ASSERT_THAT(AddTo("%v:resource = VarHandleOp() @ps:0/CPU:0\n%x:f32 = Placeholder() @worker:0/CPU:0\n"
                    "%u = AssignAddVariableOp(%v, %x) @ps:0/CPU:0\n"),
              IsOk());
  EXPECT_EQ(Attr(Copy("v"), "shared_name"), "v");
}

TEST_F(StandbyUpdatesTest, AVariableThatHasMovedComesBackToItsOwnContainer) {
  ASSERT_THAT(AddTo("%v:resource = VarHandleOp() {container=\"localhost@ps/1/CPU/0\", shared_name=\"v\"} @ps:0/CPU:0\n"
                    "%x:f32 = Placeholder() @worker:0/CPU:0\n"
                    "%u = AssignAddVariableOp(%v, %x) @ps:0/CPU:0\n"),
              IsOk());
  EXPECT_EQ(Attr(Copy("v"), "container"), "localhost");
}

TEST_F(StandbyUpdatesTest, UpdatesOfOtherTasksAndReadsHaveNoCopy) {
  ASSERT_THAT(AddTo("%v:resource = VarHandleOp() @ps:0/CPU:0\n%r:f32 = ReadVariableOp(%v) @ps:0/CPU:0\n"
                    "%w:resource = VarHandleOp() @ps:1/CPU:0\n"
                    "%u = AssignAddVariableOp(%w, %r) @ps:1/CPU:0\n"),
              IsOk());
  EXPECT_EQ(graph_->num_nodes(), 4);
}

// As in Adam: a power is multiplied once the variables have their updates.
TEST_F(StandbyUpdatesTest, ValuesAfterAnUpdateAreComputedOnTheStandby) {
  ASSERT_THAT(AddTo(std::string(kUpdate) + "%p:resource = VarHandleOp() @ps:0/CPU:0\n"
                                           "%before:f32 = ReadVariableOp(%p) @ps:0/CPU:0\n"
                                           "%scaled:f32 = Neg(%before, ^%u) @ps:0/CPU:0\n"
                                           "%after:f32 = ReadVariableOp(%v, ^%u) @ps:0/CPU:0\n"
                                           "%up = AssignAddVariableOp(%p, %scaled) @ps:0/CPU:0\n"
                                           "%ua = AssignAddVariableOp(%p, %after) @ps:0/CPU:0\n"),
              IsOk());
  EXPECT_THAT(InputsOf(Copy("up")), ElementsAre("p/_standby/ps_1", "scaled/_standby/ps_1"));
  EXPECT_THAT(InputsOf(Copy("scaled")), ElementsAre("^u/_standby/ps_1", "before"));
  EXPECT_THAT(InputsOf(Copy("after")), ElementsAre("^u/_standby/ps_1", "v/_standby/ps_1"));
  EXPECT_THAT(InputsOf(Copy("ua")), ElementsAre("after/_standby/ps_1", "p/_standby/ps_1"));
}

// As in TensorFlow's training ops: all variables, then the global step.
TEST_F(StandbyUpdatesTest, TheOrderOfUpdatesIsKept) {
  ASSERT_THAT(AddTo(std::string(kUpdate) + "%w:resource = VarHandleOp() @ps:1/CPU:0\n"
                                           "%uw = AssignAddVariableOp(%w, %g) @ps:1/CPU:0\n"
                                           "%all = NoOp(^%u, ^%uw) @worker:0/CPU:0\n"
                                           "%s:resource = VarHandleOp() @ps:0/CPU:0\n"
                                           "%step = AssignAddVariableOp(%s, %x, ^%all) @ps:0/CPU:0\n"),
              IsOk());
  EXPECT_THAT(InputsOf(Copy("step")), ElementsAre("^all/_standby/ps_1", "s/_standby/ps_1", "x"));
  EXPECT_THAT(InputsOf(Copy("all")), ElementsAre("^u/_standby/ps_1", "^uw"));
}

TEST_F(StandbyUpdatesTest, AHandleMayPassThroughOtherNodes) {
  ASSERT_THAT(AddTo("%v:resource = VarHandleOp() @ps:0/CPU:0\n%x:f32 = Placeholder() @worker:0/CPU:0\n"
                    "%i:resource = Identity(%v) @ps:0/CPU:0\n"
                    "%u = AssignAddVariableOp(%i, %x) @ps:0/CPU:0\n"),
              IsOk());
  EXPECT_THAT(InputsOf(Copy("u")), ElementsAre("i/_standby/ps_1", "x"));
  EXPECT_THAT(InputsOf(Copy("i")), ElementsAre("v/_standby/ps_1"));
}

// The copy may use a reference variable of the standby's own, which a later update changes in place.
TEST_F(StandbyUpdatesTest, UpdatesOfTheStandbyThatFollowTheOriginalFollowTheCopy) {
  ASSERT_THAT(AddTo(std::string(kUpdate) + "%p:resource = VarHandleOp() @ps:1/CPU:0\n"
                                           "%later = AssignAddVariableOp(%p, %x, ^%u) @ps:1/CPU:0\n"
                                           "%all = NoOp(^%u) @worker:0/CPU:0\n"),
              IsOk());
  EXPECT_THAT(InputsOf(graph_->FindNode("later")), ElementsAre("^u", "^u/_standby/ps_1", "p", "x"));
  EXPECT_THAT(InputsOf(graph_->FindNode("all")), ElementsAre("^u", "^u/_standby/ps_1"));
}

// What the server computes after the decision is lost with it.
TEST_F(StandbyUpdatesTest, AConditionAfterAnUpdateIsCopied) {
  ASSERT_THAT(AddTo(std::string(kUpdate) + "%c:bool = Placeholder() @worker:0/CPU:0\n"
                                           "%one:f32 = Neg(%x, ^%u) @ps:0/CPU:0\n"
                                           "%s:(f32, f32) = Switch(%one, %c) @ps:0/CPU:0\n"
                                           "%m:(f32, i32) = Merge(%s, %s:1) {N=2} @ps:0/CPU:0\n"
                                           "%ua = AssignAddVariableOp(%v, %m) @ps:0/CPU:0\n"),
              IsOk());
  EXPECT_THAT(InputsOf(Copy("ua")), ElementsAre("m/_standby/ps_1", "v/_standby/ps_1"));
}

TEST_F(StandbyUpdatesTest, AVariableThatIsChosenInTheStepCannotBeCopied) {
  EXPECT_THAT(AddTo("%h:resource = Placeholder() @ps:0/CPU:0\n%x:f32 = Placeholder() @worker:0/CPU:0\n"
                    "%u = AssignAddVariableOp(%h, %x) @ps:0/CPU:0\n"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'u' (AssignAddVariableOp)")));
}

}  // namespace
}  // namespace weir
