#include "kernels/fusion/fused_layout.h"

#include "core/testing.h"

namespace weir {
namespace {

using testing::ElementsAre;

class FusedLayoutTest : public testing::Test {
 protected:
  void Make(DataTypeVector inputs, const std::vector<std::string>& steps, std::vector<int> outputs = {}) {
    FusedExpression& expression = node_.expression;
    expression.inputs = inputs;
    DataTypeVector values = std::move(inputs);
    for (const std::string& text : steps) {
      ASSERT_OK_AND_ASSIGN(FusedStep step, ParseFusedStep(text, values));
      values.push_back(step.type);
      expression.steps.push_back(std::move(step));
      node_.names.push_back(absl::StrCat("node", node_.names.size()));
    }
    expression.outputs = outputs.empty() ? std::vector<int>{expression.num_values() - 1} : outputs;
  }
  std::optional<FusedLayout> Layout(const std::vector<TensorShape>& inputs) const {
    const auto values = ShapesOfValues(node_, {}, inputs);
    EXPECT_THAT(values, IsOk());
    if (!values.ok()) return std::nullopt;
    if (node_.expression.fold.empty()) return LayoutOfFused(node_.expression, *values, nullptr);
    const auto fold = FoldPlan::Of((*values)[node_.expression.outputs[0]], node_.expression.axes, false);
    EXPECT_THAT(fold, IsOk());
    return LayoutOfFused(node_.expression, *values, &*fold);
  }
  std::string Key(const std::vector<TensorShape>& inputs) const {
    const auto layout = Layout(inputs);
    return layout.has_value() ? layout->pattern.Key() : "none";
  }

  FusedNode node_;
};

TEST_F(FusedLayoutTest, OneShapeAndScalarsNeedNoSteps) {
  Make({DT_FLOAT, DT_FLOAT}, {"Add(0, 1)", "Neg(2)"});
  EXPECT_EQ(Key({{2, 3, 4}, {2, 3, 4}}), "r0ne_ddd_0");
  EXPECT_EQ(Key({{2, 3, 4}, {}}), "r0ne_dsd_0");
  EXPECT_EQ(Key({{1, 1}, {5, 7}}), "r0ne_sdd_0");
  EXPECT_EQ(Key({{}, {}}), "r0ne_ddd_0");
}

TEST_F(FusedLayoutTest, BroadcastingTakesAsFewDimensionsAsItCan) {
  Make({DT_FLOAT, DT_FLOAT}, {"Add(0, 1)"});
  EXPECT_EQ(Key({{2, 3, 4, 5}, {4, 5}}), "r2ne_dbd_0");
  EXPECT_EQ(Key({{2, 3, 4, 5}, {2, 3, 1, 1}}), "r2ne_dbd_0");
  EXPECT_EQ(Key({{2, 3, 4, 5}, {3, 1, 5}}), "r4ne_dbd_0");
  EXPECT_EQ(Key({{7, 1}, {5}}), "r2ne_bbd_0");
  const std::optional<FusedLayout> layout = Layout({{2, 3, 4, 5}, {4, 5}});
  EXPECT_THAT(absl::MakeSpan(layout->args.sizes).subspan(0, 2), ElementsAre(6, 20));
  EXPECT_THAT(absl::MakeSpan(layout->args.steps[1]).subspan(0, 2), ElementsAre(0, 1));
  EXPECT_EQ(layout->args.count, 120);
}

TEST_F(FusedLayoutTest, ABiasLiesAlongChannels) {
  Make({DT_FLOAT, DT_FLOAT}, {"BiasAdd:NCHW(0, 1)"});
  const std::optional<FusedLayout> layout = Layout({{2, 3, 4, 5}, {3}});
  EXPECT_EQ(layout->pattern.Key(), "r3ne_dbd_0");
  EXPECT_THAT(absl::MakeSpan(layout->args.steps[1]).subspan(0, 3), ElementsAre(0, 1, 0));
}

TEST_F(FusedLayoutTest, ASmallerOutputIsStoredOnce) {
  Make({DT_FLOAT, DT_FLOAT}, {"Neg(0)", "Add(2, 1)"}, {3, 2});
  EXPECT_EQ(Key({{2, 1}, {2, 3}}), "r2ne_bddb_0.2");
  EXPECT_EQ(Key({{2, 3}, {2, 3}}), "r0ne_dddd_0.0");
}

TEST_F(FusedLayoutTest, ReductionsOfTheLastDimensionsAreTheKernels) {
  Make({DT_FLOAT}, {"Neg(0)"});
  node_.expression.fold = "Sum";
  node_.expression.axes = {-1};
  const std::optional<FusedLayout> layout = Layout({{6, 5}});
  EXPECT_EQ(layout->pattern.Key(), "r0nf_dd_0");
  EXPECT_EQ(layout->args.count, 6);
  EXPECT_EQ(layout->args.length, 5);
  EXPECT_THAT(layout->outputs, ElementsAre(TensorShape({6})));
  EXPECT_EQ(Key({{2, 1 << 20}}), "r0ne_dd_0");  // two blocks would do it all
  node_.expression.axes = {0};
  EXPECT_EQ(Key({{6, 5}}), "r0ne_dd_0");
}

TEST_F(FusedLayoutTest, SomeShapesAreNotForOneKernel) {
  Make({DT_FLOAT, DT_FLOAT}, {"TanhGrad(0, 1)"});
  EXPECT_EQ(Key({{2, 3}, {2, 3}}), "r0ne_ddd_0");
  EXPECT_EQ(Key({{2, 3}, {3, 2}}), "none");  // as many elements
  EXPECT_EQ(Key({{0, 3}, {0, 3}}), "none");
}

TEST_F(FusedLayoutTest, OutputsOfWhichNoneIsTheLargestAreNotForOneKernel) {
  Make({DT_FLOAT, DT_FLOAT, DT_FLOAT}, {"Neg(0)", "Add(3, 1)", "Add(3, 2)"}, {4, 5});
  EXPECT_EQ(Key({{}, {2, 1}, {1, 3}}), "none");
}

TEST_F(FusedLayoutTest, ErrorsNameTheNodeThatWas) {
  Make({DT_FLOAT, DT_FLOAT}, {"Neg(0)", "Add(2, 1)"});
  const absl::Status error = ShapesOfValues(node_, {.device = "gpu"}, {TensorShape({2}), TensorShape({3})}).status();
  EXPECT_THAT(error,
              StatusIs(absl::StatusCode::kInvalidArgument, "Incompatible shapes: [2] vs. [3]\n\t [[{{node node1}}]]"));
  EXPECT_EQ(OriginOf(error)->device, "gpu");
  EXPECT_EQ(OriginOf(error)->node, "node1");
  EXPECT_EQ(OriginOf(error)->op, "Add");
}

}  // namespace
}  // namespace weir
