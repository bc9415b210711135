#include "graph/feed_fetch.h"

#include "absl/strings/match.h"

#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// p → neg → out, and an unrelated node.
Graph TestGraph() {
  Graph graph(&TestOps());
  tensorflow::GraphDef def = GraphDefFromText(R"pb(
    node {
      name: "p"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "neg"
      op: "Neg"
      input: "p"
      attr {
        key: "T"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "out"
      op: "Square"
      input: "neg"
      input: "^p"
      attr {
        key: "T"
        value { type: DT_FLOAT }
      }
    }
    node { name: "unrelated" op: "NoOp" })pb");
  EXPECT_THAT(ImportGraphDef(ImportOptions(), def, &graph), IsOk());
  for (Node* node : graph.nodes()) node->set_assigned_device("/job:a/replica:0/task:0/device:CPU:0");
  return graph;
}

FeedFetchOptions Options(std::vector<std::string> feeds, std::vector<std::string> fetches,
                         std::vector<std::string> targets = {}) {
  return {.feeds = std::move(feeds),
          .fetches = std::move(fetches),
          .targets = std::move(targets),
          .default_device = "/job:c/replica:0/task:0/device:CPU:0",
          .incarnation = [](absl::string_view device) { return absl::StartsWith(device, "/job:a/") ? 255 : 7; }};
}

std::vector<std::string> NodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) names.push_back(node->name());
  return names;
}

TEST(FeedFetchTest, KeepsOnlyWhatTheFetchNeeds) {
  Graph graph = TestGraph();
  ASSERT_OK_AND_ASSIGN(FeedFetchResult result, RewriteForFeedsAndFetches(Options({"p"}, {"out:0"}), &graph));
  EXPECT_THAT(NodeNames(graph), ElementsAre("neg", "out", "_recv_p_0", "_send_out_0"));
  EXPECT_THAT(result.feed_keys, ElementsAre("/job:a/replica:0/task:0/device:CPU:0;00000000000000ff;"
                                            "/job:a/replica:0/task:0/device:CPU:0;p;0:0"));
}

TEST(FeedFetchTest, FeedsANodeWithoutADeviceOnTheDefaultOne) {
  Graph graph = TestGraph();
  graph.FindNode("p")->set_assigned_device("");
  ASSERT_OK_AND_ASSIGN(FeedFetchResult result, RewriteForFeedsAndFetches(Options({"p"}, {"out:0"}), &graph));
  EXPECT_THAT(result.feed_keys, ElementsAre("/job:c/replica:0/task:0/device:CPU:0;0000000000000007;"
                                            "/job:c/replica:0/task:0/device:CPU:0;p;0:0"));
}

TEST(FeedFetchTest, WaitsForTheFedValueInPlaceOfThePlaceholder) {
  Graph graph = TestGraph();
  ASSERT_THAT(RewriteForFeedsAndFetches(Options({"p:0"}, {"out"}), &graph), IsOk());
  bool waits = false;
  for (const Edge* edge : graph.FindNode("out")->in_edges()) {
    waits = waits || (edge->is_control() && edge->src->name() == "_recv_p_0");
  }
  EXPECT_TRUE(waits);
}

TEST(FeedFetchTest, CutsAtAFedIntermediate) {
  Graph graph = TestGraph();
  ASSERT_THAT(RewriteForFeedsAndFetches(Options({"neg"}, {"out"}), &graph), IsOk());
  EXPECT_EQ(graph.FindNode("neg"), nullptr);
  EXPECT_NE(graph.FindNode("p"), nullptr);  // still a control input
}

struct BadCase {
  FeedFetchOptions options;
  absl::StatusCode code;
  const char* message;
};

TEST(FeedFetchTest, RefusesBadNames) {
  const BadCase cases[] = {
      {Options({}, {}), absl::StatusCode::kInvalidArgument, "Must specify at least one target"},
      {Options({"q"}, {"out"}), absl::StatusCode::kNotFound, "FeedInputs: unable to find feed output q"},
      {Options({"p:1"}, {"out"}), absl::StatusCode::kInvalidArgument, "should have output index < 1"},
      {Options({"p", "p:0"}, {"out"}), absl::StatusCode::kInvalidArgument, "fed more than once"},
      {Options({"p"}, {"p"}), absl::StatusCode::kInvalidArgument, "both fed and fetched"},
      {Options({}, {"nope:0"}), absl::StatusCode::kNotFound, "FetchOutputs node nope:0: not found"},
      {Options({}, {"out:7"}), absl::StatusCode::kInvalidArgument, "output index too large, must be < 1"},
      {Options({}, {"out:x"}), absl::StatusCode::kInvalidArgument, "malformed"},
      {Options({}, {}, {"nope"}), absl::StatusCode::kNotFound, "Some target nodes not found: nope"},
  };
  for (const BadCase& c : cases) {
    Graph graph = TestGraph();
    EXPECT_THAT(RewriteForFeedsAndFetches(c.options, &graph), StatusIs(c.code, HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace weir
