// Tests of the layout pass with this build's ops: alone, and enabled by session options.
#include "graph/passes/layout.h"

#include <limits>

#include "absl/strings/str_replace.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/text/graph_text.h"
#include "kernels/library.h"
#include "master/graph_preparation.h"

namespace weir {
namespace {

using tensorflow::RewriterConfig;
using ::testing::ElementsAre;

class LayoutTest : public ::testing::Test {
 protected:
  LayoutTest() : graph_(&ops_) {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    options_.placement.kernels = &kernels_;
    for (const char* device : {"GPU:0", "CPU:0"}) {
      options_.placement.devices.push_back(
          *DeviceName::ParseFull(absl::StrCat("/job:worker/replica:0/task:0/device:", device)));
    }
  }

  void Place(const std::string& text) {
    ImportOptions import;
    ASSERT_THAT(ParseGraph(text, import, &graph_), IsOk());
    ASSERT_TRUE(PlaceGraph(options_.placement, &graph_).empty());
  }
  int Convert(const std::string& text, std::vector<std::string> kept, const LayoutCosts* costs = nullptr) {
    graph_ = Graph(&ops_);
    Place(text);
    PassContext context;
    context.fetches = std::move(kept);
    int changes = 0;
    EXPECT_THAT(MakeLayoutPass({.device_type = "GPU", .costs = costs})->Run(context, &graph_, &changes), IsOk());
    return changes;
  }
  std::vector<std::string> NamesOf(const std::string& op) const {
    std::vector<std::string> names;
    for (const Node* node : graph_.nodes()) {
      if (node->op() == op) names.push_back(node->name());
    }
    return names;
  }
  std::string FormatOf(const std::string& node) const {
    std::string format;
    EXPECT_THAT(GetNodeAttr(graph_.FindNode(node)->def(), "data_format", &format), IsOk());
    return format;
  }
  std::vector<int64_t> StridesOf(const std::string& node) const {
    std::vector<int64_t> strides;
    EXPECT_THAT(GetNodeAttr(graph_.FindNode(node)->def(), "strides", &strides), IsOk());
    return strides;
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  PreparationOptions options_;
  Graph graph_;
};

constexpr char kNet[] =
    "%x:f32 = Placeholder() {dtype=f32, shape=shape[4,8,8,3]}\n"
    "%f:f32 = Placeholder() {dtype=f32, shape=shape[3,3,3,3]}\n"
    "%b:f32 = Placeholder() {dtype=f32, shape=shape[3]}\n"
    "%c:f32 = Conv2D(%x, %f) {strides=[1, 2, 1, 1], padding=\"SAME\"}\n"
    "%s:f32 = BiasAdd(%c, %b)\n%r:f32 = Relu(%s)\n"
    "%d:f32 = Conv2D(%r, %f) {strides=[1, 1, 1, 1], padding=\"SAME\"}\n%sum:f32 = AddV2(%d, %r)\n"
    "%p:f32 = MaxPool(%sum) {ksize=[1, 2, 3, 1], strides=[1, 2, 2, 1], padding=\"VALID\"}\n%out:f32 = Neg(%p)\n";

TEST_F(LayoutTest, TransposesStandAtTheEndsAlone) {
  EXPECT_EQ(Convert(kNet, {"out"}), 4);
  EXPECT_THAT(NamesOf("Transpose"),
              ElementsAre("x-0-TransposeNHWCToNCHW-LayoutOptimizer", "p-0-TransposeNCHWToNHWC-LayoutOptimizer"))
      << PrintGraph(graph_);
  for (const char* node : {"c", "s", "d", "p"}) EXPECT_EQ(FormatOf(node), "NCHW") << node;
  EXPECT_THAT(StridesOf("c"), ElementsAre(1, 1, 2, 1));
}

TEST_F(LayoutTest, WhatIsAskedForIsAsItWas) {
  Convert(kNet, {"out", "r", "d"});
  EXPECT_EQ(FormatOf("d"), "NHWC");
  const Node* r = graph_.FindNode("r");
  EXPECT_EQ(r->input_edge(0)->src->op(), "Transpose");
}

// The cost table sets the convolutions' costs; other ops cost the same in both formats.
struct TableOfCosts : LayoutCosts {
  std::optional<double> OfNode(const Node& node, absl::Span<const PartialTensorShape> inputs,
                               absl::Span<const PartialTensorShape> outputs, absl::string_view format) const override {
    EXPECT_EQ(inputs[0].dims(), 4);
    EXPECT_EQ(outputs[0].dims(), 4);
    if (node.op() != "Conv2D") return 1;
    return format == "NCHW" ? nchw : nhwc;
  }
  std::optional<double> OfTranspose(absl::string_view device, int64_t bytes) const override {
    EXPECT_EQ(device, "/job:worker/replica:0/task:0/device:GPU:0");
    sizes.push_back(bytes);
    return transpose;
  }
  std::optional<double> nhwc = 30, nchw = 10, transpose = 10;
  mutable std::vector<int64_t> sizes;
};

TEST_F(LayoutTest, ConvertsWhereTheTableSaysThatItPays) {
  TableOfCosts table;
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 4);
  EXPECT_THAT(table.sizes, ::testing::UnorderedElementsAre(4 * 8 * 8 * 3 * 4, 4 * 2 * 3 * 3 * 4));
  table.transpose = 20;  // as much as the convolutions gain
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 0);
  EXPECT_EQ(FormatOf("c"), "NHWC");
  EXPECT_TRUE(NamesOf("Transpose").empty());
  table.transpose = 19;
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 4);
}

TEST_F(LayoutTest, WhatIsMeasuredInOneFormatAloneGetsTheOther) {
  TableOfCosts table;
  table.nchw = std::nullopt;
  table.nhwc = 0;
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 4);
  table.nchw = 1000;
  table.nhwc = std::nullopt;
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 0);
  table.nchw = std::nullopt;
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 4);  // the rule
  table.nhwc = 0;
  table.nchw = 1000;
  table.transpose = std::nullopt;
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 4);  // the same
}

TEST_F(LayoutTest, WhatNoLibraryDoesInOneFormatStaysInTheOther) {
  TableOfCosts table;
  table.nchw = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 0);
  std::swap(table.nchw, table.nhwc);
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 4);
  table.nchw = table.nhwc;  // no convolution gains: transposes decide
  EXPECT_EQ(Convert(kNet, {"out"}, &table), 0);
}

TEST_F(LayoutTest, WhatComesFromTheHostIsTransposedWhereItIsRead) {
  Convert(absl::StrReplaceAll(kNet, {{"shape[4,8,8,3]}", "shape[4,8,8,3]} @worker:0/CPU:0"}}), {"out"});
  for (const char* node : {"", "-Permutation"}) {
    const Node* const made = graph_.FindNode(absl::StrCat("x-0-TransposeNHWCToNCHW", node, "-LayoutOptimizer"));
    ASSERT_NE(made, nullptr) << PrintGraph(graph_);
    EXPECT_EQ(made->assigned_device(), "/job:worker/replica:0/task:0/device:GPU:0");
  }
}

TEST_F(LayoutTest, ShapesFollow) {
  Convert(
      "%x:f32 = Placeholder() {dtype=f32, shape=shape[?,8,8,3]}\n"
      "%f:f32 = Placeholder() {dtype=f32, shape=shape[3,3,3,3]}\n"
      "%c:f32 = Conv2D(%x, %f) {strides=[1, 1, 1, 1], padding=\"SAME\"}\n%r:f32 = Relu(%c)\n"
      "%shape:i32 = Shape(%r)\n%g:f32 = Conv2DBackpropInput(%shape, %f, %r) {strides=[1, 1, 1, 1], "
      "padding=\"SAME\"}\n%out:f32 = Neg(%g)\n",
      {"out"});
  EXPECT_EQ(NamesOf("Transpose").size(), 2) << PrintGraph(graph_);
  EXPECT_EQ(NamesOf("DataFormatVecPermute").size(), 2);
  EXPECT_EQ(graph_.FindNode("shape")->input_edge(0)->src->name(), "r");
}

TEST_F(LayoutTest, LeavesShortFloatsWithoutAMeasurement) {
  const std::string net =
      "%x:f16 = Placeholder() {dtype=f16, shape=shape[4,8,8,3]}\n"
      "%f:f16 = Placeholder() {dtype=f16, shape=shape[3,3,3,3]}\n"
      "%c:f16 = Conv2D(%x, %f) {strides=[1, 1, 1, 1], padding=\"SAME\"}\n%out:f16 = Neg(%c)\n";
  EXPECT_EQ(Convert(net, {"out"}), 0);
  TableOfCosts table;
  table.nchw = std::nullopt;
  EXPECT_EQ(Convert(net, {"out"}, &table), 1);  // to be measured
  table.nhwc = std::nullopt;
  EXPECT_EQ(Convert(net, {"out"}, &table), 0);
  table.nhwc = 100;
  table.nchw = 10;
  EXPECT_EQ(Convert(net, {"out"}, &table), 1);
}

TEST_F(LayoutTest, OptionsOfTheSessionDecide) {
  RewriterConfig& rewrite = *options_.graph_options.mutable_rewrite_options();
  options_.kept = {"out"};
  const auto format = [&](const std::string& text) {
    graph_ = Graph(&ops_);
    Place(text);
    EXPECT_THAT(PrepareGraph(options_, {}, &graph_), IsOk());
    return FormatOf("d");
  };
  EXPECT_EQ(format(kNet), "NHWC");
  rewrite.set_layout_optimizer(RewriterConfig::ON);
  EXPECT_EQ(format(kNet), "NCHW");
  rewrite.set_layout_optimizer(RewriterConfig::OFF);
  rewrite.set_cpu_layout_conversion(RewriterConfig::NHWC_TO_NCHW);
  const std::string on_cpu = absl::StrReplaceAll(kNet, {{"\"SAME\"}", "\"SAME\"} @worker:0/CPU:0"}});
  EXPECT_EQ(format(on_cpu), "NHWC");
  rewrite.set_layout_optimizer(RewriterConfig::DEFAULT);
  EXPECT_EQ(format(on_cpu), "NCHW");
  EXPECT_EQ(format(kNet), "NHWC");
}

}  // namespace
}  // namespace weir
