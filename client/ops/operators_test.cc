// Operators on outputs, and the lines that errors name.
#include "client/ops/operators.h"

#include "client/layers.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/while_loop.h"
#include "core/testing.h"
#include "graph/graph.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string AtLine(int line) { return absl::StrCat("operators_test.cc:", line); }

class OperatorsTest : public ::testing::Test {
 protected:
  std::vector<Tensor> Run(const std::vector<Output>& outputs) {
    EXPECT_THAT(scope_.status(), IsOk());
    return Session::Local(scope_).value()->Run(outputs).value();
  }

  const Scope scope_ = Scope::NewRoot();
  const Output x_ = scope_.Constant(AsTensor<float>({1, 2, 3}));
};

TEST_F(OperatorsTest, ArithmeticWithOutputsNumbersAndTensors) {
  const Output y = scope_.Constant(AsTensor<float>({4, 5, 6}));
  const std::vector<Tensor> values = Run({x_ * y + x_, 2 * x_ - 1, -x_ / 2.0, x_ + AsTensor<float>({1, 1, 1}), 6 / x_});
  ExpectTensorEqual(values[0], AsTensor<float>({5, 12, 21}));
  ExpectTensorEqual(values[1], AsTensor<float>({1, 3, 5}));
  ExpectTensorEqual(values[2], AsTensor<float>({-0.5, -1, -1.5}));
  ExpectTensorEqual(values[3], AsTensor<float>({2, 3, 4}));
  ExpectTensorEqual(values[4], AsTensor<float>({6, 3, 2}));
}

TEST_F(OperatorsTest, ComparisonsAreFunctions) {
  const std::vector<Tensor> values = Run({Less(x_, 2), GreaterEqual(x_, 2), Equal(x_, 2), NotEqual(2, x_)});
  ExpectTensorEqual(values[0], AsTensor<bool>({true, false, false}));
  ExpectTensorEqual(values[1], AsTensor<bool>({false, true, true}));
  ExpectTensorEqual(values[2], AsTensor<bool>({false, true, false}));
  ExpectTensorEqual(values[3], AsTensor<bool>({true, false, true}));
}

TEST_F(OperatorsTest, TheScopeIsThatOfTheLeftOperand) {
  const Output y = scope_.SubScope("part").WithDevice("/device:CPU:0").Constant(AsTensor<float>({1, 1, 1}));
  EXPECT_EQ((y + x_).op().name(), "part/AddV2");
  EXPECT_THAT((y + x_).node()->requested_device(), HasSubstr("CPU:0"));
  EXPECT_EQ((x_ + y).op().name(), "AddV2");
  EXPECT_EQ((2 * y).op().name(), "part/Mul");
}

TEST_F(OperatorsTest, OperatorsWorkInLoops) {
  const OutputList last = WhileLoop(
      scope_, {scope_.Constant(0), x_}, [](const Scope&, const OutputList& v) { return Less(v[0], 3); },
      [&](const Scope&, const OutputList& v) {
        return OutputList{v[0] + 1, v[1] * x_};
      });
  ExpectTensorEqual(Run({last[1]})[0], AsTensor<float>({1, 16, 81}));
}

TEST_F(OperatorsTest, AnInvalidOperandGivesAnInvalidResult) {
  EXPECT_FALSE((Output() + Output()).valid());
  x_ + Output();
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("never built")));
}

TEST_F(OperatorsTest, ErrorsNameTheLineOfAnOperator) {
  const int line = __LINE__ + 1;
  x_* scope_.Constant(AsTensor<int32_t>({1}));
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(AtLine(line))));
}

TEST_F(OperatorsTest, ErrorsNameTheLineOfAWrapper) {
  const int line = __LINE__ + 1;
  ops::MatMul(scope_.WithName("product"), x_, scope_.Constant(AsTensor<int32_t>({1})));
  EXPECT_THAT(scope_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(AtLine(line)), HasSubstr("product"))));
}

TEST_F(OperatorsTest, ErrorsNameTheLineOfALayer) {
  const layers::Dense dense(scope_, 2, 3);
  const int line = __LINE__ + 1;
  dense(scope_, scope_.Constant(AsTensor<int32_t>({1, 2}, {1, 2})));
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(AtLine(line))));
}

TEST_F(OperatorsTest, ErrorsNameTheLineOfALayerWithoutAScope) {
  const layers::Dense dense(scope_, 2, 3);
  const int line = __LINE__ + 1;
  dense(scope_.Constant(AsTensor<int32_t>({1, 2}, {1, 2})));
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(AtLine(line))));
}

TEST_F(OperatorsTest, AStepsErrorNamesTheLineOfItsNode) {
  const Output empty = ops::Placeholder(scope_, DT_FLOAT);
  const int line = __LINE__ + 1;
  const Output product = ops::MatMul(scope_.WithName("product"), empty, empty);
  const auto session = Session::Local(scope_).value();
  EXPECT_THAT(session->Run({{empty, AsTensor<float>({1, 2, 3}, {1, 3})}}, {product}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(AtLine(line))));
}

TEST_F(OperatorsTest, LinesOfWeirsOwnSourcesAreNotReported) {
  EXPECT_FALSE(scope_.LineOf("no such node").known());
  GlobalStep(scope_);
  EXPECT_FALSE(scope_.LineOf("global_step/handle").known());
  const uint32_t line = __LINE__ + 1;
  const Output y = ops::Neg(scope_, x_);
  EXPECT_EQ(scope_.LineOf(y.op().name()).line, line);
}

}  // namespace
}  // namespace weir
