#include "graph/collectives.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr auto kInstances = CollectiveKeys::kInstances;
constexpr auto kBoth = CollectiveKeys::kGroupsAndInstances;

std::string Reduce(const std::string& name, int group, int instance) {
  return absl::StrCat("node { name: '", name, "' op: 'CollectiveReduce' input: 'x'",
                      " attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'group_size' value { i: 2 } }",
                      " attr { key: 'group_key' value { i: ", group, " } }",
                      " attr { key: 'instance_key' value { i: ", instance, " } } }");
}

int64_t KeyOf(const std::string& nodes, CollectiveKeys keys) {
  Graph graph(&TestOps());
  const std::string source = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }";
  EXPECT_TRUE(ImportGraphDef({}, GraphDefFromText(source + nodes), &graph).ok());
  return CollectiveGraphKey(graph, keys);
}

TEST(CollectiveGraphKeyTest, MembersOfTheSameCollectivesHaveTheSame) {
  for (const CollectiveKeys keys : {kInstances, kBoth}) {
    EXPECT_EQ(KeyOf(Reduce("a", 1, 2) + Reduce("b", 3, 4), keys), KeyOf(Reduce("c", 3, 4) + Reduce("d", 1, 2), keys));
    EXPECT_NE(KeyOf(Reduce("a", 1, 2), keys), KeyOf(Reduce("a", 1, 3), keys));
  }
}

TEST(CollectiveGraphKeyTest, GroupsWithTheSameInstanceKeysAreToldApartIfAsked) {
  EXPECT_NE(KeyOf(Reduce("a", 1, 2), kBoth), KeyOf(Reduce("a", 3, 2), kBoth));
  EXPECT_EQ(KeyOf(Reduce("a", 1, 2), kInstances), KeyOf(Reduce("a", 3, 2), kInstances));
}

TEST(CollectiveGraphKeyTest, AGraphWithAllMembersNeedsNone) {
  EXPECT_EQ(KeyOf(Reduce("a", 1, 2) + Reduce("b", 1, 2), kBoth), 0);
  EXPECT_EQ(KeyOf("", kBoth), 0);
}

}  // namespace
}  // namespace weir
