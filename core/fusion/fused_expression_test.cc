#include "core/fusion/fused_expression.h"

#include "core/fusion/fused_node.h"
#include "core/op/attr_value.h"
#include "core/testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

absl::StatusOr<FusedStep> Parse(absl::string_view text, const DataTypeVector& values) {
  return ParseFusedStep(text, values);
}
auto IsRefused(const char* why) { return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)); }

// relu(x + y) as half, and its mean.
FusedNode Node() {
  FusedNode node;
  node.expression.inputs = {DT_FLOAT, DT_FLOAT};
  DataTypeVector values = node.expression.inputs;
  for (const char* text : {"AddV2(0, 1)", "Relu(2)", "Cast:half(3)"}) {
    node.expression.steps.push_back(*Parse(text, values));
    values.push_back(node.expression.steps.back().type);
    node.names.emplace_back(text);
  }
  node.expression.outputs = {4};
  node.expression.fold = "Mean";
  node.expression.axes = {-1};
  node.expression.keep_dims = true;
  node.names.emplace_back("mean");
  return node;
}
tensorflow::NodeDef Def() {
  tensorflow::NodeDef def;
  def.set_name("a");
  SetFusedNode(Node(), &def);
  return def;
}

TEST(FusedStepTest, ReadsWhatItWrites) {
  const DataTypeVector values = {DT_HALF, DT_HALF, DT_BOOL, DT_INT64};
  for (const char* text : {"Neg(0)", "Maximum(0, 1)", "Cast:bfloat16(3)", "BiasAdd(0, 1)", "BiasAdd:NCHW(1, 0)",
                           "Select(2, 0, 1)", "SelectV2(2, 3, 3)", "AddN(0, 1, 0)", "Add(3, 3)", "LogicalNot(2)"}) {
    ASSERT_OK_AND_ASSIGN(const FusedStep step, Parse(text, values));
    EXPECT_EQ(step.ToString(), text);
  }
  EXPECT_EQ(Parse("Less(0, 1)", values)->type, DT_BOOL);
  EXPECT_EQ(Parse("Cast:bool(0)", values)->type, DT_BOOL);
}

TEST(FusedStepTest, RefusesWhatIsNone) {
  const DataTypeVector values = {DT_FLOAT, DT_HALF, DT_BOOL, DT_INT32};
  EXPECT_THAT(Parse("", values), IsRefused("no operands in parentheses"));
  EXPECT_THAT(Parse("Neg", values), IsRefused("no operands in parentheses"));
  EXPECT_THAT(Parse("Neg(0", values), IsRefused("no operands in parentheses"));
  EXPECT_THAT(Parse("Neg()", values), IsRefused("values before it, 0 to 3"));
  EXPECT_THAT(Parse("Neg(4)", values), IsRefused("values before it, 0 to 3"));
  EXPECT_THAT(Parse("Neg(-1)", values), IsRefused("values before it, 0 to 3"));
  EXPECT_THAT(Parse("Neg(99999999999999999999)", values), IsRefused("values before it"));
  EXPECT_THAT(Parse("Neg(0, 0)", values), IsRefused("it takes 1 operands"));
  EXPECT_THAT(Parse("Neg(2)", values), IsRefused("these types"));
  EXPECT_THAT(Parse("Neg:fast(0)", values), IsRefused("no variants"));
  EXPECT_THAT(Parse("Add(0, 1)", values), IsRefused("these types"));
  EXPECT_THAT(Parse("Add(3, 3)", values), IsRefused("these types"));
  EXPECT_THAT(Parse("MatMul(0, 0)", values), IsRefused("no such op"));
  EXPECT_THAT(Parse("Cast:string(0)", values), IsRefused("a cast of one value"));
  EXPECT_THAT(Parse("Cast:float(0)", values), IsRefused("a cast of one value"));
  EXPECT_THAT(Parse("Cast(0)", values), IsRefused("a cast of one value"));
  EXPECT_THAT(Parse("BiasAdd:NDHWC(0, 0)", values), IsRefused("its layout"));
  EXPECT_THAT(Parse("BiasAdd(0, 1)", values), IsRefused("one type of floats"));
  EXPECT_THAT(Parse("Select(0, 0, 0)", values), IsRefused("a condition"));
  EXPECT_THAT(Parse("Select(2, 0, 1)", values), IsRefused("values of one type"));
  EXPECT_THAT(Parse("Select(2, 3, 3)", values), IsRefused("values of one type"));
  EXPECT_THAT(Parse("AddN(0)", values), IsRefused("2 to 16"));
  EXPECT_THAT(Parse(absl::StrCat("Neg(", std::string(1 << 20, '0'), ")"), values), IsRefused("too long"));
  EXPECT_THAT(Parse("Neg(0)\n}evil", values), IsRefused("no operands in parentheses"));
}

TEST(FusedNodeTest, ReadsWhatItWrites) {
  ASSERT_OK_AND_ASSIGN(const FusedNode node, ReadFusedNode(Def()));
  EXPECT_EQ(node.expression, Node().expression);
  EXPECT_EQ(node.names, Node().names);
}

TEST(FusedNodeTest, RefusesAttributesThatAreNoExpression) {
  const auto with = [](const char* name, const auto& value) {
    tensorflow::NodeDef def = Def();
    SetNodeAttr(name, value, &def);
    return ReadFusedNode(def);
  };
  using Strings = std::vector<std::string>;
  using Integers = std::vector<int64_t>;
  EXPECT_THAT(with("steps", Strings{}), IsRefused("Node 'a' (_FusedElementwise)"));
  EXPECT_THAT(with("steps", Strings(65, "Neg(0)")), IsRefused("at most 16 inputs and 64 steps"));
  EXPECT_THAT(with("steps", Strings{"AddV2(0, 1)", "Relu(3)", "Cast:half(3)"}), IsRefused("values before it"));
  EXPECT_THAT(with("steps", Strings{"AddV2(0, 0)", "Relu(2)", "Cast:half(3)"}), IsRefused("does not use its value 1"));
  EXPECT_THAT(with("steps", Strings{"AddV2(0, 1)", "Relu(2)", "Cast:half(2)"}), IsRefused("does not use its value 3"));
  EXPECT_THAT(with("Tin", DataTypeVector(17, DT_FLOAT)), IsRefused("at most 16 inputs"));
  EXPECT_THAT(with("Tin", DataTypeVector{}), IsRefused("is not a step"));
  EXPECT_THAT(with("Tin", DataTypeVector{DT_STRING, DT_STRING}), IsRefused("these types"));
  EXPECT_THAT(with("Tin", DataTypeVector(2, MakeRef(DT_FLOAT))), IsRefused("these types"));
  EXPECT_THAT(with("Tout", DataTypeVector{DT_FLOAT}), IsRefused("gives half as output 0, not float"));
  EXPECT_THAT(with("Tout", DataTypeVector{}), IsRefused("a type for each output"));
  EXPECT_THAT(with("outputs", Integers{}), IsRefused("1 to 4 outputs"));
  EXPECT_THAT(with("outputs", Integers{4, 4}), IsRefused("1 to 4 outputs"));
  EXPECT_THAT(with("outputs", Integers{-1}), IsRefused("no value -1"));
  EXPECT_THAT(with("outputs", Integers{int64_t{1} << 32}), IsRefused("no value 4294967296"));
  EXPECT_THAT(with("outputs", Integers{0}), IsRefused("results of its steps"));
  EXPECT_THAT(with("outputs", Integers{4, 3}), IsRefused("with a reduction must have one output"));
  EXPECT_THAT(with("nodes", Strings{"x"}), IsRefused("4 names of nodes, not 1"));
  EXPECT_THAT(with("fold", "Argmax"), IsRefused("no reduction 'Argmax'"));
  EXPECT_THAT(with("fold", ""), IsRefused("no axes"));
  EXPECT_THAT(with("axes", Integers(255, 0)), IsRefused("more axes"));
  EXPECT_THAT(with("axes", "last"), IsRefused("axes"));
}

TEST(FusedNodeTest, ABiasIsAnInputOfItsOwn) {
  FusedExpression expression{.inputs = {DT_FLOAT, DT_FLOAT}};
  expression.steps = {*Parse("BiasAdd(0, 1)", expression.inputs)};
  expression.outputs = {2};
  EXPECT_THAT(CheckFusedExpression(expression), IsOk());
  expression.steps.push_back(*Parse("Add(2, 1)", {DT_FLOAT, DT_FLOAT, DT_FLOAT}));
  expression.outputs = {3};
  EXPECT_THAT(CheckFusedExpression(expression), IsRefused("a bias that is not a separate input"));
}

}  // namespace
}  // namespace weir
