#include <cmath>
#include <complex>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using FourierTest = KernelInputsTest;

TEST_F(FourierTest, RealTransformsOfManyRows) {
  for (const int n : {1, 2, 4, 8, 31, 64, 100, 256}) {
    const int64_t rows = 19, half = n / 2 + 1;
    Tensor x = Floats({rows, n});
    x.data<float>()[3 * n] = kInfinity;  // stays in its row
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("RFFT", {x, AsTensor<int32_t>({n})}));
    ASSERT_EQ(out.shape(), TensorShape({rows, half}));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < half && row != 3; ++k) {
        std::complex<double> sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          sum += static_cast<double>(x.data<float>()[row * n + j]) *
                 std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % n) / n);
        }
        const std::complex<float> actual = out.data<complex64>()[row * half + k];
        ASSERT_LT(std::abs(std::complex<double>(actual) - sum), 1e-5) << n << " " << row << " " << k;
      }
    }
    if (n == 1) continue;
    x.data<float>()[3 * n] = 1;
    ASSERT_OK_AND_ASSIGN(out, RunOp1("RFFT", {x, AsTensor<int32_t>({n})}));
    ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("IRFFT", {out, AsTensor<int32_t>({n})}));
    ExpectTensorNear(back, x, 1e-5, 1e-5);
  }
}

TEST_F(FourierTest, TransformsAlongOuterDimensions) {
  Tensor x(DT_COMPLEX64, TensorShape({2, 32, 24}));
  for (complex64& z : x.flat<complex64>()) z = {Uniform(-1, 1), Uniform(-1, 1)};
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("FFT2D", {x}));
  std::complex<double> sum = 0;
  for (int64_t i = 0; i < 32 * 24; ++i) {
    const double angle = -2 * M_PI * (3.0 * static_cast<double>(i / 24) / 32 + 5.0 * static_cast<double>(i % 24) / 24);
    sum += std::complex<double>(x.data<complex64>()[32 * 24 + i]) * std::polar(1.0, angle);
  }
  EXPECT_LT(std::abs(std::complex<double>(y.data<complex64>()[(32 + 3) * 24 + 5]) - sum), 1e-4);
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("IFFT2D", {y}));
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    ASSERT_LT(std::abs(back.data<complex64>()[i] - x.data<complex64>()[i]), 1e-5);
  }
}

}  // namespace
}  // namespace weir
