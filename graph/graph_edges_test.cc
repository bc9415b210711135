// Edges stay consistent while nodes and edges are added and removed.

#include <random>

#include "core/testing.h"
#include "graph/graph.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"

namespace weir {
namespace {

void ExpectConsistent(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    for (const Edge* edge : node->in_edges()) {
      EXPECT_EQ(edge->dst, node);
      EXPECT_EQ(std::count(edge->src->out_edges().begin(), edge->src->out_edges().end(), edge), 1);
    }
    for (const Edge* edge : node->out_edges()) {
      EXPECT_EQ(edge->src, node);
      EXPECT_EQ(std::count(edge->dst->in_edges().begin(), edge->dst->in_edges().end(), edge), 1);
    }
  }
}

TEST(GraphEdgesTest, SurviveRemovalsInAnyOrder) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::string text = "node { name: 'n0' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }";
    for (int i = 1; i < 20; ++i) {
      absl::StrAppend(&text, "node { name: 'n", i, "' op: 'Add' attr { key: 'T' value { type: DT_FLOAT } }");
      for (int input = 0; input < 2; ++input) absl::StrAppend(&text, " input: 'n", random() % i, "'");
      absl::StrAppend(&text, " input: '^n", random() % i, "' }");
    }
    Graph graph(&TestOps());
    ASSERT_THAT(ImportGraphDef(ImportOptions(), GraphDefFromText(text), &graph), IsOk());
    std::vector<Node*> nodes = graph.nodes();
    std::shuffle(nodes.begin(), nodes.end(), random);
    for (Node* node : nodes) {
      graph.RemoveNode(node);
      ExpectConsistent(graph);
    }
  }
}

}  // namespace
}  // namespace weir
