#include "core/op/op_registry.h"

#include "core/op/op_spec.h"
#include "core/testing.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using tensorflow::OpDef;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpDef Define(const Op& op) {
  OpRegistry registry;
  EXPECT_THAT(registry.Register(op), IsOk());
  const OpRegistration* found = registry.Find("Test");
  return found ? *found->op_def : OpDef();
}

OpDef::AttrDef DefineAttr(const std::string& spec) {
  OpDef def = Define(Op("Test").Attr(spec));
  return def.attr_size() == 1 ? def.attr(0) : OpDef::AttrDef();
}

TEST(OpSpecTest, Arguments) {
  const OpDef def = Define(Op("Test")
                               .Attr("T: type")
                               .Attr("N: int")
                               .Attr("L: list(type)")
                               .Input("a: T")
                               .Input("b: N * T")
                               .Input("c: L")
                               .Input("d: Ref(T)")
                               .Input("e: N*int32")
                               .Output("f: string"));
  EXPECT_EQ(def.input_arg(0).type_attr(), "T");
  EXPECT_EQ(def.input_arg(1).number_attr(), "N");
  EXPECT_EQ(def.input_arg(1).type_attr(), "T");
  EXPECT_EQ(def.input_arg(2).type_list_attr(), "L");
  EXPECT_TRUE(def.input_arg(3).is_ref());
  EXPECT_EQ(def.input_arg(4).type(), tensorflow::DT_INT32);
  EXPECT_EQ(def.output_arg(0).type(), tensorflow::DT_STRING);
  EXPECT_EQ(def.attr(1).minimum(), 1);  // a list has at least one element
  EXPECT_EQ(def.attr(2).minimum(), 1);
  EXPECT_FALSE(def.is_stateful());
  EXPECT_EQ(SummarizeOpDef(def),
            "Op<name=Test; signature=a:T, b:N*T, c:L, d:Ref(T), e:N*int32 -> f:string; attr=T:type; attr=N:int,min=1; "
            "attr=L:list(type),min=1>");
}

TEST(OpSpecTest, AResourceMakesAnOpStateful) { EXPECT_TRUE(Define(Op("Test").Input("r: resource")).is_stateful()); }

TEST(OpSpecTest, Attributes) {
  EXPECT_EQ(DefineAttr("n: int >= -1 = 3").default_value().i(), 3);
  EXPECT_EQ(DefineAttr("n: int >= -1 = 3").minimum(), -1);
  EXPECT_EQ(DefineAttr("s: string = ''").default_value().s(), "");
  EXPECT_EQ(DefineAttr("f: float = 1e-3").default_value().f(), 1e-3f);
  EXPECT_TRUE(DefineAttr("b: bool = true").default_value().b());
  EXPECT_EQ(DefineAttr("t: type = DT_INT64").default_value().type(), tensorflow::DT_INT64);
  EXPECT_EQ(DefineAttr("t: {float, int64} = DT_INT64").default_value().type(), tensorflow::DT_INT64);
  EXPECT_TRUE(DefineAttr("s: shape = { unknown_rank: true }").default_value().shape().unknown_rank());
  EXPECT_EQ(DefineAttr("s: list(shape) >= 0 = []").default_value().value_case(), tensorflow::AttrValue::kList);
  EXPECT_THAT(DefineAttr("l: list(int) = [1, 2]").default_value().list().i(), ElementsAre(1, 2));
  EXPECT_EQ(DefineAttr("l: list(int) >= 2 = [1, 2]").minimum(), 2);
  EXPECT_THAT(DefineAttr("m: {'a', \"b\"} = 'a'").allowed_values().list().s(), ElementsAre("a", "b"));
  EXPECT_EQ(DefineAttr("m: list({float, int32})").type(), "list(type)");
  EXPECT_EQ(DefineAttr("f: func").type(), "func");
  EXPECT_EQ(DefineAttr("t: tensor").type(), "tensor");
}

// The orders are those of TensorFlow's own OpDefs (Sum, Max, AddN, QuantizeV2).
TEST(OpSpecTest, NamedTypeSetsKeepTensorFlowsOrder) {
  EXPECT_THAT(NamedTypeSet("numbertype"),
              ElementsAre(1, 2, 3, 4, 5, 6, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 23));
  EXPECT_THAT(NamedTypeSet("realnumbertype"), ElementsAre(1, 2, 3, 4, 5, 6, 9, 14, 17, 19, 22, 23));
  EXPECT_THAT(NamedTypeSet("quantizedtype"), ElementsAre(11, 12, 13, 15, 16));
  EXPECT_THAT(DefineAttr("T: {realnumbertype, quantizedtype}").allowed_values().list().type(),
              ElementsAre(1, 2, 3, 4, 5, 6, 9, 14, 17, 19, 22, 23, 11, 12, 13, 15, 16));
  EXPECT_EQ(DefineAttr("T: numbertype").allowed_values().list().type_size(), 19);
  EXPECT_EQ(DefineAttr("T: numerictype").type(), "type");
}

TEST(OpSpecTest, MalformedSpecificationsAreErrors) {
  for (const char* spec : {"",
                           "T",
                           "T type",
                           ": type",
                           "T: nosuchtype",
                           "T: {}",
                           "T: {float",
                           "T: {float 'a'}",
                           "T: {float, 'a'}",
                           "n: int >= x",
                           "n: int = x",
                           "n: int = 3 4",
                           "n: int 3",
                           "l: list(int",
                           "l: list(int) = 3",
                           "f: float >= 3",
                           "s: string = 'a",
                           "9: int",
                           "t: type = DT_NONE",
                           "n: int >= 2 = 1",
                           "T: {float} = DT_INT32",
                           "m: {'a'} = 'b'"}) {
    OpRegistry registry;
    EXPECT_THAT(registry.Register(Op("Test").Attr(spec)), StatusIs(kInvalid)) << spec;
  }
  for (const char* spec : {"", "a", "a float", "A: float", "a: nosuchtype", "a: Ref(float", "a: float int", "a: N",
                           "a: T * T", "a: N * L", "a: N *", "a: M * float", "a: float_ref"}) {
    OpRegistry registry;
    EXPECT_THAT(registry.Register(Op("Test").Attr("N: int").Attr("T: type").Attr("L: list(type)").Input(spec)),
                StatusIs(kInvalid))
        << spec;
  }
}

TEST(OpRegistryTest, DuplicatesAreErrors) {
  OpRegistry registry;
  ASSERT_THAT(registry.Register(Op("Test")), IsOk());
  EXPECT_THAT(registry.Register(Op("Test")), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("Test")));
  EXPECT_THAT(registry.Register(Op("A").Attr("x: int").Attr("x: int")), StatusIs(kInvalid));
  EXPECT_THAT(registry.Register(Op("B").Input("x: int32").Input("x: int32")), StatusIs(kInvalid));
  EXPECT_THAT(registry.Register(Op("")), StatusIs(kInvalid));
}

TEST(OpRegistryTest, TraitsAreFactsOfARegistration) {
  OpRegistry registry;
  ASSERT_THAT(registry.Register(Op("Dequeue").MayBlock()), IsOk());
  ASSERT_THAT(registry.Register(Op("Neg").Elementwise()), IsOk());
  ASSERT_THAT(registry.Register(Op("If").Attr("then_branch: func")), IsOk());
  ASSERT_THAT(registry.Register(Op("Case").Attr("branches: list(func) >= 1")), IsOk());
  EXPECT_TRUE(registry.Find("Dequeue")->may_block);
  EXPECT_TRUE(registry.Find("Neg")->elementwise);
  for (const char* name : {"If", "Case"}) EXPECT_TRUE(registry.Find(name)->has_functions) << name;
  EXPECT_FALSE(registry.Find("Neg")->may_block);
  EXPECT_FALSE(registry.Find("Dequeue")->elementwise);
  EXPECT_FALSE(registry.Find("Dequeue")->has_functions);
}

TEST(OpRegistryTest, LookUpNamesWhatIsMissing) {
  OpRegistry registry;
  ASSERT_THAT(registry.Register(Op("B").Stateful().Commutative().Deprecated(8, "Use C")), IsOk());
  ASSERT_THAT(registry.Register(Op("A")), IsOk());
  EXPECT_EQ(registry.LookUp("B").value()->deprecation().version(), 8);
  EXPECT_TRUE(registry.LookUp("B").value()->is_commutative());
  EXPECT_EQ(registry.All()[0]->op_def->name(), "A");
  EXPECT_THAT(registry.LookUp("Foo"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("Op type not registered 'Foo' in binary running on ")));
}

}  // namespace
}  // namespace weir
