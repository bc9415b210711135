#include "graph/graph_import.h"

#include <google/protobuf/util/message_differencer.h>

#include "gmock/gmock.h"
#include "graph/function_library.h"
#include "graph/graph.h"
#include "graph/graph_testing.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::GraphDef;
using ::testing::HasSubstr;

constexpr char kFloat[] = R"( attr { key: "T" value { type: DT_FLOAT } } )";

std::string Source(const std::string& name, const std::string& type = "DT_FLOAT") {
  return "node { name: '" + name + "' op: 'Placeholder' attr { key: 'dtype' value { type: " + type + " } } }";
}

std::string NodeText(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                     const std::string& attrs = kFloat) {
  std::string text = "node { name: '" + name + "' op: '" + op + "'";
  for (const std::string& input : inputs) text += " input: '" + input + "'";
  return text + attrs + "}";
}

absl::Status Import(const std::string& text, Graph* graph, ImportOptions options = {}) {
  return ImportGraphDef(options, GraphDefFromText(text), graph);
}

// The error from importing `text` into an empty graph, which must stay empty.
absl::Status ImportError(const std::string& text) {
  Graph graph(&TestOps());
  absl::Status status = Import(text, &graph);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(graph.num_nodes(), 0);
  return status;
}

TEST(GraphImport, ConnectsDataAndControl) {
  Graph graph(&TestOps());
  const std::string split = NodeText("s", "Split2", {"a"});
  ASSERT_TRUE(Import(Source("a") + NodeText("n", "Neg", {"s:1", "^a"}) + split, &graph).ok());
  const Node* neg = graph.FindNode("n");
  ASSERT_NE(neg, nullptr);
  ASSERT_NE(neg->input_edge(0), nullptr);
  EXPECT_EQ(neg->input_edge(0)->src->name(), "s");
  EXPECT_EQ(neg->input_edge(0)->src_output, 1);
  EXPECT_EQ(neg->in_edges().size(), 2u);
  EXPECT_TRUE(neg->in_edges()[1]->is_control());
}

TEST(GraphImport, FillsInDefaults) {
  Graph graph(&TestOps());
  ASSERT_TRUE(Import(Source("a") + NodeText("m", "MatMul", {"a", "a"}), &graph).ok());
  EXPECT_TRUE(graph.FindNode("m")->def().attr().contains("transpose_b"));
}

TEST(GraphImport, ExportGivesBackWhatWasImported) {
  const std::string text = Source("a") + NodeText("s", "Split2", {"a"}) + NodeText("n", "Neg", {"s:1", "^a", "^s"}) +
                           "versions { producer: 1882 min_consumer: 12 }";
  GraphDef def = GraphDefFromText(text);
  (*def.mutable_node(0)->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
  Graph graph(&TestOps());
  ASSERT_TRUE(ImportGraphDef({}, def, &graph).ok());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(graph.ToGraphDef(), def));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(graph.Clone()->ToGraphDef(), def));
}

TEST(GraphImport, RefusesUnknownOps) {
  absl::Status status = ImportError(NodeText("x", "Frobnicate", {}, ""));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("Op type not registered 'Frobnicate'"));
}

struct BadGraph {
  std::string text;
  std::string message;
};

TEST(GraphImport, RefusesWhatDoesNotFit) {
  const BadGraph cases[] = {
      {Source("a") + Source("a"), "Node 'a' is not unique"},
      {Source("a b"), "Node 'a b': Node name contains invalid characters"},
      {Source("_a"), "invalid characters"},
      {Source(""), "invalid characters"},
      {NodeText("b", "Neg", {"a"}), "Node 'b': Unknown input node 'a'"},
      {Source("a") + NodeText("b", "Neg", {"a:3"}),
       "Node 'b': Connecting to invalid output 3 of source node a which has 1 outputs."},
      {Source("a") + NodeText("b", "Neg", {"a:99999999999999999999"}), "Malformed input"},
      {Source("a") + NodeText("b", "Neg", {"a:-1"}), "Malformed input"},
      {Source("a") + NodeText("b", "Neg", {"^a:0"}), "Malformed input"},
      {Source("a") + NodeText("b", "Neg", {"^"}), "Malformed input"},
      {Source("a") + NodeText("b", "Neg", {"a"}, "attr { key: 'T' value { type: DT_INT32 } }"),
       "Input 0 of node b was passed float from a:0 incompatible with expected int32."},
      {Source("a") + NodeText("b", "Neg", {"^a", "a"}), "Control dependencies must come after regular dependencies"},
      {Source("a") + NodeText("b", "Neg", {"a", "a"}), "NodeDef expected inputs 'float' do not match 2 inputs"},
      {Source("a") + NodeText("b", "Neg", {}), "NodeDef expected inputs 'float' do not match 0 inputs"},
      {Source("a") + NodeText("b", "Neg", {"a"}, std::string(kFloat) + "attr { key: 'U' value { i: 1 } }"),
       "NodeDef mentions attr 'U' not in"},
      {Source("a") + NodeText("b", "Neg", {"a"}, "attr { key: 'T' value { i: 1 } }"), "'int' when 'type' expected"},
      {Source("a") + NodeText("b", "Neg", {"a"}, "attr { key: 'T' value { placeholder: 'U' } }"), "placeholder"},
      {Source("a", "DT_BOOL") + NodeText("b", "MatMul", {"a", "a"}, "attr { key: 'T' value { type: DT_BOOL } }"),
       "is not in the list of allowed values"},
      {Source("a") + NodeText("b", "AddN", {"a"}, std::string(kFloat) + "attr { key: 'N' value { i: 0 } }"),
       "must be at least minimum 1"},
      {Source("a") + NodeText("b", "AddN", {"a"}, std::string(kFloat) + "attr { key: 'N' value { i: 99999999999 } }"),
       "99999999999"},
      {Source("a") + NodeText("b", "Assign", {"a", "a"}),
       "Input 0 of node b was passed float from a:0 incompatible with expected float_ref."},
      {NodeText("x", "_Arg", {}, std::string(kFloat) + "attr { key: 'index' value { i: 0 } }"), "is internal"},
      {NodeText("a", "Neg", {"b"}) + NodeText("b", "Neg", {"c"}) + NodeText("c", "Neg", {"a"}), "3 nodes in a cycle: "},
      {NodeText("a", "Neg", {"a"}), "1 nodes in a cycle: a -> a"},
      {NodeText("a", "NoOp", {"^a"}, ""), "cycle"},
      {"versions { min_consumer: 99999 }", "min consumer version 99999"},
      {"versions { bad_consumers: 2474 }", "disallows consumer version 2474"},
      {"versions { producer: -1 }", "producer version -1"},
  };
  for (const BadGraph& bad : cases) {
    absl::Status status = ImportError(bad.text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_THAT(status.message(), HasSubstr(bad.message)) << bad.text;
  }
}

TEST(GraphImport, NamesTheCycleInOrder) {
  absl::Status status =
      ImportError(NodeText("a", "Neg", {"c"}) + NodeText("b", "Neg", {"a"}) + NodeText("c", "Neg", {"b"}));
  EXPECT_THAT(status.message(), HasSubstr("a -> b -> c -> a"));
}

TEST(GraphImport, LetsNextIterationCloseALoop) {
  Graph graph(&TestOps());
  const std::string n = std::string(kFloat) + "attr { key: 'N' value { i: 2 } }";
  EXPECT_TRUE(
      Import(Source("a") + NodeText("m", "Merge", {"a", "next"}, n) + NodeText("next", "NextIteration", {"m"}), &graph)
          .ok());
}

TEST(GraphImport, TakesReferencesForValues) {
  Graph graph(&TestOps());
  const std::string variable =
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'shape' value { shape { } } } }";
  EXPECT_TRUE(Import(variable + NodeText("n", "Neg", {"v"}) + NodeText("w", "Assign", {"v", "n"}), &graph).ok());
  EXPECT_EQ(graph.FindNode("w")->input_type(0), MakeRef(DT_FLOAT));
}

TEST(GraphImport, RefusesOpsThatTheProducerShouldNoLongerUse) {
  Graph graph(&TestOps());
  EXPECT_TRUE(Import("node { name: 'x' op: 'Old' } versions { producer: 4 }", &graph).ok());
  absl::Status status = ImportError("node { name: 'x' op: 'Old' } versions { producer: 5 }");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("is not available in GraphDef version 5"));
}

TEST(GraphImport, RefusesNodesWithoutTheirTypes) {
  const absl::Status status = ImportError(Source("a") + NodeText("b", "Neg", {"a"}, ""));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("No attr named 'T' in NodeDef"));
}

TEST(GraphImport, TakesGraphsOfAnyProducer) {
  Graph graph(&TestOps());
  const std::string newer = std::string(kFloat) + "attr { key: 'U' value { i: 1 } } attr { key: '_V' value { i: 2 } }";
  ASSERT_TRUE(Import(Source("a") + NodeText("b", "Neg", {"a"}, newer) + "node { name: 'x' op: 'Old' }" +
                         "versions { producer: 5 }",
                     &graph, {.from_any_producer = true})
                  .ok());
  EXPECT_FALSE(graph.FindNode("b")->def().attr().contains("U"));
  EXPECT_TRUE(graph.FindNode("b")->def().attr().contains("_V"));
  EXPECT_TRUE(CheckAvailable(*graph.FindNode("b"), graph).ok());
  const absl::Status status = CheckAvailable(*graph.FindNode("x"), graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(OriginOf(status)->node, "x");
}

TEST(GraphImport, ExtendsAGraph) {
  Graph graph(&TestOps());
  ASSERT_TRUE(Import(Source("a") + "versions { producer: 9 }", &graph).ok());
  ASSERT_TRUE(Import(NodeText("b", "Neg", {"a"}) + "versions { producer: 9 }", &graph).ok());
  EXPECT_EQ(graph.FindNode("b")->input_edge(0)->src, graph.FindNode("a"));

  absl::Status again = Import(Source("c") + Source("a") + "versions { producer: 9 }", &graph);
  EXPECT_THAT(again.message(),
              HasSubstr("GraphDef argument to Extend includes node 'a', which was created by a previous call to Create "
                        "or Extend in this session."));
  absl::Status version = Import(Source("c") + "versions { producer: 8 }", &graph);
  EXPECT_THAT(version.message(), HasSubstr("Can't extend GraphDef at version 9 with graph at version 8"));
  EXPECT_EQ(graph.num_nodes(), 2);
}

TEST(GraphImport, LeavesTheGraphAsItWasWhenItFails) {
  Graph graph(&TestOps());
  ASSERT_TRUE(Import(Source("a"), &graph).ok());
  const std::string before = graph.ToGraphDef().DebugString();
  EXPECT_FALSE(Import("library { function { signature { name: 'f' } } }" + NodeText("b", "Neg", {"a"}) +
                          NodeText("c", "Neg", {"nowhere"}) + "versions { min_consumer: 3 }",
                      &graph)
                   .ok());
  EXPECT_EQ(graph.ToGraphDef().DebugString(), before);
  EXPECT_TRUE(graph.FindNode("a")->out_edges().empty());
}

TEST(GraphImport, PrefixesNamesAndReferences) {
  Graph graph(&TestOps());
  ImportOptions options;
  options.prefix = "p";
  ASSERT_TRUE(
      Import(Source("a") + NodeText("b", "Neg", {"a", "^a"},
                                    std::string(kFloat) + "attr { key: '_class' value { list { s: 'loc:@a' } } }"),
             &graph, options)
          .ok());
  const Node* b = graph.FindNode("p/b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->input_edge(0)->src->name(), "p/a");
  EXPECT_EQ(b->def().attr().at("_class").list().s(0), "loc:@p/a");
}

TEST(GraphImport, CallsFunctionsOfTheLibrary) {
  Graph graph(&TestOps());
  const std::string library =
      "library { function { signature { name: 'Twice' input_arg { name: 'x' type: DT_FLOAT } "
      "output_arg { name: 'y' type: DT_FLOAT } is_stateful: true } } }";
  ASSERT_TRUE(Import(library + Source("a") + NodeText("t", "Twice", {"a"}, ""), &graph).ok());
  EXPECT_TRUE(graph.FindNode("t")->IsStateful());
  EXPECT_EQ(graph.FindNode("t")->registration(), nullptr);

  absl::Status other = Import("library { function { signature { name: 'Twice' } } }", &graph);
  EXPECT_THAT(other.message(), HasSubstr("Cannot add function 'Twice' because a different function with the same name "
                                         "already exists."));
  absl::Status op = Import("library { function { signature { name: 'Neg' } } }", &graph);
  EXPECT_THAT(op.message(), HasSubstr("Cannot add function 'Neg' because an op with the same name already exists."));
}

TEST(GraphImport, TakesDeepGraphsInLinearTime) {
  GraphDef def = GraphDefFromText(Source("n0"));
  const GraphDef step = GraphDefFromText(NodeText("x", "Neg", {"y"}));
  constexpr int kDepth = 100'000;
  for (int i = kDepth; i > 0; --i) {
    auto* node = def.add_node();
    *node = step.node(0);
    node->set_name(absl::StrCat("n", i));
    node->set_input(0, absl::StrCat("n", i - 1));
  }
  Graph graph(&TestOps());
  ASSERT_TRUE(ImportGraphDef({}, def, &graph).ok());
  EXPECT_EQ(graph.num_nodes(), kDepth + 1);
  def.mutable_node(1)->set_input(0, "n99999");
  def.mutable_node(kDepth)->set_input(0, "n100000");
  Graph cyclic(&TestOps());
  EXPECT_THAT(ImportGraphDef({}, def, &cyclic).message(), HasSubstr("100000 nodes in a cycle"));
}

TEST(GraphImport, RefusesTooManyNodes) {
  Graph graph(&TestOps());
  ImportOptions options;
  options.max_nodes = 1;
  EXPECT_THAT(Import(Source("a") + Source("b"), &graph, options).message(), HasSubstr("at most 1"));
}

}  // namespace
}  // namespace weir
