// Gradients through calls of functions, and control flow by functions.
#include <google/protobuf/text_format.h>

#include "client/session.h"
#include "core/attr_value.h"
#include "core/op_kernel_testing.h"
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

// Of doubles: Product(x, y) = x y, Wave(x, y) = sin(x); of a counter and them: More(i, x, y) = i < 3,
// Step(i, x, y) = (i + 1, x y, y).
constexpr char kLibrary[] = R"(
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
    signature { name: "More" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_DOUBLE }
                input_arg { name: "y" type: DT_DOUBLE } output_arg { name: "b" type: DT_BOOL } }
    node_def { name: "limit" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 3 } } } }
    node_def { name: "less" op: "Less" input: "i" input: "limit:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "b" value: "less:z:0" } }
  function {
    signature { name: "Step" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_DOUBLE }
                input_arg { name: "y" type: DT_DOUBLE } output_arg { name: "j" type: DT_INT32 }
                output_arg { name: "u" type: DT_DOUBLE } output_arg { name: "v" type: DT_DOUBLE } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "m" op: "Mul" input: "x" input: "y" attr { key: "T" value { type: DT_DOUBLE } } }
    ret { key: "j" value: "next:z:0" } ret { key: "u" value: "m:z:0" } ret { key: "v" value: "y" } })";

tensorflow::NameAttrList Function(const std::string& name) {
  tensorflow::NameAttrList function;
  function.set_name(name);
  return function;
}

class CallGradientsTest : public ::testing::Test {
 protected:
  CallGradientsTest() {
    tensorflow::FunctionDefLibrary library;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kLibrary, &library));
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
  void Check(const std::vector<Output>& ys) {
    EXPECT_THAT(scope_.status(), IsOk());
    const std::vector<Output> gradients = CheckGradients(
        scope_, xs_,
        {RandomTensor(DT_DOUBLE, TensorShape({3}), -1, 1, 1), RandomTensor(DT_DOUBLE, TensorShape({3}), -1, 1, 2)}, ys);
    EXPECT_TRUE(gradients[0].valid());
  }

  const std::vector<Output> xs_ = {Argument(scope_, 0, DT_DOUBLE), Argument(scope_, 1, DT_DOUBLE)};
};

TEST_F(NumericCallGradientsTest, AFunctionByItsName) {
  tensorflow::NodeDef def;
  def.set_op("Product");
  def.set_name("product");
  ASSERT_OK_AND_ASSIGN(Node * node, scope_.graph()->AddNode(std::move(def)));
  for (int i : {0, 1}) ASSERT_THAT(scope_.graph()->AddEdge(xs_[i].node(), 0, node, i).status(), IsOk());
  Check({Output(node, 0)});
}

TEST_F(NumericCallGradientsTest, PartitionedCall) {
  tensorflow::NodeDef attrs;
  SetNodeAttr("f", Function("Product"), &attrs);
  SetNodeAttr("Tout", one_, &attrs);
  Check({Output(Call("PartitionedCall", {{xs_[0], xs_[1]}}, attrs), 0)});
}

TEST_F(NumericCallGradientsTest, StatelessIf) {
  for (const bool taken : {true, false}) {
    tensorflow::NodeDef attrs;
    SetNodeAttr("then_branch", Function("Product"), &attrs);
    SetNodeAttr("else_branch", Function("Wave"), &attrs);
    SetNodeAttr("Tout", one_, &attrs);
    Check({Output(Call("StatelessIf", {{Tensor::Scalar<bool>(taken)}, {xs_[0], xs_[1]}}, attrs), 0)});
  }
}

TEST_F(NumericCallGradientsTest, StatelessCase) {
  for (const int32_t branch : {0, 1}) {
    tensorflow::NodeDef attrs;
    SetNodeAttr("branches", std::vector<tensorflow::NameAttrList>{Function("Product"), Function("Wave")}, &attrs);
    SetNodeAttr("Tout", one_, &attrs);
    Check({Output(Call("StatelessCase", {{Tensor::Scalar<int32_t>(branch)}, {xs_[0], xs_[1]}}, attrs), 0)});
  }
}

// Loops have stacks, so that their gradients stay calls: for these a session is needed.
TEST_F(CallGradientsTest, StatelessWhile) {
  tensorflow::NodeDef attrs;
  SetNodeAttr("cond", Function("More"), &attrs);
  SetNodeAttr("body", Function("Step"), &attrs);
  const Output x = scope_.Constant(AsTensor<double>({2, 3})), y = scope_.Constant(AsTensor<double>({5, 7}));
  const Output cube(Call("StatelessWhile", {{Tensor::Scalar<int32_t>(0), x, y}}, attrs), 1);  // x y^3
  GradientRegistry registry;
  ASSERT_THAT(RegisterAllGradients(registry), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients,
                       AddGradients(registry, {cube}, {x, y}, {}, scope_.graph()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope_));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session->Run({gradients[0].values, gradients[1].values}));
  ExpectTensorEqual(values[0], AsTensor<double>({125, 343}));
  ExpectTensorEqual(values[1], AsTensor<double>({2 * 3 * 25, 3 * 3 * 49}));
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
  GradientRegistry registry;
  ASSERT_THAT(RegisterAllGradients(registry), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients, AddGradients(registry, {z}, {x, y}, {}, scope_.graph()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope_));
  EXPECT_THAT(session->Run({gradients[0].values}).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("functions that call themselves")));
}

TEST_F(NumericCallGradientsTest, WhatMayHaveEffectsIsNotDoneAgain) {
  tensorflow::NodeDef attrs;
  SetNodeAttr("cond", Function("More"), &attrs);
  SetNodeAttr("body", Function("Step"), &attrs);
  const Operation loop = Call("While", {{Tensor::Scalar<int32_t>(0), xs_[0], xs_[1]}}, attrs);
  GradientRegistry registry;
  ASSERT_THAT(RegisterAllGradients(registry), IsOk());
  EXPECT_THAT(AddGradients(registry, {Output(loop, 1)}, xs_, {}, scope_.graph()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("op type: While")));
}

}  // namespace
}  // namespace weir
