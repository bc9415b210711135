// Functions of the graph: called, chosen, repeated, recursive.
#include <google/protobuf/text_format.h>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/variables.h"
#include "graph/function_library.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Int32 functions: Twice(x) = x + x, FourTimes(x) = Twice(Twice(x)), Less100(x, y) = x < 100,
// Step(x, y) = (2 x, y + 1), Fails(x) = 1 / 0 in a node "quotient"; Bump(v, d): v += d, then v's value, in float.
constexpr char kLibrary[] = R"(
  function {
    signature { name: "Twice" input_arg { name: "x" type: DT_INT32 } output_arg { name: "y" type: DT_INT32 } }
    node_def { name: "sum" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "y" value: "sum:z:0" } }
  function {
    signature { name: "FourTimes" input_arg { name: "x" type: DT_INT32 } output_arg { name: "y" type: DT_INT32 } }
    node_def { name: "a" op: "Twice" input: "x" }
    node_def { name: "b" op: "Twice" input: "a:y:0" }
    ret { key: "y" value: "b:y:0" } }
  function {
    signature { name: "Less100" input_arg { name: "x" type: DT_INT32 } input_arg { name: "y" type: DT_INT32 }
                output_arg { name: "b" type: DT_BOOL } }
    node_def { name: "limit" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 100 } } } }
    node_def { name: "less" op: "Less" input: "x" input: "limit:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "b" value: "less:z:0" } }
  function {
    signature { name: "Step" input_arg { name: "x" type: DT_INT32 } input_arg { name: "y" type: DT_INT32 }
                output_arg { name: "u" type: DT_INT32 } output_arg { name: "v" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
    node_def { name: "double" op: "Twice" input: "x" }
    node_def { name: "count" op: "AddV2" input: "y" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "u" value: "double:y:0" } ret { key: "v" value: "count:z:0" } }
  function {
    signature { name: "Fails" input_arg { name: "x" type: DT_INT32 } output_arg { name: "y" type: DT_INT32 } }
    node_def { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
    node_def { name: "quotient" op: "FloorDiv" input: "x" input: "zero:output:0"
               attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "y" value: "quotient:z:0" } }
  function {
    signature { name: "Bump" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "d" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
    node_def { name: "add" op: "AssignAddVariableOp" input: "v" input: "d"
               attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "read" op: "ReadVariableOp" input: "v" input: "^add"
               attr { key: "dtype" value { type: DT_FLOAT } } }
    ret { key: "y" value: "read:value:0" } })";

tensorflow::NameAttrList Function(const std::string& name) {
  tensorflow::NameAttrList function;
  function.set_name(name);
  return function;
}

class FunctionCallTest : public SessionSuite {
 protected:
  void SetUp() override {
    SessionSuite::SetUp();
    tensorflow::FunctionDefLibrary library;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kLibrary, &library));
    ASSERT_THAT(scope_.graph()->mutable_functions()->AddLibrary(library), IsOk());
  }

  const Output x_ = ops::Placeholder(scope_.WithName("x"), DT_INT32);
};
WEIR_SESSION_SUITE(FunctionCallTest);

TEST_P(FunctionCallTest, CallsNest) {
  for (int device = 0; device < 2; ++device) {
    const Output y = ops::PartitionedCall(On(device), {x_}, {DT_INT32}, Function("FourTimes"))[0];
    ExpectTensorEqual(Run({{x_, AsScalar<int32_t>(5)}}, {ops::Neg(On(0), y)})[0], AsScalar<int32_t>(-20));
  }
}

TEST_P(FunctionCallTest, IfTakesOneBranch) {
  const Output choice = ops::Placeholder(On(0), DT_BOOL);
  const Output y = ops::If(On(1), choice, {x_}, {DT_INT32}, Function("Twice"), Function("Fails"))[0];
  ExpectTensorEqual(Run({{x_, AsScalar<int32_t>(5)}, {choice, AsScalar<bool>(true)}}, {y})[0], AsScalar<int32_t>(10));
  EXPECT_THAT(ErrorOf({{x_, AsScalar<int32_t>(5)}, {choice, AsScalar<bool>(false)}}, {y}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(FunctionCallTest, WhileRepeats) {
  const OutputList last = ops::While(On(1), {x_, On(0).Constant(0)}, Function("Less100"), Function("Step"));
  for (const auto& [x, power, steps] : {std::tuple(3, 192, 6), std::tuple(200, 200, 0)}) {
    const auto result = Run({{x_, AsScalar<int32_t>(x)}}, last);
    ExpectTensorEqual(result[0], AsScalar<int32_t>(power));
    ExpectTensorEqual(result[1], AsScalar<int32_t>(steps));
  }
}

TEST_P(FunctionCallTest, StatelessFormsAgree) {
  const OutputList last = ops::StatelessWhile(On(0), {x_, On(0).Constant(0)}, Function("Less100"), Function("Step"));
  const Output y =
      ops::StatelessIf(On(1), ops::Less(On(0), x_, 10), {x_}, {DT_INT32}, Function("Twice"), Function("FourTimes"))[0];
  const auto result = Run({{x_, AsScalar<int32_t>(60)}}, {last[1], y});
  ExpectTensorEqual(result[0], AsScalar<int32_t>(1));
  ExpectTensorEqual(result[1], AsScalar<int32_t>(240));
}

TEST_P(FunctionCallTest, AFunctionUpdatesAVariable) {
  const auto v = ResourceVariable::Make(On(1).WithName("v"), TensorShape(), DT_FLOAT, initializers::Zeros());
  const Output y =
      ops::StatefulPartitionedCall(On(1), {v.handle(), On(0).Constant(2.5f)}, {DT_FLOAT}, Function("Bump"))[0];
  for (int i = 1; i <= 3; ++i) ExpectTensorEqual(Fetch(y), AsScalar<float>(2.5f * static_cast<float>(i)));
}

TEST_P(FunctionCallTest, AnErrorInsideNamesTheInnerNode) {
  const Output y = ops::PartitionedCall(On(1).WithName("call"), {x_}, {DT_INT32}, Function("Fails"))[0];
  EXPECT_THAT(ErrorOf({{x_, AsScalar<int32_t>(5)}}, {y}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("quotient")));
}

TEST_P(FunctionCallTest, FunctionsMayComeLater) {
  ExpectTensorEqual(Run({{x_, AsScalar<int32_t>(5)}}, {ops::Neg(On(0), x_)})[0], AsScalar<int32_t>(-5));
  tensorflow::FunctionDef thrice;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    signature { name: "Thrice" input_arg { name: "x" type: DT_INT32 } output_arg { name: "y" type: DT_INT32 } }
    node_def { name: "a" op: "Twice" input: "x" }
    node_def { name: "b" op: "AddV2" input: "a:y:0" input: "x" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "y" value: "b:z:0" })",
                                                            &thrice));
  ASSERT_THAT(scope_.graph()->mutable_functions()->Add(thrice), IsOk());
  const Output y = ops::PartitionedCall(On(1), {x_}, {DT_INT32}, Function("Thrice"))[0];
  ExpectTensorEqual(Run({{x_, AsScalar<int32_t>(5)}}, {y})[0], AsScalar<int32_t>(15));
}

}  // namespace
}  // namespace weir
