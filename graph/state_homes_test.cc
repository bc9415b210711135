#include "graph/state_homes.h"

#include "absl/strings/str_cat.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kPs0[] = "/job:ps/replica:0/task:0/device:CPU:0", kPs1[] = "/job:ps/replica:0/task:1/device:CPU:0",
               kPs1Task[] = "/job:ps/replica:0/task:1", kPs0Task[] = "/job:ps/replica:0/task:0";

std::string Variable(const std::string& name, const std::string& attrs = "") {
  return absl::StrCat("node { name: '", name, "' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } ",
                      "attr { key: 'shape' value { shape {} } } ", attrs, " }");
}
std::string Attr(const std::string& name, const std::string& value) {
  return absl::StrCat("attr { key: '", name, "' value { s: '", value, "' } }");
}
std::string Op(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
               const std::string& more = "") {
  std::string text =
      absl::StrCat("node { name: '", name, "' op: '", op, "' attr { key: 'T' value { type: DT_FLOAT } } ", more);
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  return text + " }";
}
std::string With(const std::string& variable) {
  return absl::StrCat("attr { key: '_class' value { list { s: 'loc:@", variable, "' } } }");
}

class StateHomesTest : public testing::Test {
 protected:
  // All nodes are on the first task.
  void Import(const std::string& text) {
    ASSERT_THAT(ImportGraphDef(ImportOptions(), GraphDefFromText(text), &graph_), IsOk());
    for (Node* node : graph_.nodes()) node->set_assigned_device(kPs0);
  }
  absl::Status Assign() {
    return AssignToHomes(
        [this](const StateKey& key) {
          const auto home = homes_.find(key.name);
          return home == homes_.end() ? std::string() : home->second;
        },
        [this](const std::string& task) { return task == kPs0Task ? successor_ : ""; }, &graph_);
  }
  std::string DeviceOf(const char* node) { return graph_.FindNode(node)->assigned_device(); }
  std::string ContainerOf(const char* node) {
    const tensorflow::AttrValue* const attr = FindAttr(graph_.FindNode(node)->def(), "container");
    return attr == nullptr ? "" : attr->s();
  }

  Graph graph_{&TestOps()};
  std::map<std::string, std::string> homes_;
  std::string successor_;  // of the first task
};

TEST_F(StateHomesTest, ContainersAwayNameTheirOrigin) {
  const StateKey key{kPs0, "localhost", "v"};
  EXPECT_EQ(ContainerAway(key), "localhost@ps/0/CPU/0");
  EXPECT_EQ(KeyOfContainerAway("localhost@ps/0/CPU/0", "v"), key);
  const StateKey nested{kPs1, "a@ps/0/CPU/0", "v"};
  EXPECT_EQ(KeyOfContainerAway(ContainerAway(nested), "v"), nested);
  for (const char* const own :
       {"localhost", "", "a@b", "@ps/0/CPU/0", "a@ps/x/CPU/0", "a@ps/0/CPU/-1", "a@ps/0/CPU/0/1"}) {
    EXPECT_EQ(KeyOfContainerAway(own, "v"), std::nullopt) << own;
  }
}

TEST_F(StateHomesTest, NodesWithNamesOfTheirOwnHaveKeys) {
  Import(Variable("plain") + Variable("node", Attr("shared_name", "shared") + Attr("container", "c")) +
         Op("read", "Identity", {"plain"}));
  EXPECT_EQ(StateKeyOf(*graph_.FindNode("plain")), (StateKey{kPs0, "localhost", "plain"}));
  EXPECT_EQ(StateKeyOf(*graph_.FindNode("node")), (StateKey{kPs0, "c", "shared"}));
  EXPECT_EQ(StateKeyOf(*graph_.FindNode("read")), std::nullopt);
}

TEST_F(StateHomesTest, WhatSharesADeviceMovesTogether) {
  Import(Variable("v") + Variable("slot", With("v")) + Op("update", "Assign", {"v", "one"}) +
         "node { name: 'one' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }" +
         Op("read", "Identity", {"v"}, With("v")) + Op("copy", "Identity", {"read"}) + Variable("other"));
  homes_ = {{"v", kPs1Task}};
  ASSERT_THAT(Assign(), IsOk());
  for (const char* const moved : {"v", "slot", "update", "read"}) EXPECT_EQ(DeviceOf(moved), kPs1) << moved;
  for (const char* const kept : {"one", "copy", "other"}) EXPECT_EQ(DeviceOf(kept), kPs0) << kept;
  EXPECT_EQ(ContainerOf("v"), "localhost@ps/0/CPU/0");
  EXPECT_EQ(ContainerOf("slot"), "localhost@ps/0/CPU/0");
  EXPECT_EQ(ContainerOf("other"), "");
  // Another move starts from there, and one may lead back.
  EXPECT_EQ(StateKeyOf(*graph_.FindNode("v")), (StateKey{kPs0, "localhost", "v"}));
  homes_ = {{"v", kPs0Task}, {"slot", kPs0Task}};
  ASSERT_THAT(Assign(), IsOk());
  for (const char* const moved : {"v", "slot", "update", "read"}) EXPECT_EQ(DeviceOf(moved), kPs0) << moved;
  EXPECT_EQ(ContainerOf("v"), "localhost");
}

TEST_F(StateHomesTest, VariablesThatBelongTogetherHaveOneHome) {
  Import(Variable("v") + Variable("slot", With("v")));
  homes_ = {{"v", kPs1Task}, {"slot", kPs0Task}};
  EXPECT_THAT(Assign(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'slot'")));
}

TEST_F(StateHomesTest, NodesOfATaskThatLeftRunOnItsSuccessor) {
  Import(Variable("v") + Op("read", "Identity", {"v"}, With("v")) + Op("copy", "Identity", {"read"}));
  homes_ = {{"v", "/job:ps/replica:0/task:2"}};
  successor_ = kPs1Task;
  ASSERT_THAT(Assign(), IsOk());
  EXPECT_EQ(DeviceOf("v"), "/job:ps/replica:0/task:2/device:CPU:0");
  EXPECT_EQ(DeviceOf("copy"), kPs1);
}

TEST_F(StateHomesTest, SharedStateIsFound) {
  Import(Variable("v") + Variable("slot", With("v")) + Variable("other"));
  const std::vector<SharedState> shared = FindSharedState(&graph_);
  ASSERT_EQ(shared.size(), 2);
  EXPECT_EQ(shared[0].variables.size() + shared[1].variables.size(), 3);
  EXPECT_EQ(shared[0].obstacle, "");
}

}  // namespace
}  // namespace weir
