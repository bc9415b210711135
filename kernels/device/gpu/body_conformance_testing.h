// Bodies that suites of ops reach only by the way, on every kind of device. A device's test includes this header and
// instantiates GpuKernels.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/array/moving/device_move.h"
#include "kernels/device/gpu/kernel_conformance_testing.h"

namespace weir {

// Parts of a tensor list lie anywhere: here one after the other, and in reverse order.
TEST_P(GpuKernels, JoinsParts) {
  const DataType types[] = {DT_BOOL, DT_HALF, DT_FLOAT, DT_INT64};
  for (const DataType type : types) {
    ASSERT_OK_AND_ASSIGN(const GpuKernel join, FindMove("Join", type));
    constexpr int kWidth = 3;
    const int64_t size = DataTypeSize(type), bytes = kMaxJoinedParts * kWidth * size;
    Tensor source(DT_UINT8, TensorShape({bytes})), expected(DT_UINT8, TensorShape({bytes}));
    for (int64_t i = 0; i < bytes; ++i) source.data<uint8_t>()[i] = static_cast<uint8_t>(i % 251);
    ASSERT_OK_AND_ASSIGN(const Tensor parts, device_->ToDevice(source));
    ASSERT_OK_AND_ASSIGN(const Tensor joined, device_->ToDevice(expected));
    JoinArgs args{.out = joined.raw_data(), .width = kWidth, .count = int64_t{kMaxJoinedParts} * kWidth};
    for (int i = 0; i < kMaxJoinedParts; ++i) {
      const int64_t at = (kMaxJoinedParts - 1 - i) * kWidth * size;
      args.parts[i] = static_cast<const char*>(parts.raw_data()) + at;
      std::copy_n(source.data<uint8_t>() + at, kWidth * size, expected.data<uint8_t>() + i * kWidth * size);
    }
    ASSERT_THAT(device_->compute().LaunchWith(join, args, {ReadOf(parts), WriteOf(joined)}), IsOk());
    ExpectTensorEqual(*Fetch(joined), expected);
  }
  GetParam().check(device_->runtime());
}

TEST_P(GpuKernels, QuantizesToWhatFewBitsCount) {
  const Op op = Of("QuantizeAndDequantizeV2")
                    .Input("input: T")
                    .Input("input_min: T")
                    .Input("input_max: T")
                    .Output("output: T")
                    .Attr("signed_input: bool = true")
                    .Attr("num_bits: int = 8")
                    .Attr("range_given: bool = false")
                    .Attr("round_mode: string = 'HALF_TO_EVEN'")
                    .Attr("narrow_range: bool = false")
                    .Attr("axis: int = -1");
  const Tensor x = AsTensor<float>({-3, -0.4F, 0.25F, 0.75F, 0.6F, 5});
  const Tensor low = AsScalar<float>(-2), high = AsScalar<float>(1.5F);
  for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
    // Three bits from -4 to 3, in steps of a half.
    const tensorflow::NodeDef attrs = Attr("num_bits", int64_t{3}, Attr("range_given", true, Attr("T", type)));
    const auto of = [type](const Tensor& tensor) { return CastForTest(tensor, type); };
    Expect(op, {of(x), of(low), of(high)}, attrs, {of(AsTensor<float>({-2, -0.5F, 0, 1, 0.5F, 1.5F}))});
    Expect(op, {of(x), of(low), of(high)}, Attr("round_mode", std::string("HALF_UP"), attrs),
           {of(AsTensor<float>({-2, -0.5F, 0.5F, 1, 0.5F, 1.5F}))});
  }
  // Ranges that are looked for, of each row: from -4 to 3 in steps of 1, and from -2 to 1.5.
  const Tensor rows = AsTensor<float>({-4, 1.2F, 0.6F, -2, 1.2F, 0.6F}, {2, 3});
  const Tensor none(DT_FLOAT, TensorShape({2}));
  Expect(op, {rows, none, none}, Attr("num_bits", int64_t{3}, Attr("axis", int64_t{0}, Float())),
         {AsTensor<float>({-4, 1, 1, -2, 1, 0.5F}, {2, 3})});
}

TEST_P(GpuKernels, GradientsOfWhatWasQuantizedPassWithinTheRange) {
  const Op op = Of("QuantizeAndDequantizeV4Grad")
                    .Input("gradients: T")
                    .Input("input: T")
                    .Input("input_min: T")
                    .Input("input_max: T")
                    .Output("input_backprop: T")
                    .Output("input_min_backprop: T")
                    .Output("input_max_backprop: T")
                    .Attr("axis: int = -1");
  const Tensor gradients = AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3}),
               x = AsTensor<float>({-1, 0, 1, -1, 0, NAN}, {2, 3});
  const Tensor zero = AsScalar<float>(0);
  Expect(op, {gradients, x, AsScalar<float>(-0.5F), AsScalar<float>(1)}, Float(),
         {AsTensor<float>({0, 2, 3, 0, 5, 0}, {2, 3}), zero, zero});
  const Tensor zeros = AsTensor<float>({0, 0});
  Expect(op, {gradients, x, AsTensor<float>({-1, 1}), AsTensor<float>({0, 2})}, Attr("axis", int64_t{0}, Float()),
         {AsTensor<float>({1, 2, 0, 0, 0, 0}, {2, 3}), zeros, zeros});
}

TEST_P(GpuKernels, EuclideanNorms) {
  const Op op = Of("EuclideanNorm")
                    .Input("input: T")
                    .Input("reduction_indices: int32")
                    .Output("output: T")
                    .Attr("keep_dims: bool = false");
  const Tensor x = AsTensor<float>({3, 0, -4, 5, 12, 0}, {2, 3});
  Expect(op, {x, AsTensor<int32_t>({1})}, Float(), {AsTensor<float>({5, 13})});
  Expect(op, {CastForTest(x, DT_HALF), AsTensor<int32_t>({1})}, Attr("T", DT_HALF),
         {AsTensor<half>({half(5.0F), half(13.0F)})});
  std::vector<float> many(4096, 2);
  Expect(op, {AsTensor<float>(many), AsTensor<int32_t>({0})}, Float(), {AsScalar<float>(128)});
  Expect(op, {AsTensor<float>({1, NAN}), AsTensor<int32_t>({0})}, Float(), {AsScalar<float>(NAN)});
  Expect(op, {Tensor(DT_FLOAT, TensorShape({2, 0})), AsTensor<int32_t>({1})}, Float(), {AsTensor<float>({0, 0})});
}

}  // namespace weir
