#include "kernels/fusion/fused_source.h"

#include <algorithm>

#include "core/testing.h"
#include "kernels/elementwise/device.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

// What can be fused has kernels too, for the same types.
TEST(ScalarOpsTest, AreElementwiseKernels) {
  const ElementwiseTable table = SimulatedElementwiseTable();
  for (const ScalarOp& op : ScalarOps()) {
    for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_BOOL}) {
      if (!op.Takes(type)) continue;
      const bool is_kernel = std::any_of(table.entries, table.entries + table.size, [&](const ElementwiseEntry& entry) {
        return op.name == entry.op && op.operands == entry.num_operands && static_cast<DataType>(entry.type) == type;
      });
      EXPECT_TRUE(is_kernel) << op.name << " of " << DataTypeName(type);
    }
  }
}

class FusedSourceTest : public testing::Test {
 protected:
  void Add(const char* text) {
    DataTypeVector values = expression_.inputs;
    for (const FusedStep& step : expression_.steps) values.push_back(step.type);
    ASSERT_OK_AND_ASSIGN(FusedStep step, ParseFusedStep(text, values));
    expression_.steps.push_back(std::move(step));
    expression_.outputs = {expression_.num_values() - 1};
  }
  std::string Source(FusedPattern pattern) const {
    using Access = FusedPattern::Access;
    if (pattern.accesses.empty()) {
      pattern.accesses.assign(expression_.inputs.size() + expression_.outputs.size(), Access::kDense);
    }
    pattern.missing.assign(expression_.outputs.size(), 0);
    return SourceOfFused(expression_, pattern);
  }

  FusedExpression expression_;
};

TEST_F(FusedSourceTest, EachStepIsRoundedToItsType) {
  expression_.inputs = {DT_HALF, DT_BFLOAT16};
  Add("Tanh(0)");
  Add("Cast:bfloat16(2)");
  Add("Less(3, 1)");
  const std::string source = Source({});
  EXPECT_THAT(source, HasSubstr("const float v2 = RoundHalf(Tanh_Floats(v0));  // Tanh(0)"));
  EXPECT_THAT(source, HasSubstr("const float v3 = RoundBfloat16((float)v2);"));
  EXPECT_THAT(source, HasSubstr("const bool v4 = (Less_Floats(v3, v1));"));
  EXPECT_THAT(source, HasSubstr("((bool*)a.outputs[0])[i] = (v4);"));
  EXPECT_THAT(source, Not(HasSubstr("Erf_Floats")));  // what is not called is left out
}

TEST_F(FusedSourceTest, WhatPatternsSayIsInTheText) {
  expression_.inputs = {DT_FLOAT, DT_FLOAT};
  Add("AddV2(0, 1)");
  using Access = FusedPattern::Access;
  const std::string dense = Source({}), wide = Source({.wide = true});
  EXPECT_THAT(dense, HasSubstr("typedef unsigned Index;"));
  EXPECT_THAT(wide, HasSubstr("typedef long long Index;"));
  const std::string scalar = Source({.accesses = {Access::kDense, Access::kScalar, Access::kDense}});
  EXPECT_THAT(scalar, HasSubstr("((const float*)a.inputs[1])[0]"));
  const std::string broadcast = Source({.rank = 2, .accesses = {Access::kDense, Access::kBroadcast, Access::kDense}});
  EXPECT_THAT(broadcast, HasSubstr("[c0 * (Index)a.steps[1][0] + c1 * (Index)a.steps[1][1]]"));
  EXPECT_EQ(dense, Source({}));
}

TEST_F(FusedSourceTest, AReductionHasTheOrderOfTheKernelThatReducesAlone) {
  expression_.inputs = {DT_HALF};
  Add("Square(0)");
  expression_.fold = "Mean";
  const std::string source = Source({.folds = true});
  EXPECT_THAT(source, HasSubstr("for (long long j = threadIdx.x; j < a.length; j += 256)"));
  EXPECT_THAT(source, HasSubstr("for (int half = 256 / 2; half > 0; half /= 2)"));
  EXPECT_THAT(source, HasSubstr("ToHalf(folded[0] / (float)a.length)"));
}

}  // namespace
}  // namespace weir
