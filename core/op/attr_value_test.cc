#include "core/op/attr_value.h"

#include <google/protobuf/text_format.h>

#include "core/op/op_registry.h"
#include "core/testing.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::NodeDef;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

NodeDef ParseNode(const std::string& text) {
  NodeDef node;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &node)) << text;
  return node;
}

template <typename V>
V RoundTrip(const V& value) {
  NodeDef node;
  SetNodeAttr("a", value, &node);
  V back{};
  EXPECT_THAT(GetNodeAttr(node, "a", &back), IsOk());
  return back;
}

TEST(AttrValueTest, ValuesRoundTrip) {
  EXPECT_EQ(RoundTrip(std::string("x\0y", 3)), std::string("x\0y", 3));
  EXPECT_EQ(RoundTrip(int64_t{-5}), -5);
  EXPECT_EQ(RoundTrip(int32_t{7}), 7);
  EXPECT_EQ(RoundTrip(2.5f), 2.5f);
  EXPECT_EQ(RoundTrip(true), true);
  EXPECT_EQ(RoundTrip(DT_HALF), DT_HALF);
  EXPECT_EQ(RoundTrip(TensorShape({2, 3})), TensorShape({2, 3}));
  EXPECT_EQ(RoundTrip(PartialTensorShape()), PartialTensorShape());
  ExpectTensorEqual(RoundTrip(AsTensor<float>({1, 2})), AsTensor<float>({1, 2}));
  EXPECT_THAT(RoundTrip(std::vector<std::string>{"a", "b"}), ElementsAre("a", "b"));
  EXPECT_THAT(RoundTrip(std::vector<bool>{true, false}), ElementsAre(true, false));
  EXPECT_THAT(RoundTrip(DataTypeVector{DT_FLOAT, DT_INT32}), ElementsAre(DT_FLOAT, DT_INT32));
  EXPECT_THAT(RoundTrip(std::vector<int64_t>{}), ElementsAre());
  tensorflow::NameAttrList func;
  func.set_name("f");
  EXPECT_EQ(RoundTrip(func).name(), "f");
}

TEST(AttrValueTest, LiteralsAreStrings) {
  AttrValue value;
  SetAttrValue("abc", &value);
  EXPECT_EQ(value.s(), "abc");
}

TEST(AttrValueTest, GetNamesNodeAndAttribute) {
  NodeDef node = ParseNode("name: 'n' op: 'Foo'");
  int32_t value;
  EXPECT_THAT(
      GetNodeAttr(node, "T", &value),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("No attr named 'T' in NodeDef"), HasSubstr("{{node n}}"))));
  SetNodeAttr("T", "text", &node);
  EXPECT_THAT(GetNodeAttr(node, "T", &value),
              StatusIs(kInvalid, AllOf(HasSubstr("AttrValue had value with type 'string' when 'int' expected"),
                                       HasSubstr("for attr 'T'"))));
  SetNodeAttr("T", int64_t{1} << 40, &node);
  EXPECT_THAT(GetNodeAttr(node, "T", &value), StatusIs(kInvalid, HasSubstr("out of range for an int32")));
}

TEST(AttrValueTest, BadContentsAreErrors) {
  NodeDef node = ParseNode(R"(name: 'n' attr { key: 's' value { shape { dim { size: -2 } } } }
                              attr { key: 't' value { type: DT_INVALID } }
                              attr { key: 'v' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } } }
                              attr { key: 'l' value { list { i: 1 s: 'a' } } })");
  PartialTensorShape shape;
  DataType type;
  Tensor tensor;
  std::vector<int64_t> ints;
  EXPECT_THAT(GetNodeAttr(node, "s", &shape), StatusIs(kInvalid));
  EXPECT_THAT(GetNodeAttr(node, "t", &type), StatusIs(kInvalid));
  EXPECT_THAT(GetNodeAttr(node, "v", &tensor), StatusIs(kInvalid));
  EXPECT_THAT(GetNodeAttr(node, "l", &ints), StatusIs(kInvalid));
}

std::string Parsed(absl::string_view type, absl::string_view text) {
  AttrValue value;
  absl::Status status = ParseAttrValue(type, text, &value);
  return status.ok() ? AttrValueToString(value) : "error";
}

TEST(AttrValueTest, ParsesTensorFlowsText) {
  EXPECT_EQ(Parsed("int", "-3"), "-3");
  EXPECT_EQ(Parsed("string", "'a\\nb'"), "\"a\\nb\"");
  EXPECT_EQ(Parsed("bool", "false"), "false");
  EXPECT_EQ(Parsed("type", "DT_HALF"), "DT_HALF");
  EXPECT_EQ(Parsed("type", "half"), "DT_HALF");
  EXPECT_EQ(Parsed("list(type)", "[DT_FLOAT, int32]"), "[DT_FLOAT, DT_INT32]");
  EXPECT_EQ(Parsed("shape", "{ dim { size: 2 } dim { size: -1 } }"), "[2,?]");
  EXPECT_EQ(Parsed("list(shape)", "[ { dim { size: 2 } }, { unknown_rank: true } ]"), "[[2], <unknown>]");
  EXPECT_EQ(Parsed("list(string)", "['a', 'b']"), "[\"a\", \"b\"]");
  EXPECT_EQ(Parsed("list(float)", "[ ]"), "[]");
  EXPECT_EQ(Parsed("tensor", "{ dtype: DT_INT32 tensor_shape { } int_val: 3 }"), "Tensor<int32[] [3]>");
  for (auto [type, text] : std::vector<std::pair<const char*, const char*>>{{"int", "a"},
                                                                            {"int", ""},
                                                                            {"int", "1 i: 2"},
                                                                            {"int", "[1]"},
                                                                            {"list(int)", "1"},
                                                                            {"list(int)", "[1, 'a']"},
                                                                            {"list(int)", "[1] } func { name: 'f'"},
                                                                            {"bool", "2"},
                                                                            {"type", "DT_NOTHING"},
                                                                            {"shape", "{ dim { size: -7 } }"},
                                                                            {"nonsense", "1"}}) {
    EXPECT_EQ(Parsed(type, text), "error") << type << " " << text;
  }
}

TEST(AttrValueTest, EqualValuesHashEqually) {
  AttrValue a, b;
  for (int i = 0; i < 20; ++i) {
    (*a.mutable_func()->mutable_attr())[std::to_string(i)].set_i(i);
    (*b.mutable_func()->mutable_attr())[std::to_string(19 - i)].set_i(19 - i);
  }
  EXPECT_TRUE(AttrValuesEqual(a, b));
  EXPECT_EQ(HashAttrValue(a), HashAttrValue(b));
  b.mutable_func()->set_name("g");
  EXPECT_FALSE(AttrValuesEqual(a, b));
}

// --- Nodes against ops ---

class NodeDefCheckTest : public ::testing::Test {
 protected:
  NodeDefCheckTest() {
    OpRegistry registry;
    EXPECT_THAT(registry.Register(Op("Foo")
                                      .Input("a: T")
                                      .Input("b: N * int32")
                                      .Output("c: L")
                                      .Output("d: Ref(T)")
                                      .Attr("T: {float, int32}")
                                      .Attr("N: int >= 1 = 1")
                                      .Attr("L: list(type) = [DT_FLOAT]")
                                      .Attr("mode: {'x', 'y'} = 'x'")),
                IsOk());
    op_def_ = *registry.Find("Foo")->op_def;
  }

  // A valid node, with `text` merged in.
  absl::Status Validate(const std::string& text, const std::string& base = "input: ['x', 'y:1', '^z']") {
    NodeDef node = ParseNode("name: 'n' op: 'Foo' " + base);
    SetNodeAttr("T", DT_FLOAT, &node);
    node.MergeFrom(ParseNode(text));
    AddDefaultAttrs(op_def_, &node);
    return ValidateNodeDef(node, op_def_);
  }

  tensorflow::OpDef op_def_;
};

TEST_F(NodeDefCheckTest, AcceptsAGoodNode) {
  EXPECT_THAT(Validate(""), IsOk());
  EXPECT_THAT(Validate("attr { key: '_private' value { i: 1 } }"), IsOk());
  EXPECT_THAT(Validate("attr { key: 'N' value { i: 2 } } input: []", "input: ['x', 'y', 'z']"), IsOk());
  EXPECT_THAT(Validate("attr { key: 'T' value { placeholder: 'T' } }"), IsOk());
}

TEST_F(NodeDefCheckTest, ReportsWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"attr { key: 'T' value { type: DT_STRING } }",
       "Value for attr 'T' of string is not in the list of allowed values: float, int32"},
      {"attr { key: 'N' value { i: 0 } }", "Value for attr 'N' of 0 must be at least minimum 1"},
      {"attr { key: 'L' value { list { } } }", "Length for attr 'L' of 0 must be at least minimum 1"},
      {"attr { key: 'mode' value { s: 'z' } }", "Value for attr 'mode' of \"z\" is not in the list of allowed values"},
      {"attr { key: 'mode' value { i: 1 } }", "AttrValue had value with type 'int' when 'string' expected"},
      {"attr { key: 'mode' value { } }", "AttrValue missing value with expected type 'string'"},
      {"attr { key: 'other' value { i: 1 } }", "NodeDef mentions attr 'other' not in Op<name=Foo"},
      {"attr { key: 'N' value { i: 2 } }",
       "NodeDef expected inputs 'float, int32, int32' do not match 2 inputs specified; Op<name=Foo"},
      {"attr { key: 'N' value { i: 1000000000000 } }", "is not between 0 and"},
      {"input: 'late'", "Non-control input 'late' after control input"},
      {"input: 'a b'", "Illegal op input name 'a b'"},
      {"input: '^'", "Illegal op input name '^'"},
      {"op: 'Bar'", "NodeDef op 'Bar' does not match Op<name=Foo"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Validate(text), StatusIs(kInvalid, HasSubstr(message))) << text;
  }
}

TEST_F(NodeDefCheckTest, NamesMissingAttributes) {
  NodeDef node = ParseNode("name: 'n' op: 'Foo' input: ['x', 'y']");
  AddDefaultAttrs(op_def_, &node);
  EXPECT_THAT(ValidateNodeDef(node, op_def_),
              StatusIs(kInvalid, AllOf(HasSubstr("NodeDef missing attr 'T' from Op<name=Foo; signature="),
                                       HasSubstr("{{node n}}"))));
  node.mutable_attr()->erase("N");
  EXPECT_THAT(ValidateNodeDef(node, op_def_), StatusIs(kInvalid, HasSubstr("NodeDef missing attrs 'T', 'N' from")));
}

TEST_F(NodeDefCheckTest, DefaultsDoNotReplaceWhatIsThere) {
  NodeDef node;
  SetNodeAttr("N", int64_t{5}, &node);
  AddDefaultAttrs(op_def_, &node);
  EXPECT_EQ(node.attr().at("N").i(), 5);
  EXPECT_EQ(node.attr().at("mode").s(), "x");
  EXPECT_EQ(node.attr().count("T"), 0u);
}

TEST_F(NodeDefCheckTest, ExpandsTypes) {
  NodeDef node = ParseNode(
      "attr { key: 'N' value { i: 2 } } attr { key: 'T' value { type: DT_INT32 } }"
      "attr { key: 'L' value { list { type: [DT_FLOAT, DT_BOOL] } } }");
  DataTypeVector inputs, outputs;
  ASSERT_THAT(InOutTypesForNode(node, op_def_, &inputs, &outputs), IsOk());
  EXPECT_EQ(DataTypeListName(inputs), "int32, int32, int32");
  EXPECT_EQ(DataTypeListName(outputs), "float, bool, int32_ref");
}

TEST_F(NodeDefCheckTest, SummaryIsReadable) {
  NodeDef node = ParseNode("name: 'n' op: 'Foo' device: '/cpu:0' input: ['x', '^y']");
  SetNodeAttr("T", DT_FLOAT, &node);
  SetNodeAttr("N", int64_t{2}, &node);
  EXPECT_EQ(SummarizeNodeDef(node), "{{node n}} = Foo[N=2, T=DT_FLOAT] device=/cpu:0(x, ^y)");
}

}  // namespace
}  // namespace weir
