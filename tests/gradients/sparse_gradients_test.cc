// Gradients of gathered rows are sparse: values by index, as long as nothing needs them dense.
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/gradients/gradient_builder.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {
namespace {

Output Gather(const Scope& scope, const Output& table, const Input& rows) {
  tensorflow::NodeDef def;
  def.set_op("GatherV2");
  return Output(scope.AddOp(std::move(def), {{table}, {rows}, {Tensor::Scalar<int32_t>(0)}}), 0);
}

class SparseGradientsTest : public ::testing::Test {
 protected:
  Gradient GradientOf(const std::vector<Output>& ys) {
    auto gradients = AddGradients(ys, {table_}, {}, scope_.graph());
    EXPECT_THAT(gradients.status(), IsOk());
    return gradients.ok() ? (*gradients)[0] : Gradient();
  }
  void CheckNumerically(const std::vector<Output>& ys) {
    CheckGradients(scope_, {table_}, {RandomTensor(DT_DOUBLE, TensorShape({5, 2}), -1, 1, 7)}, ys);
  }

  Scope scope_ = Scope::NewRoot();
  Output table_ = Argument(scope_, 0, DT_DOUBLE);
};

TEST_F(SparseGradientsTest, RepeatedRowsStaySparse) {
  const Output rows = Gather(scope_, table_, Tensor::Vector<int32_t>({1, 3, 1}));
  EXPECT_TRUE(GradientOf({rows}).is_sparse());
  CheckNumerically({rows});
}

TEST_F(SparseGradientsTest, SeveralGathersAreConcatenated) {
  const Output a = Gather(scope_, table_, Tensor::Vector<int32_t>({1, 3})),
               b = Gather(scope_, table_, Tensor::Vector<int32_t>({3, 0, 0}));
  EXPECT_TRUE(GradientOf({a, b}).is_sparse());
  CheckNumerically({a, b});
}

TEST_F(SparseGradientsTest, MixedWithDenseBecomesDense) {
  const Output rows = Gather(scope_, table_, Tensor::Vector<int32_t>({4, 4}));
  tensorflow::NodeDef def;
  def.set_op("Square");
  const Output squares(scope_.AddOp(std::move(def), {{table_}}), 0);
  const Gradient gradient = GradientOf({rows, squares});
  EXPECT_TRUE(gradient.valid());
  EXPECT_FALSE(gradient.is_sparse());
  CheckNumerically({rows, squares});
}

TEST_F(SparseGradientsTest, VariablesGiveTheirRows) {
  tensorflow::NodeDef handle, gather;
  handle.set_op("VarHandleOp");
  SetNodeAttr("dtype", DT_DOUBLE, &handle);
  SetNodeAttr("shape", PartialTensorShape(TensorShape({5, 2})), &handle);
  table_ = Output(scope_.AddOp(std::move(handle), {}), 0);
  gather.set_op("ResourceGather");
  SetNodeAttr("dtype", DT_DOUBLE, &gather);
  const Output rows(scope_.AddOp(std::move(gather), {{table_}, {Tensor::Vector<int64_t>({1, 3, 1})}}), 0);
  ASSERT_THAT(scope_.status(), IsOk());
  const Gradient gradient = GradientOf({rows});
  EXPECT_TRUE(gradient.is_sparse());
  EXPECT_EQ(gradient.indices.type(), DT_INT64);
  EXPECT_EQ(gradient.values.type(), DT_DOUBLE);
}

}  // namespace
}  // namespace weir
