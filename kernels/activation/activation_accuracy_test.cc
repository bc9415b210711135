#include <cmath>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ActivationAccuracyTest = KernelInputsTest;

TEST_F(ActivationAccuracyTest, Activations) {
  std::vector<float> x = {0.0f, -0.0f, kNaN, kInfinity, -kInfinity, 1e-42f, -1e-42f, 1e-20f, -1e-20f, 14, -14, 90, -90};
  for (float v = -30; v < 30; v += 0.0037f) x.push_back(v);
  constexpr double kScale = 1.0507009873554804934, kScaleAlpha = 1.7580993408473768600;
  struct Case {
    const char* op;
    double (*function)(double);
  };
  for (const Case& c : {Case{"Elu", [](double v) { return v < 0 ? std::expm1(v) : v; }},
                        Case{"Selu", [](double v) { return v < 0 ? kScaleAlpha * std::expm1(v) : kScale * v; }},
                        Case{"Softplus", [](double v) { return v > 40 ? v : std::log1p(std::exp(v)); }}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(c.op, {AsTensor<float>(x)}));
    for (size_t i = 0; i < x.size(); ++i) {
      // Softplus of large numbers is taken for the number itself.
      const double expected = c.function(x[i]);
      if (std::string(c.op) == "Softplus" && std::abs(x[i]) > 10 && std::isfinite(x[i])) {
        EXPECT_NEAR(out.data<float>()[i], static_cast<float>(expected), std::abs(expected) * 1e-6) << x[i];
      } else {
        EXPECT_LE(Ulps(out.data<float>()[i], expected), 3) << c.op << " of " << x[i];
      }
    }
  }
}

}  // namespace
}  // namespace weir
