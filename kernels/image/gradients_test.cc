#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> ImageResizeCases() {
  const OpArgument size = Ints({5, 3}), box_image = Ints({1, 0});
  const OpArgument boxes = C(AsTensor<float>({0.1f, 0.2f, 0.8f, 0.9f, 0, 0.3f, 1, 0.6f}, TensorShape({2, 4})));
  std::vector<OpCase> cases;
  for (const bool centers : {false, true}) {
    const Attrs attrs = Attrs().Set("half_pixel_centers", centers);
    cases.push_back(Single({"ResizeBilinear", {X({1, 3, 4, 2}), size}, attrs}));
    cases.push_back(Single({"ResizeBicubic", {X({1, 3, 4, 2}), size}, attrs}));
    cases.push_back({"ResizeNearestNeighbor", {X({1, 3, 4, 2}), size}, attrs});
    cases.push_back(
        Single({"ResizeBilinearGrad", {X({1, 5, 3, 2}), C(Tensor(DT_FLOAT, TensorShape({1, 3, 4, 2})))}, attrs}));
  }
  cases.push_back(Single({"CropAndResize", {X({2, 4, 4, 1}), boxes, box_image, Ints({3, 2})}}));
  for (const std::string kernel : {"lanczos3", "box"}) {
    cases.push_back(Single({"ScaleAndTranslate",
                            {X({1, 4, 3, 1}), size, C(AsTensor<float>({1.5f, 0.8f})), C(AsTensor<float>({0.5f, -1}))},
                            Attrs().Set("kernel_type", kernel)}));
  }
  cases.push_back({"RGBToHSV", {X({4, 5, 3}, 0.02, 1)}});
  // By whole pixels; other projections have TensorFlow's gradient, which is not the adjoint.
  const OpArgument shift = C(AsTensor<float>({1, 0, 1, 0, 1, -2, 0, 0}, TensorShape({1, 8})));
  const Attrs nearest = Attrs().Set("interpolation", std::string("NEAREST"));
  const Attrs bilinear = Attrs().Set("interpolation", std::string("BILINEAR"));
  cases.push_back({"ImageProjectiveTransformV2", {X({2, 4, 5, 2}), shift, Ints({3, 6})}, nearest});
  const OpArgument fill = C(Tensor::Scalar<float>(0.5f));
  cases.push_back(Single({"ImageProjectiveTransformV3", {X({1, 4, 5, 2}), shift, Ints({4, 5}), fill}, bilinear}));
  return cases;
}

std::vector<OpCase> ImagePatchCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    const Attrs image = Attrs()
                            .Set("ksizes", Ints64{1, 2, 3, 1})
                            .Set("strides", Ints64{1, 2, 1, 1})
                            .Set("rates", Ints64{1, 1, 2, 1})
                            .Set("padding", std::string(padding));
    cases.push_back(Twice({"ExtractImagePatches", {X({2, 4, 6, 2})}, image}));
    const Attrs volume = Attrs()
                             .Set("ksizes", Ints64{1, 2, 1, 2, 1})
                             .Set("strides", Ints64{1, 1, 2, 1, 1})
                             .Set("padding", std::string(padding));
    cases.push_back(Twice({"ExtractVolumePatches", {X({2, 2, 3, 3, 2})}, volume}));
  }
  return cases;
}

}  // namespace

std::vector<OpCase> ImageGradientCases() { return Joined({ImageResizeCases(), ImagePatchCases()}); }

namespace {

TEST(ImageGradients, Resize) { CheckCases(ImageResizeCases()); }
TEST(ImageGradients, Patch) { CheckCases(ImagePatchCases()); }

}  // namespace
}  // namespace weir
