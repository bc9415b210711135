// Tests of the kernels that crop images, draw classes or reinterpret bytes as another type, on each kind of device.
// Part of the suite GpuKernels.
#pragma once

#include <vector>

#include "kernels/device/gpu/kernel_conformance_testing.h"

namespace weir {

TEST_P(GpuKernels, BytesAsElementsOfAnotherType) {
  const Op op = Op("Bitcast").Input("input: T").Output("output: type").Attr("T: type").Attr("type: type");
  Expect(op, {AsTensor<float>({1, -2})}, Attr("T", DT_FLOAT, Attr("type", DT_UINT32)),
         {AsTensor<uint32_t>({0x3f800000, 0xc0000000})});
  Expect(op, {AsTensor<uint16_t>({1, 2, 3, 4}, {2, 2})}, Attr("T", DT_UINT16, Attr("type", DT_UINT32)),
         {AsTensor<uint32_t>({0x20001, 0x40003})});
  Expect(op, {AsTensor<uint16_t>({0x102})}, Attr("T", DT_UINT16, Attr("type", DT_UINT8)),
         {AsTensor<uint8_t>({2, 1}, {1, 2})});
  EXPECT_THAT(Run(op, {AsTensor<uint16_t>({1, 2, 3})}, Attr("T", DT_UINT16, Attr("type", DT_UINT32))),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Cannot bitcast")));
}

TEST_P(GpuKernels, DrawsClassesByTheirLogits) {
  const Op op = Of("StatelessMultinomial")
                    .Input("logits: T")
                    .Input("num_samples: int32")
                    .Input("seed: int64")
                    .Output("output: output_dtype")
                    .Attr("output_dtype: type = DT_INT64");
  constexpr int kSamples = 30000, kClasses = 300;
  std::vector<float> logits(2 * kClasses, 0.0f);
  logits[7] = INFINITY;  // these three are never drawn
  logits[8] = NAN;
  logits[9] = -INFINITY;
  for (int j = 0; j < kClasses; ++j) logits[kClasses + j] = j == 123 ? 50.0f : -50.0f;
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> drawn,
      Run(op, {AsTensor<float>(logits, {2, kClasses}), AsScalar<int32_t>(kSamples), AsTensor<int64_t>({3, 4})},
          Float()));
  std::vector<int> counts(kClasses);
  for (int i = 0; i < kSamples; ++i) {
    const int64_t of_many = drawn[0].data<int64_t>()[i];
    ASSERT_GE(of_many, 0);
    ASSERT_LT(of_many, kClasses);
    ++counts[of_many];
    EXPECT_EQ(drawn[0].data<int64_t>()[kSamples + i], 123);
  }
  for (int j = 0; j < kClasses; ++j) {
    if (j >= 7 && j <= 9) {
      EXPECT_EQ(counts[j], 0);
    } else {
      EXPECT_NEAR(counts[j], kSamples / (kClasses - 3.0), 50) << j;
    }
  }
  GetParam().check(device_->runtime());
}

TEST_P(GpuKernels, CropsAndTheirGradients) {
  // 4 by 4, counted; the box has the middle four.
  Tensor image(DT_FLOAT, TensorShape({1, 4, 4, 1}));
  std::iota(image.data<float>(), image.data<float>() + 16, 0.0f);
  const float third = 1.0f / 3;
  const Tensor box = AsTensor<float>({third, third, 2 * third, 2 * third}, {1, 4}), index = AsTensor<int32_t>({0});
  const Op crop = Of("CropAndResize")
                      .Input("image: T")
                      .Input("boxes: float")
                      .Input("box_ind: int32")
                      .Input("crop_size: int32")
                      .Output("crops: float")
                      .Attr("method: string = 'bilinear'")
                      .Attr("extrapolation_value: float = 0.0");
  Expect(crop, {image, box, index, AsTensor<int32_t>({3, 2})}, Float(),
         {AsTensor<float>({5, 6, 7, 8, 9, 10}, {1, 3, 2, 1})});
  Expect(crop, {image, AsTensor<float>({0, 2, 1, NAN}, {1, 4}), index, AsTensor<int32_t>({1, 1})},
         Attr("extrapolation_value", -7.0f, Float()), {AsTensor<float>({-7}, {1, 1, 1, 1})});
  EXPECT_THAT(Run(crop, {image, box, AsTensor<int32_t>({1}), AsTensor<int32_t>({3, 2})}, Float()),
              StatusIs(absl::StatusCode::kOutOfRange, testing::HasSubstr("box_index has values outside")));
  const Op by_image = Of("CropAndResizeGradImage")
                          .Input("grads: float")
                          .Input("boxes: float")
                          .Input("box_ind: int32")
                          .Input("image_size: int32")
                          .Output("output: T")
                          .Attr("method: string = 'bilinear'");
  const Tensor gradients = AsTensor<float>({1, 2, 4, 8, 16, 32}, {1, 3, 2, 1});
  Expect(by_image, {gradients, box, index, AsTensor<int32_t>({1, 4, 4, 1})}, Float(),
         {AsTensor<float>({0, 0, 0, 0, 0, 3, 6, 0, 0, 18, 36, 0, 0, 0, 0, 0}, {1, 4, 4, 1})});
  const Op by_boxes = Of("CropAndResizeGradBoxes")
                          .Input("grads: float")
                          .Input("image: T")
                          .Input("boxes: float")
                          .Input("box_ind: int32")
                          .Output("output: float")
                          .Attr("method: string = 'bilinear'");
  // Between rows alone there is a slope: 4 for each row, of which the middle row of the crop has half each.
  const Tensor middle = AsTensor<float>({0.4f, 0.4f, 0.6f, 0.6f}, {1, 4});
  const Tensor one = AsTensor<float>({1}, {1, 1, 1, 1});
  Expect(by_boxes, {one, image, middle, index}, Float(), {AsTensor<float>({6, 1.5f, 6, 1.5f}, {1, 4})});
}

}  // namespace weir
