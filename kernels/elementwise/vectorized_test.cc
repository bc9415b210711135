// Vectorized kernels against the standard library: sizes that do not fill a block, NaN, infinities and signed zeros.
#include <cmath>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using VectorizedTest = KernelInputsTest;

TEST_F(VectorizedTest, SineOfBlocksWithDistantNumbers) {
  Tensor x = Floats({5000}, -10000, 10000);
  x.data<float>()[600] = 1e20f;
  x.data<float>()[601] = kNaN;
  for (const auto& [op, function] : {std::pair{"Sin", static_cast<double (*)(double)>(std::sin)},
                                     std::pair{"Cos", static_cast<double (*)(double)>(std::cos)}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(op, {x}));
    for (int64_t i = 0; i < 5000; ++i) {
      EXPECT_LE(Ulps(out.data<float>()[i], function(x.data<float>()[i])), 2) << op << " of " << x.data<float>()[i];
    }
  }
}

TEST_F(VectorizedTest, Atan2OfAllQuadrants) {
  const std::vector<float> edges = {0.0f,   -0.0f, 1,      -1,        1e-45f,     -1e-45f,
                                    1e-38f, 3e38f, -3e38f, kInfinity, -kInfinity, kNaN};
  std::vector<float> y, x;
  for (float a : edges) {
    for (float b : edges) {
      y.push_back(a);
      x.push_back(b);
    }
  }
  for (int i = 0; i < 3001; ++i) {
    y.push_back(Uniform(-3, 3));
    x.push_back(Uniform(-3, 3));
  }
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Atan2", {AsTensor<float>(y), AsTensor<float>(x)}));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(Ulps(out.data<float>()[i], std::atan2(static_cast<double>(y[i]), static_cast<double>(x[i]))), 2)
        << y[i] << ", " << x[i];
  }
  ASSERT_OK_AND_ASSIGN(Tensor row, RunOp1("Atan2", {AsTensor<float>({1, 2}, {2, 1}), AsTensor<float>({1, -1})}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(Ulps(row.data<float>()[i], std::atan2(i < 2 ? 1.0 : 2.0, i % 2 == 0 ? 1.0 : -1.0)), 2);
  }
}

}  // namespace
}  // namespace weir
