#include <algorithm>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class UniformQuantizedTest : public OpTest {};

Tensor Q8(const std::vector<int>& values, const TensorShape& shape) {
  Tensor tensor(DT_QINT8, shape);
  std::copy(values.begin(), values.end(), static_cast<int8_t*>(tensor.raw_data()));
  return tensor;
}
Tensor Q32(const std::vector<int>& values, const TensorShape& shape) {
  Tensor tensor(DT_QINT32, shape);
  std::copy(values.begin(), values.end(), static_cast<int32_t*>(tensor.raw_data()));
  return tensor;
}
std::vector<int> Integers(const Tensor& tensor) {
  const int64_t n = tensor.NumElements();
  if (tensor.dtype() == DT_QINT8) {
    const int8_t* const x = static_cast<const int8_t*>(tensor.raw_data());
    return std::vector<int>(x, x + n);
  }
  const int32_t* const x = static_cast<const int32_t*>(tensor.raw_data());
  return std::vector<int>(x, x + n);
}
Tensor Scale(float scale) { return AsScalar<float>(scale); }
Tensor Zero(int32_t zero_point) { return AsScalar<int32_t>(zero_point); }
Tensor Scales(std::vector<float> scales) { return AsTensor<float>(std::move(scales)); }
Tensor Zeros(std::vector<int32_t> zero_points) { return AsTensor<int32_t>(std::move(zero_points)); }

// Attributes of some operands: bytes, or 32 bits where a name ends in "32".
Attrs Bounds(std::initializer_list<const char*> prefixes, int64_t axis = -1, Attrs attrs = Attrs()) {
  for (std::string prefix : prefixes) {
    const bool is_wide = prefix.ends_with("32");
    if (is_wide) prefix.resize(prefix.size() - 2);
    attrs.Set(prefix + "quantization_axis", axis)
        .Set(prefix + "quantization_min_val", int64_t{is_wide ? INT32_MIN : -128})
        .Set(prefix + "quantization_max_val", int64_t{is_wide ? INT32_MAX : 127});
  }
  return attrs;
}

TEST_F(UniformQuantizedTest, ScalesOfChannels) {
  const Tensor x = AsTensor<float>({-3, 0.3f, 7, 1.25f, -0.2f, 100}, {2, 3});
  const Tensor scales = Scales({0.5f, 0.1f, 2}), zeros = Zeros({0, 5, -7});
  ASSERT_OK_AND_ASSIGN(const Tensor q,
                       RunOp1("UniformQuantize", {x, scales, zeros}, Bounds({""}, 1).Set("Tout", DT_QINT8)));
  EXPECT_EQ(Integers(q), (std::vector<int>{-6, 8, -3, 3, 3, 43}));
  ASSERT_OK_AND_ASSIGN(const Tensor back, RunOp1("UniformDequantize", {Q8({-3, 9, 7}, {1, 3}), scales, zeros},
                                                 Bounds({""}, 1).Set("Tout", DT_FLOAT)));
  ExpectTensorEqual(back, AsTensor<float>({-1.5f, 0.4f, 28}, {1, 3}));
  EXPECT_THAT(RunOp("UniformQuantize", {x, scales, zeros}, Bounds({""}).Set("Tout", DT_QINT8)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("If quantization_axis is -1, scales and zero_points must be scalar")));
  EXPECT_THAT(RunOp("UniformQuantize", {x, scales, zeros}, Bounds({""}, 0).Set("Tout", DT_QINT8)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be equal to the input.dim_size(quantization_axis)")));
}

TEST_F(UniformQuantizedTest, OtherScalesAndSums) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor q,
      RunOp1("UniformRequantize", {Q8({-128, -3, 9, 127}, {4}), Scale(0.5f), Zero(3), Scale(0.7f), Zero(-2)},
             Bounds({"input_", "output_"}).Set("Tout", DT_QINT8)));
  EXPECT_EQ(Integers(q), (std::vector<int>{-96, -6, 2, 87}));
  EXPECT_THAT(RunOp("UniformRequantize", {Q8({1}, {1}), Scale(0), Zero(3), Scale(0.7f), Zero(-2)},
                    Bounds({"input_", "output_"}).Set("Tout", DT_QINT8)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be all positive")));
  const Attrs attrs = Bounds({"lhs_32", "rhs_32", "output_"});
  ASSERT_OK_AND_ASSIGN(const Tensor sum, RunOp1("UniformQuantizedAdd",
                                                {Q32({-100, 20, 30, 5, 6, 7}, {2, 3}), Q32({1, 2, 3}, {3}), Scale(0.5f),
                                                 Zero(3), Scale(0.1f), Zero(-2), Scale(0.25f), Zero(7)},
                                                attrs));
  EXPECT_EQ(Integers(sum), (std::vector<int>{-128, 43, 63, 12, 15, 17}));
  // One operand's scale, and several of the sum.
  ASSERT_OK_AND_ASSIGN(
      const Tensor columns,
      RunOp1("UniformQuantizedAdd",
             {Q32({10, 10}, {2, 1}), Q32({1, 2}, {2}), Scale(1), Zero(0), Scales({1, 2}), Zeros({0, 0}), Scales({1, 2}),
              Zeros({0, 1})},
             Bounds({"rhs_32", "output_32"}, 1, Bounds({"lhs_32"})).Set("rhs_quantization_axis", int64_t{0})));
  EXPECT_EQ(Integers(columns), (std::vector<int>{11, 8, 11, 8}));
  EXPECT_THAT(
      RunOp("UniformQuantizedAdd",
            {Q32({1, 2}, {2}), Q32({1, 2, 3}, {3}), Scale(1), Zero(0), Scale(1), Zero(0), Scale(1), Zero(0)}, attrs),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Cannot Add tensors of shapes: [2][3]")));
}

TEST_F(UniformQuantizedTest, Products) {
  const Tensor right = Q8({1, 2, 3, -4, 100, -100}, {3, 2});
  const Tensor scales = Scales({0.5f, 0.1f}), zeros = Zeros({3, -2});
  const Attrs attrs = Bounds({"rhs_"}, 1, Bounds({"lhs_", "output_32"})).Set("Tout", DT_QINT32);
  const auto dot = [&](const Tensor& left, const Tensor& output_scale) {
    return RunOp1("UniformQuantizedDot", {left, right, Scale(0.5f), Zero(-4), scales, zeros, output_scale, Zero(7)},
                  attrs);
  };
  ASSERT_OK_AND_ASSIGN(const Tensor product, dot(Q8({1, -2, 3, -128, 127, 5}, {2, 3}), Scale(0.25f)));
  EXPECT_EQ(Integers(product), (std::vector<int>{676, -127, 1128, -321}));
  EXPECT_THAT(
      dot(Q8({1, 2}, {1, 2}), Scale(1)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lhs.dim_size(1) and rhs.dim_size(0) must be equal")));
  EXPECT_THAT(dot(Q8({1, 2, 3}, {1, 3}), Scale(-1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("output scales")));
  ASSERT_OK_AND_ASSIGN(
      const Tensor real,
      RunOp1("UniformQuantizedDotHybrid", {AsTensor<float>({1, -2, 3.5f, -0.5f, 4, -2}, {2, 3}), right, scales, zeros},
             Bounds({"rhs_"}, 1).Set("Tout", DT_FLOAT)));
  ExpectTensorNear(real, AsTensor<float>({168.47255f, -33.444317f, -96.50588f, 18.602354f}, {2, 2}), 1e-5, 1e-5);
}

TEST_F(UniformQuantizedTest, Convolutions) {
  std::vector<int> pixels(16);
  std::vector<float> real(16);
  for (int i = 0; i < 16; ++i) real[i] = static_cast<float>(pixels[i] = i - 8);
  const Tensor image = Q8(pixels, {1, 1, 4, 4}), kernel = Q8({-2, -1, 0, 1}, {1, 1, 2, 2});
  const auto convolve = [&](const Tensor& filter, const std::vector<int64_t>& strides, const std::string& numbers) {
    return RunOp1("UniformQuantizedConvolution",
                  {image, filter, Scale(0.5f), Zero(-4), Scale(0.5f), Zero(1), Scale(0.25f), Zero(7)},
                  Bounds({"lhs_", "rhs_", "output_32"})
                      .Set("Tout", DT_QINT32)
                      .Set("padding", std::string("SAME"))
                      .Set("window_strides", strides)
                      .Set("rhs_dilation", std::vector<int64_t>{1, 2})
                      .Set("dimension_numbers", numbers));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor output, convolve(kernel, {2, 1}, ""));
  EXPECT_EQ(output.shape(), TensorShape({1, 1, 2, 4}));
  EXPECT_EQ(Integers(output), (std::vector<int>{13, 23, 17, 11, -3, -25, -31, -21}));
  EXPECT_THAT(convolve(kernel, {2}, ""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window_strides")));
  EXPECT_THAT(convolve(Q8({}, {1, 0, 2, 2}), {2, 1}, ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 does not divide 1")));
  // Dimension 2 twice, none 3: fields 3 of the message are spatial dimensions.
  EXPECT_THAT(convolve(kernel, {2, 1}, std::string("\x10\x01\x1a\x02\x02\x02", 6)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Dimension number 2 is given twice")));
  ASSERT_OK_AND_ASSIGN(const Tensor hybrid, RunOp1("UniformQuantizedConvolutionHybrid",
                                                   {AsTensor<float>(real, {1, 1, 4, 4}), kernel, Scale(0.5f), Zero(1)},
                                                   Bounds({"rhs_"})
                                                       .Set("Tout", DT_FLOAT)
                                                       .Set("padding", std::string("VALID"))
                                                       .Set("window_strides", std::vector<int64_t>{2, 2})));
  ExpectTensorNear(hybrid, AsTensor<float>({21, 15, -3, -9}, {1, 1, 2, 2}), 1e-5, 1e-5);
}

}  // namespace
}  // namespace weir
