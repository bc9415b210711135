// Gradients with respect to variables: what reads them is checked against central differences of their values.
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {
namespace {

class VariableGradientsTest : public ::testing::Test {
 protected:
  // The handle of a variable that argument 0 is assigned to, for what runs after the assignment.
  Output MakeVariable() {
    tensorflow::NodeDef handle, assign, identity;
    handle.set_op("VarHandleOp");
    SetNodeAttr("dtype", DT_DOUBLE, &handle);
    SetNodeAttr("shape", PartialTensorShape(shape_), &handle);
    const Output variable(scope_.AddOp(std::move(handle), {}), 0);
    assign.set_op("AssignVariableOp");
    const Operation assigned = scope_.AddOp(std::move(assign), {{variable}, {Argument(scope_, 0, DT_DOUBLE)}});
    identity.set_op("Identity");
    const Output ready(scope_.AddOp(std::move(identity), {{variable}}), 0);
    EXPECT_THAT(scope_.status(), IsOk());
    scope_.graph()->AddControlEdge(assigned.node(), ready.node());
    return ready;
  }
  Output Call(const char* op, const InputList& inputs, bool has_dtype = false) {
    tensorflow::NodeDef def;
    def.set_op(op);
    if (has_dtype) SetNodeAttr("dtype", DT_DOUBLE, &def);
    std::vector<InputList> arguments;
    for (const Input& input : inputs) arguments.push_back({input});
    return Output(scope_.AddOp(std::move(def), arguments), 0);
  }
  void Check(const Output& variable, const Output& y) {
    CheckGradients(scope_, {variable}, {RandomTensor(DT_DOUBLE, shape_, -1, 1, 7)}, {y});
  }

  const TensorShape shape_ = TensorShape({4, 3});
  Scope scope_ = Scope::NewRoot();
};

TEST_F(VariableGradientsTest, ReadVariableOp) {
  const Output variable = MakeVariable();
  Check(variable, Call("Square", {Call("ReadVariableOp", {variable}, /*has_dtype=*/true)}));
}

TEST_F(VariableGradientsTest, ResourceGather) {
  const Output variable = MakeVariable();
  const Input rows = Tensor::Vector<int32_t>({2, 0, 2});
  Check(variable, Call("Square", {Call("ResourceGather", {variable, rows}, /*has_dtype=*/true)}));
}

TEST_F(VariableGradientsTest, ResourceGatherNd) {
  const Output variable = MakeVariable();
  Tensor places(DT_INT64, TensorShape({3, 2}));
  const int64_t coordinates[] = {3, 1, 0, 0, 3, 1};
  std::copy_n(coordinates, 6, places.data<int64_t>());
  Check(variable, Call("Square", {Call("ResourceGatherNd", {variable, places}, /*has_dtype=*/true)}));
}

}  // namespace
}  // namespace weir
