#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

class SpecialFunctionTest : public OpTest {};

TEST_F(SpecialFunctionTest, SpecialFunctionsHaveLimitsAtInfinity) {
  const double inf = INFINITY, nan = NAN;
  const Tensor first = AsTensor<double>({2, inf, inf, 1}), second = AsTensor<double>({inf, 3, -2.5, nan});
  ASSERT_OK_AND_ASSIGN(Tensor zeta, RunOp1("Zeta", {first, second}));
  ExpectTensorEqual(zeta, AsTensor<double>({0, 0, inf, inf}));
  ASSERT_OK_AND_ASSIGN(Tensor trigamma, RunOp1("Polygamma", {AsTensor<double>({1, 2}), AsTensor<double>({inf, inf})}));
  ExpectTensorEqual(trigamma, AsTensor<double>({0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor lower, RunOp1("Igamma", {AsTensor<double>({-1, 3, inf}), AsTensor<double>({0, inf, 2})}));
  ExpectTensorEqual(lower, AsTensor<double>({0, 1, 0}));
}

}  // namespace
}  // namespace weir
