#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using SelectTest = KernelInputsTest;

TEST_F(SelectTest, ASelectionByElementNamesTheInputThatDoesNotFit) {
  const Tensor two = AsTensor<bool>({true, false});
  EXPECT_THAT(RunOp1("Select", {two, Counting({3}), Counting({2})}),
              StatusIs(kInvalid, HasSubstr("must have the same size and shape.  Input 0: [2] != input 1: [3]")));
  EXPECT_THAT(RunOp1("Select", {two, Counting({2}), Counting({3})}),
              StatusIs(kInvalid, HasSubstr("must have the same size and shape.  Input 0: [2] != input 2: [3]")));
  EXPECT_THAT(RunOp1("Select", {two, Counting({2, 2}), Counting({2, 3})}),
              StatusIs(kInvalid, HasSubstr("'then' and 'else' must have the same size")));
}

TEST_F(SelectTest, SelectsElementByElement) {
  const int64_t n = 100'003;
  const Tensor a = Floats({n}), b = Floats({n});
  Tensor condition(DT_BOOL, TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) condition.data<bool>()[i] = (Draw() >> 30) == 0;
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("SelectV2", {condition, a, b}));
  ASSERT_OK_AND_ASSIGN(Tensor scalar, RunOp1("SelectV2", {condition, a, AsScalar<float>(3)}));
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(out.data<float>()[i], (condition.data<bool>()[i] ? a : b).data<float>()[i]);
    ASSERT_EQ(scalar.data<float>()[i], condition.data<bool>()[i] ? a.data<float>()[i] : 3);
  }
}

}  // namespace
}  // namespace weir
