#include "graph/graph.h"

#include <algorithm>
#include <random>

#include "core/op/attr_value.h"
#include "graph/graph_testing.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

Node* Add(Graph* graph, const std::string& name, const std::string& op, int64_t n = 0) {
  tensorflow::NodeDef def;
  def.set_name(name);
  def.set_op(op);
  SetNodeAttr(op == "Placeholder" ? "dtype" : "T", DT_FLOAT, &def);
  if (n > 0) SetNodeAttr("N", n, &def);
  auto node = graph->AddNode(std::move(def));
  EXPECT_TRUE(node.ok()) << node.status();
  return *node;
}

void CheckEdges(const std::vector<Edge*>& edges, const Node* node, bool in) {
  bool control = false;
  for (const Edge* edge : edges) {
    EXPECT_EQ(in ? edge->dst : edge->src, node);
    EXPECT_FALSE(control && !edge->is_control()) << "a data edge behind a control edge";
    control = edge->is_control();
    const auto& others = in ? edge->src->out_edges() : edge->dst->in_edges();
    EXPECT_EQ(std::count(others.begin(), others.end(), edge), 1);
    EXPECT_EQ(std::count(edges.begin(), edges.end(), edge), 1);
  }
}

TEST(Graph, KeepsItsEdgesInOrderThroughRandomChanges) {
  std::mt19937 random(3);
  Graph graph(&TestOps());
  std::vector<Node*> nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(Add(&graph, absl::StrCat("n", i), "AddN", 4));
  for (int step = 0; step < 5000; ++step) {
    Node *a = nodes[random() % nodes.size()], *b = nodes[random() % nodes.size()];
    switch (random() % 4) {
      case 0:
        (void)graph.AddEdge(a, 0, b, random() % 4);
        break;
      case 1:
        graph.AddControlEdge(a, b);
        break;
      case 2:
        EXPECT_TRUE(graph.ReplaceInput(b, random() % 4, a, 0).ok());
        break;
      default: {
        const auto& edges = random() % 2 != 0 ? a->out_edges() : a->in_edges();
        if (!edges.empty()) graph.RemoveEdge(edges[random() % edges.size()]);
      }
    }
    for (const Node* node : nodes) {
      CheckEdges(node->in_edges(), node, true);
      CheckEdges(node->out_edges(), node, false);
      for (int i = 0; i < 4; ++i) {
        const Edge* edge = node->input_edge(i);
        EXPECT_TRUE(edge == nullptr || edge->dst_input == i);
      }
    }
    if (HasFailure()) return;
  }
}

TEST(Graph, RemovesNodesWithTheirEdges) {
  Graph graph(&TestOps());
  Node* a = Add(&graph, "a", "Placeholder");
  Node* b = Add(&graph, "b", "Neg");
  Node* c = Add(&graph, "c", "Neg");
  ASSERT_TRUE(graph.AddEdge(a, 0, b, 0).ok());
  ASSERT_TRUE(graph.AddEdge(b, 0, c, 0).ok());
  graph.AddControlEdge(b, c);
  EXPECT_EQ(graph.AddControlEdge(b, c), nullptr);
  graph.RemoveNode(b);
  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_EQ(graph.FindNode("b"), nullptr);
  EXPECT_TRUE(a->out_edges().empty());
  EXPECT_TRUE(c->in_edges().empty());
  EXPECT_EQ(c->input_edge(0), nullptr);
}

TEST(Graph, MakesAndChangesNames) {
  Graph graph(&TestOps());
  Node* a = Add(&graph, "a", "Placeholder");
  Add(&graph, "a_1", "Placeholder");
  EXPECT_EQ(graph.UniqueName("b"), "b");
  EXPECT_EQ(graph.UniqueName("a"), "a_2");
  EXPECT_EQ(graph.RenameNode(a, "a_1").code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(graph.RenameNode(a, "c").ok());
  EXPECT_EQ(graph.FindNode("c"), a);
  EXPECT_EQ(graph.FindNode("a"), nullptr);
}

TEST(Graph, CloneIsIndependentAndKeepsIds) {
  Graph graph(&TestOps());
  Node* a = Add(&graph, "a", "Placeholder");
  Node* gone = Add(&graph, "gone", "Placeholder");
  Node* b = Add(&graph, "b", "Neg");
  ASSERT_TRUE(graph.AddEdge(a, 0, b, 0).ok());
  graph.RemoveNode(gone);
  auto copy = graph.Clone();
  EXPECT_EQ(copy->FindNode("b")->id(), b->id());
  EXPECT_EQ(copy->FindNode("b")->input_edge(0)->src, copy->FindNode("a"));
  copy->RemoveNode(copy->FindNode("a"));
  EXPECT_NE(b->input_edge(0), nullptr);
}

TEST(Graph, RefusesEdgesThatDoNotFit) {
  Graph graph(&TestOps());
  Node* a = Add(&graph, "a", "Placeholder");
  Node* b = Add(&graph, "b", "Neg");
  EXPECT_FALSE(graph.AddEdge(a, 1, b, 0).ok());
  EXPECT_FALSE(graph.AddEdge(a, -1, b, 0).ok());
  EXPECT_FALSE(graph.AddEdge(a, 0, b, 1).ok());
  ASSERT_TRUE(graph.AddEdge(a, 0, b, 0).ok());
  EXPECT_EQ(graph.AddEdge(a, 0, b, 0).status().message(), "Input 0 of node b is connected to a:0 already.");
}

}  // namespace
}  // namespace weir
