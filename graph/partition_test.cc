#include "graph/partition.h"

#include "absl/container/flat_hash_map.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"

namespace weir {
namespace {

constexpr char kA[] = "/job:a/replica:0/task:0/device:CPU:0";
constexpr char kB[] = "/job:b/replica:0/task:0/device:CPU:0";

std::string NodeText(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                     const std::string& device,
                     const std::string& extra = "attr { key: 'T' value { type: DT_FLOAT } }") {
  std::string text = absl::StrCat("node { name: '", name, "' op: '", op, "' device: '", device, "' ", extra);
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  return text + " }\n";
}
std::string Placeholder(const std::string& name, const std::string& device) {
  return NodeText(name, "Placeholder", {}, device, "attr { key: 'dtype' value { type: DT_FLOAT } }");
}

absl::StatusOr<absl::btree_map<std::string, tensorflow::GraphDef>> Cut(const std::string& text,
                                                                       PartitionOptions options = {}) {
  Graph graph(&TestOps());
  RETURN_IF_ERROR(ImportGraphDef(ImportOptions(), GraphDefFromText(text), &graph));
  for (Node* node : graph.nodes()) node->set_assigned_device(node->requested_device());
  options.location = [](const Node& node) { return node.assigned_device(); };
  options.incarnation = [](absl::string_view device) { return device == kA ? uint64_t{11} : uint64_t{22}; };
  return PartitionGraph(options, &graph);
}

const tensorflow::NodeDef* Find(const tensorflow::GraphDef& graph, absl::string_view name) {
  for (const auto& node : graph.node()) {
    if (node.name() == name) return &node;
  }
  return nullptr;
}
std::vector<const tensorflow::NodeDef*> OfOp(const tensorflow::GraphDef& graph, absl::string_view op) {
  std::vector<const tensorflow::NodeDef*> found;
  for (const auto& node : graph.node()) {
    if (node.op() == op) found.push_back(&node);
  }
  return found;
}

TEST(PartitionTest, AnEdgeOfDataBecomesOnePairForAllItsConsumers) {
  ASSERT_OK_AND_ASSIGN(
      auto parts, Cut(Placeholder("p", kA) + NodeText("n", "Neg", {"p"}, kB) + NodeText("s", "Square", {"p"}, kB)));
  auto sends = OfOp(parts[kA], "_Send");
  auto recvs = OfOp(parts[kB], "_Recv");
  ASSERT_EQ(sends.size(), 1);
  ASSERT_EQ(recvs.size(), 1);
  EXPECT_EQ(sends[0]->input(0), "p");
  EXPECT_EQ(Find(parts[kB], "n")->input(0), recvs[0]->name());
  EXPECT_EQ(Find(parts[kB], "s")->input(0), recvs[0]->name());
}

TEST(PartitionTest, BothSidesOfAPairAgreeOnTheKey) {
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(Placeholder("p", kA) + NodeText("n", "Neg", {"p"}, kB)));
  const auto* send = OfOp(parts[kA], "_Send")[0];
  const auto* recv = OfOp(parts[kB], "_Recv")[0];
  for (const char* attr : {"tensor_name", "send_device", "recv_device", "send_device_incarnation"}) {
    EXPECT_TRUE(AttrValuesEqual(send->attr().at(attr), recv->attr().at(attr))) << attr;
  }
  EXPECT_EQ(send->attr().at("send_device_incarnation").i(), 11);
  EXPECT_EQ(send->attr().at("recv_device").s(), kB);
}

TEST(PartitionTest, AnEdgeOfControlCarriesAToken) {
  ASSERT_OK_AND_ASSIGN(auto parts,
                       Cut(Placeholder("p", kA) + Placeholder("q", kB) + NodeText("n", "Neg", {"q", "^p"}, kB)));
  auto tokens = OfOp(parts[kA], "Const");
  ASSERT_EQ(tokens.size(), 1);
  EXPECT_EQ(tokens[0]->input(0), "^p");
  EXPECT_EQ(OfOp(parts[kA], "_Send")[0]->input(0), tokens[0]->name());
  const auto receivers = OfOp(parts[kB], "Identity");
  ASSERT_EQ(receivers.size(), 1);
  EXPECT_EQ(receivers[0]->input(0), OfOp(parts[kB], "_Recv")[0]->name());
  EXPECT_EQ(Find(parts[kB], "n")->input(1), absl::StrCat("^", receivers[0]->name()));
}

// while (go) i = Neg(i), with the body's Neg on another device.
std::string Loop(const std::string& body_device) {
  const std::string frame =
      "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'frame_name' value { s: 'loop' } } "
      "attr { key: 'parallel_iterations' value { i: 10 } }";
  const std::string merge = "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'N' value { i: 2 } }";
  const std::string flag =
      "attr { key: 'T' value { type: DT_BOOL } } attr { key: 'frame_name' value { s: 'loop' } } "
      "attr { key: 'parallel_iterations' value { i: 10 } } attr { key: 'is_constant' value { b: true } }";
  return Placeholder("p", kA) +
         NodeText("flag", "Placeholder", {}, kA, "attr { key: 'dtype' value { type: DT_BOOL } }") +
         NodeText("go", "Enter", {"flag"}, kA, flag) + NodeText("enter", "Enter", {"p"}, kA, frame) +
         NodeText("merge", "Merge", {"enter", "next"}, kA, merge) + NodeText("cond", "LoopCond", {"go"}, kA, "") +
         NodeText("switch", "Switch", {"merge", "cond"}, kA) + NodeText("body", "Neg", {"switch:1"}, body_device) +
         NodeText("next", "NextIteration", {"body"}, kA) + NodeText("exit", "Exit", {"switch"}, kA);
}

TEST(PartitionTest, ALoopOnOneDeviceStaysAsItIs) {
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(Loop(kA)));
  ASSERT_EQ(parts.size(), 1);
  EXPECT_EQ(parts[kA].node_size(), 10);
}

TEST(PartitionTest, ALoopAcrossDevicesGetsAControlLoopWhereItReceives) {
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(Loop(kB)));
  for (const char* device : {kA, kB}) {
    // On each side the received value is controlled by that side's loop.
    bool triggered = false;
    for (const auto* recv : OfOp(parts[device], "_Recv")) {
      ASSERT_EQ(recv->input_size(), 1) << recv->name();
      triggered = triggered || Find(parts[device], recv->input(0).substr(1))->op() == "Merge";
    }
    EXPECT_TRUE(triggered) << device;
  }
  EXPECT_EQ(OfOp(parts[kB], "Enter").size(), 1);
  EXPECT_EQ(OfOp(parts[kB], "NextIteration").size(), 1);
  EXPECT_EQ(OfOp(parts[kB], "Enter")[0]->attr().at("frame_name").s(), "loop");
}

TEST(PartitionTest, AConstantThatEntersTheLoopElsewhereGoesRoundThere) {
  std::string loop = Loop(kA);
  const size_t go = loop.find("name: 'go'");
  ASSERT_NE(go, std::string::npos);
  loop.replace(loop.find(kA, go), std::string(kA).size(), kB);
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(loop));
  EXPECT_EQ(OfOp(parts[kB], "NextIteration").size(), 1);
  EXPECT_EQ(OfOp(parts[kB], "Enter").size(), 2);
}

// Consumers may request different wire formats.
std::string Consumer(const std::string& name, const std::string& input, const std::string& wire) {
  return NodeText(
      name, "Neg", {input}, kB,
      absl::StrCat("attr { key: 'T' value { type: DT_FLOAT } } attr { key: '_weir_wire' value { s: '", wire, "' } }"));
}

PartitionOptions AllKnowWire() {
  PartitionOptions options;
  options.knows_wire = [](const std::string&) { return true; };
  return options;
}

TEST(PartitionTest, WhatAsksForItIsEncodedAndDecoded) {
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(Placeholder("p", kA) + Consumer("n", "p", "bf16+lz4") +
                                           Consumer("m", "p", "bf16+lz4") + Consumer("o", "p", "snappy"),
                                       AllKnowWire()));
  const auto encodes = OfOp(parts[kA], "_WireEncode");
  ASSERT_EQ(encodes.size(), 2);
  EXPECT_EQ(encodes[0]->input(0), "p");
  EXPECT_EQ(encodes[0]->attr().at("wire").s(), "bf16+lz4");
  EXPECT_EQ(encodes[1]->attr().at("wire").s(), "snappy");
  const auto sends = OfOp(parts[kA], "_Send");
  ASSERT_EQ(sends.size(), 2);
  EXPECT_EQ(sends[0]->input(0), encodes[0]->name());
  EXPECT_EQ(sends[0]->attr().at("T").type(), tensorflow::DT_UINT8);
  const auto decodes = OfOp(parts[kB], "_WireDecode");
  ASSERT_EQ(decodes.size(), 2);
  EXPECT_EQ(Find(parts[kB], decodes[0]->input(0))->op(), "_Recv");
  EXPECT_EQ(decodes[0]->attr().at("T").type(), tensorflow::DT_FLOAT);
  EXPECT_EQ(Find(parts[kB], "n")->input(0), decodes[0]->name());
  EXPECT_EQ(Find(parts[kB], "m")->input(0), decodes[0]->name());
  EXPECT_EQ(Find(parts[kB], "o")->input(0), decodes[1]->name());
}

TEST(PartitionTest, NothingIsEncodedForALocationThatDoesNotKnowHow) {
  for (const char* stranger : {kA, kB}) {
    PartitionOptions options;
    options.knows_wire = [stranger](const std::string& location) { return location != stranger; };
    options.wire.compression = WireCompression::kLz4;
    ASSERT_OK_AND_ASSIGN(auto parts, Cut(Placeholder("p", kA) + Consumer("n", "p", "bf16"), options));
    EXPECT_TRUE(OfOp(parts[kA], "_WireEncode").empty());
    EXPECT_EQ(Find(parts[kB], "n")->input(0), OfOp(parts[kB], "_Recv")[0]->name());
  }
}

TEST(PartitionTest, ControlEdgesAreNotEncodedAndOthersAsTheSessionSays) {
  PartitionOptions options = AllKnowWire();
  options.wire.compression = WireCompression::kLz4;
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(Placeholder("p", kA) + Placeholder("q", kB) +
                                           NodeText("n", "Neg", {"q", "^p"}, kB) + NodeText("m", "Neg", {"p"}, kB),
                                       options));
  const auto encodes = OfOp(parts[kA], "_WireEncode");
  ASSERT_EQ(encodes.size(), 1);
  EXPECT_EQ(encodes[0]->attr().at("wire").s(), "lz4");
  EXPECT_EQ(OfOp(parts[kA], "_Send").size(), 2);
}

TEST(PartitionTest, AWireThatIsNoneIsAnErrorThatNamesTheNode) {
  EXPECT_THAT(Cut(Placeholder("p", kA) + Consumer("n", "p", "zip"), AllKnowWire()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(::testing::HasSubstr("'n'"), ::testing::HasSubstr("zip"))));
}

TEST(PartitionTest, EveryPartIsAGraph) {
  ASSERT_OK_AND_ASSIGN(auto parts, Cut(Loop(kB)));
  for (auto& [device, part] : parts) {
    Graph graph(&TestOps());
    EXPECT_THAT(ImportGraphDef(ImportOptions{.allow_internal_ops = true}, part, &graph), IsOk()) << device;
  }
}

}  // namespace
}  // namespace weir
