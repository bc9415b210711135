#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

class FourierLengthTest : public OpTest {};

TEST_F(FourierLengthTest, FourierTransformsOfAnyLength) {
  for (int64_t n : {1, 2, 7, 12, 97}) {
    Tensor x(DT_COMPLEX128, TensorShape({n}));
    for (int64_t i = 0; i < n; ++i)
      x.data<complex128>()[i] = {std::sin(static_cast<double>(i)), static_cast<double>(i % 3)};
    ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("FFT", {x}));
    complex128 last = 0;
    for (int64_t i = 0; i < n; ++i)
      last += x.data<complex128>()[i] * std::polar(1.0, 2 * M_PI * static_cast<double>(i) / static_cast<double>(n));
    EXPECT_LT(std::abs(y.data<complex128>()[n - 1] - last), 1e-9) << n;
    ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("IFFT", {y}));
    for (int64_t i = 0; i < n; ++i) EXPECT_LT(std::abs(back.data<complex128>()[i] - x.data<complex128>()[i]), 1e-9);
  }
  EXPECT_THAT(RunOp("RFFT", {AsTensor<float>({1, 2}), Ints({-1})}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
