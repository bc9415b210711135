#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using DepthwiseConvolutionTest = KernelInputsTest;

TEST_F(DepthwiseConvolutionTest, DepthwiseConvolutionOfOddWidths) {
  for (const int64_t channels : {1, 32, 45}) {
    const Tensor x = Floats({2, 6, 5, channels}), filter = Floats({3, 2, channels, 1});
    const Attrs attrs = Attrs().Set("strides", std::vector<int64_t>{1, 2, 2, 1}).Set("padding", std::string("SAME"));
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("DepthwiseConv2dNative", {x, filter}, attrs));
    ASSERT_EQ(out.shape(), TensorShape({2, 3, 3, channels}));
    for (int64_t i = 0; i < out.NumElements(); ++i) {
      const int64_t c = i % channels, column = i / channels % 3, row = i / channels / 3 % 3, image = i / channels / 9;
      double sum = 0;
      for (int64_t a = 0; a < 3; ++a) {
        for (int64_t b = 0; b < 2; ++b) {
          const int64_t y = 2 * row + a, z = 2 * column + b;  // one row and column of padding, behind
          if (y >= 6 || z >= 5) continue;
          sum += static_cast<double>(x.data<float>()[((image * 6 + y) * 5 + z) * channels + c]) *
                 filter.data<float>()[(a * 2 + b) * channels + c];
        }
      }
      ASSERT_NEAR(out.data<float>()[i], sum, 1e-5) << channels;
    }
  }
}

}  // namespace
}  // namespace weir
