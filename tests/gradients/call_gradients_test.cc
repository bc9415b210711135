// Gradients through calls of functions, and control flow by functions.
#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/kernel/op_kernel_testing.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/function_library.h"
#include "graph/gradients/gradient_builder.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// The parts that the functions below share. A loop's state: a counter i, a double x, and s of some type.
std::string LoopSignature(const std::string& name, const std::string& type, const std::string& results) {
  return absl::Substitute(R"(
    signature { name: "$0" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_DOUBLE }
                input_arg { name: "s" type: $1 } $2 })",
                          name, type, results);
}

std::string ConstNode(const std::string& name, const std::string& dtype, const std::string& value) {
  return absl::Substitute(R"(
    node_def { name: "$0" op: "Const" attr { key: "dtype" value { type: $1 } }
               attr { key: "value" value { tensor { dtype: $1 tensor_shape {} $2 } } } })",
                          name, dtype, value);
}

// name(i, x, s) = i < 3.
std::string MoreFunction(const std::string& name, const std::string& type) {
  return absl::StrCat("function {", LoopSignature(name, type, R"(output_arg { name: "b" type: DT_BOOL })"),
                      ConstNode("limit", "DT_INT32", "int_val: 3"), R"(
    node_def { name: "less" op: "Less" input: "i" input: "limit:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "b" value: "less:z:0" } })");
}

// name(i, x, s) = (i + 1, u, t), where `nodes` compute u and t.
std::string StepFunction(const std::string& name, const std::string& type, const std::string& nodes,
                         const std::string& u, const std::string& t) {
  const std::string results = absl::Substitute(
      R"(output_arg { name: "j" type: DT_INT32 } output_arg { name: "u" type: DT_DOUBLE }
         output_arg { name: "t" type: $0 })",
      type);
  return absl::StrCat("function {", LoopSignature(name, type, results), ConstNode("one", "DT_INT32", "int_val: 1"),
                      R"(
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } })",
                      nodes,
                      absl::Substitute(R"(
    ret { key: "j" value: "next:z:0" } ret { key: "u" value: "$0" } ret { key: "t" value: "$1" } })",
                                       u, t));
}

std::string LoopNode(const std::string& counter, const std::string& s) {
  return absl::Substitute(R"(
    node_def { name: "loop" op: "While" input: "$0" input: "x" input: "$1"
               attr { key: "T" value { list { type: DT_INT32 type: DT_DOUBLE type: DT_DOUBLE } } }
               attr { key: "cond" value { func { name: "More" } } }
               attr { key: "body" value { func { name: "Step" } } }
               attr { key: "_lower_using_switch_merge" value { b: true } } })",
                          counter, s);
}

// Of doubles: Product(x, y) = x y, Wave(x, y) = sin(x), ThreeSteps; of a counter and them: More and Step(i, x, y) =
// (i + 1, x y, y); loops of such loops, of lists and of variables.
std::string Library() {
  return absl::StrCat(
      R"(
  function {
    signature { name: "Product" input_arg { name: "x" type: DT_DOUBLE } input_arg { name: "y" type: DT_DOUBLE }
                output_arg { name: "z" type: DT_DOUBLE } }
    node_def { name: "m" op: "Mul" input: "x" input: "y" attr { key: "T" value { type: DT_DOUBLE } } }
    ret { key: "z" value: "m:z:0" } }
  function {
    signature { name: "Wave" input_arg { name: "x" type: DT_DOUBLE } input_arg { name: "y" type: DT_DOUBLE }
                output_arg { name: "z" type: DT_DOUBLE } }
    node_def { name: "s" op: "Sin" input: "x" attr { key: "T" value { type: DT_DOUBLE } } }
    ret { key: "z" value: "s:y:0" } }
  function {
    signature { name: "ThreeSteps" input_arg { name: "x" type: DT_DOUBLE } input_arg { name: "y" type: DT_DOUBLE }
                output_arg { name: "z" type: DT_DOUBLE } })",
      ConstNode("zero", "DT_INT32", "int_val: 0"), LoopNode("zero:output:0", "y"), R"(
    ret { key: "z" value: "loop:output:1" } }
  function {
    signature { name: "FirstOfThree" input_arg { name: "x" type: DT_DOUBLE } input_arg { name: "y" type: DT_DOUBLE }
                input_arg { name: "dz" type: DT_DOUBLE } output_arg { name: "dx" type: DT_DOUBLE }
                output_arg { name: "dy" type: DT_DOUBLE } }
    ret { key: "dx" value: "x" } ret { key: "dy" value: "y" } })",
      MoreFunction("More", "DT_DOUBLE"), MoreFunction("MoreOfList", "DT_VARIANT"),
      MoreFunction("MoreOfVariable", "DT_RESOURCE"),
      StepFunction("Step", "DT_DOUBLE", R"(
    node_def { name: "m" op: "Mul" input: "x" input: "s" attr { key: "T" value { type: DT_DOUBLE } } })",
                   "m:z:0", "s"),
      StepFunction("StepOfSteps", "DT_DOUBLE", LoopNode("i", "s") + R"(
    node_def { name: "sine" op: "Sin" input: "loop:output:1" attr { key: "T" value { type: DT_DOUBLE } } })",
                   "sine:y:0", "s"),
      StepFunction("StepOfList", "DT_VARIANT", R"(
    node_def { name: "push" op: "TensorListPushBack" input: "s" input: "x"
               attr { key: "element_dtype" value { type: DT_DOUBLE } } }
    node_def { name: "double" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_DOUBLE } } })",
                   "double:z:0", "push:output_handle:0"),
      StepFunction("StepOfVariable", "DT_RESOURCE", ConstNode("unit", "DT_DOUBLE", "double_val: 1") + R"(
    node_def { name: "add" op: "AssignAddVariableOp" input: "s" input: "unit:output:0"
               attr { key: "dtype" value { type: DT_DOUBLE } } }
    node_def { name: "read" op: "ReadVariableOp" input: "s" input: "^add"
               attr { key: "dtype" value { type: DT_DOUBLE } } }
    node_def { name: "m" op: "Mul" input: "x" input: "read:value:0" attr { key: "T" value { type: DT_DOUBLE } } })",
                   "m:z:0", "s"));
}

tensorflow::NameAttrList Function(const std::string& name) {
  tensorflow::NameAttrList function;
  function.set_name(name);
  return function;
}

class CallGradientsTest : public ::testing::Test {
 protected:
  CallGradientsTest() {
    tensorflow::FunctionDefLibrary library;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(Library(), &library));
    EXPECT_THAT(scope_.graph()->mutable_functions()->AddLibrary(library), IsOk());
  }
  // Control flow is run as Switch and Merge.
  Operation Call(const std::string& op, const std::vector<InputList>& inputs, tensorflow::NodeDef attrs) {
    attrs.set_op(op);
    SetNodeAttr("_lower_using_switch_merge", true, &attrs);
    return scope_.AddOp(std::move(attrs), inputs);
  }
  const std::vector<DataType> one_ = {DT_DOUBLE};
  Scope scope_ = Scope::NewRoot();
};

// Against central differences.
class NumericCallGradientsTest : public CallGradientsTest {
 protected:
  std::vector<Output> Check(const std::vector<Output>& ys) {
    EXPECT_THAT(scope_.status(), IsOk());
    std::vector<Output> gradients = CheckGradients(
        scope_, xs_,
        {RandomTensor(DT_DOUBLE, TensorShape({3}), -1, 1, 1), RandomTensor(DT_DOUBLE, TensorShape({3}), -1, 1, 2)}, ys);
    EXPECT_TRUE(gradients[0].valid());
    return gradients;
  }
  // The second order too: of a gradient that depends on x.
  void CheckTwice(const Output& y) {
    Output squared = Output(scope_.AddOp(Op("Square"), {{y}}), 0);
    Check({Check({squared})[0]});
  }
  static tensorflow::NodeDef Op(const char* name) {
    tensorflow::NodeDef def;
    def.set_op(name);
    return def;
  }
  Output If(const std::string& op, bool taken, const std::string& then_branch, const std::string& else_branch) {
    tensorflow::NodeDef attrs;
    SetNodeAttr("then_branch", Function(then_branch), &attrs);
    SetNodeAttr("else_branch", Function(else_branch), &attrs);
    SetNodeAttr("Tout", one_, &attrs);
    return Output(Call(op, {{Tensor::Scalar<bool>(taken)}, {xs_[0], xs_[1]}}, attrs), 0);
  }
  Output While(const std::string& op, const std::string& body) {
    tensorflow::NodeDef attrs;
    SetNodeAttr("cond", Function("More"), &attrs);
    SetNodeAttr("body", Function(body), &attrs);
    return Output(Call(op, {{Tensor::Scalar<int32_t>(0), xs_[0], xs_[1]}}, attrs), 1);
  }

  const std::vector<Output> xs_ = {Argument(scope_, 0, DT_DOUBLE), Argument(scope_, 1, DT_DOUBLE)};
};

TEST_F(NumericCallGradientsTest, AFunctionByItsName) {
  tensorflow::NodeDef def;
  def.set_op("Product");
  def.set_name("product");
  ASSERT_OK_AND_ASSIGN(Node * node, scope_.graph()->AddNode(std::move(def)));
  for (int i : {0, 1}) ASSERT_THAT(scope_.graph()->AddEdge(xs_[i].node(), 0, node, i).status(), IsOk());
  CheckTwice(Output(node, 0));
}

TEST_F(NumericCallGradientsTest, PartitionedCall) {
  for (const char* op : {"PartitionedCall", "StatefulPartitionedCall"}) {
    tensorflow::NodeDef attrs;
    SetNodeAttr("f", Function("Product"), &attrs);
    SetNodeAttr("Tout", one_, &attrs);
    CheckTwice(Output(Call(op, {{xs_[0], xs_[1]}}, attrs), 0));
  }
}

TEST_F(NumericCallGradientsTest, RemoteCall) {
  tensorflow::NodeDef attrs;
  SetNodeAttr("f", Function("Product"), &attrs);
  SetNodeAttr("Tout", one_, &attrs);
  CheckTwice(Output(Call("RemoteCall", {{"/cpu:0"}, {xs_[0], xs_[1]}}, attrs), 0));
}

TEST_F(NumericCallGradientsTest, SymbolicGradient) {
  tensorflow::NodeDef attrs;
  SetNodeAttr("f", Function("Product"), &attrs);
  SetNodeAttr("Tout", std::vector<DataType>{DT_DOUBLE, DT_DOUBLE}, &attrs);
  CheckTwice(Output(Call("SymbolicGradient", {{xs_[0], xs_[1], xs_[0]}}, attrs), 0));
}

TEST_F(NumericCallGradientsTest, If) {
  for (const char* op : {"If", "StatelessIf"}) {
    for (const bool taken : {true, false}) CheckTwice(If(op, taken, "Product", "Wave"));
  }
}

TEST_F(NumericCallGradientsTest, Case) {
  for (const char* op : {"Case", "StatelessCase"}) {
    for (const int32_t branch : {0, 1}) {
      tensorflow::NodeDef attrs;
      SetNodeAttr("branches", std::vector<tensorflow::NameAttrList>{Function("Product"), Function("Wave")}, &attrs);
      SetNodeAttr("Tout", one_, &attrs);
      CheckTwice(Output(Call(op, {{Tensor::Scalar<int32_t>(branch)}, {xs_[0], xs_[1]}}, attrs), 0));
    }
  }
}

TEST_F(NumericCallGradientsTest, While) {
  for (const char* op : {"While", "StatelessWhile"}) CheckTwice(While(op, "Step"));
}

TEST_F(NumericCallGradientsTest, ControlFlowNests) {
  CheckTwice(While("While", "StepOfSteps"));
  CheckTwice(If("If", true, "ThreeSteps", "Wave"));
}

// Each iteration appends to the list and doubles what it appends.
TEST_F(NumericCallGradientsTest, AListGoesRound) {
  const Input unknown = Tensor::Scalar<int32_t>(-1);
  tensorflow::NodeDef empty = Op("EmptyTensorList"), stack = Op("TensorListStack"), attrs;
  SetNodeAttr("element_dtype", DT_DOUBLE, &empty);
  SetNodeAttr("element_dtype", DT_DOUBLE, &stack);
  const Output list(scope_.AddOp(std::move(empty), {{unknown}, {unknown}}), 0);
  SetNodeAttr("cond", Function("MoreOfList"), &attrs);
  SetNodeAttr("body", Function("StepOfList"), &attrs);
  const Operation loop = Call("While", {{Tensor::Scalar<int32_t>(0), xs_[0], list}}, attrs);
  CheckTwice(Output(scope_.AddOp(std::move(stack), {{Output(loop, 2)}, {unknown}}), 0));
}

// Three times: adds 1 to a variable, which was 0, and multiplies by it.
class EffectsTest : public CallGradientsTest {
 protected:
  EffectsTest() {
    tensorflow::NodeDef attrs;
    SetNodeAttr("cond", Function("MoreOfVariable"), &attrs);
    SetNodeAttr("body", Function("StepOfVariable"), &attrs);
    const Operation loop = Call("While", {{Tensor::Scalar<int32_t>(0), x_, variable_}}, attrs);
    y_ = Output(loop, 1);
  }
  absl::StatusOr<std::vector<Gradient>> Differentiate() {
    return AddGradients({y_}, {x_, variable_}, {}, scope_.graph());
  }
  const Output x_ = scope_.Constant(AsTensor<double>({2, 3}));
  const Output variable_ = ops::VarHandleOp(scope_, DT_DOUBLE, TensorShape());
  const Operation zero_ = ops::AssignVariableOp(scope_, variable_, 0.0);
  const Output read_ = ops::ReadVariableOp(scope_, variable_, DT_DOUBLE);
  Output y_;
};

TEST_F(EffectsTest, HappenOnce) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients, Differentiate());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({zero_}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session->Run({y_, gradients[0].values, gradients[1].values}));
  ExpectTensorEqual(values[0], AsTensor<double>({12, 18}));
  ExpectTensorEqual(values[1], AsTensor<double>({6, 6}));
  ExpectTensorEqual(values[2], AsScalar<double>(5 * (6 + 3 + 2)));  // each of the three factors left out
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> after, session->Run({read_}));
  ExpectTensorEqual(after[0], AsScalar<double>(3));
}

TEST_F(EffectsTest, ASessionThatKnowsTheCallCannotGoOn) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({zero_}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients, Differentiate());
  EXPECT_THAT(session->Run({gradients[0].values}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("create a new session")));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> later, Session::Local(scope_));
  ASSERT_THAT(later->RunTargets({zero_}), IsOk());
  const Output twice = ops::Mul(scope_, gradients[0].values, 2.0);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, later->Run({twice}));
  ExpectTensorEqual(values[0], AsTensor<double>({12, 12}));
}

// The library's gradient of a function is taken, not that of its body.
TEST_F(CallGradientsTest, AFunctionWithAGradientOfItsOwn) {
  ASSERT_THAT(scope_.graph()->mutable_functions()->AddGradient("Product", "FirstOfThree"), IsOk());
  const Output x = scope_.Constant(AsScalar<double>(2)), y = scope_.Constant(AsScalar<double>(3));
  for (const char* op : {"PartitionedCall", "StatefulPartitionedCall"}) {
    tensorflow::NodeDef attrs;
    SetNodeAttr("f", Function("Product"), &attrs);
    SetNodeAttr("Tout", one_, &attrs);
    const Output z(Call(op, {{x, y}}, attrs), 0);
    ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients, AddGradients({z}, {y}, {}, scope_.graph()));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope_));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session->Run({gradients[0].values}));
    ExpectTensorEqual(values[0], AsScalar<double>(3));
  }
}

// Again(x, y) = if x < 0 then x y else Again(x, y).
TEST_F(CallGradientsTest, RecursionIsRefused) {
  tensorflow::FunctionDef again;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    signature { name: "Again" input_arg { name: "x" type: DT_DOUBLE } input_arg { name: "y" type: DT_DOUBLE }
                output_arg { name: "z" type: DT_DOUBLE } }
    node_def { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_DOUBLE } }
               attr { key: "value" value { tensor { dtype: DT_DOUBLE tensor_shape {} double_val: 0 } } } }
    node_def { name: "less" op: "Less" input: "x" input: "zero:output:0" attr { key: "T" value { type: DT_DOUBLE } } }
    node_def { name: "if" op: "StatelessIf" input: "less:z:0" input: "x" input: "y"
               attr { key: "Tcond" value { type: DT_BOOL } }
               attr { key: "Tin" value { list { type: DT_DOUBLE type: DT_DOUBLE } } }
               attr { key: "Tout" value { list { type: DT_DOUBLE } } }
               attr { key: "then_branch" value { func { name: "Product" } } }
               attr { key: "else_branch" value { func { name: "Again" } } } }
    ret { key: "z" value: "if:output:0" })",
                                                            &again));
  ASSERT_THAT(scope_.graph()->mutable_functions()->Add(again), IsOk());
  const Output x = scope_.Constant(AsScalar<double>(-2)), y = scope_.Constant(AsScalar<double>(5));
  tensorflow::NodeDef attrs;
  SetNodeAttr("f", Function("Again"), &attrs);
  SetNodeAttr("Tout", one_, &attrs);
  const Output z(Call("PartitionedCall", {{x, y}}, attrs), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients, AddGradients({z}, {x, y}, {}, scope_.graph()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope_));
  EXPECT_THAT(session->Run({gradients[0].values}).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("functions that call themselves")));
}

}  // namespace
}  // namespace weir
