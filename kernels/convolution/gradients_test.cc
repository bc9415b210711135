#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> ConvolutionImageCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    const Attrs unit = WindowAttrs({1, 1, 1, 1}, padding), strided = WindowAttrs({1, 2, 2, 1}, padding);
    cases.push_back(Twice({"Conv2D", {X({1, 4, 4, 2}), X({3, 3, 2, 2})}, unit}));
    cases.push_back({"Conv2D", {X({2, 5, 4, 1}), X({2, 3, 1, 2})}, strided});
    cases.push_back(Twice({"DepthwiseConv2dNative", {X({1, 4, 4, 2}), X({2, 2, 2, 2})}, unit}));
    cases.push_back({"DepthwiseConv2dNative", {X({1, 5, 5, 2}), X({3, 3, 2, 1})}, strided});
  }
  Attrs dilated = WindowAttrs({1, 1, 1, 1}, "VALID");
  dilated.Set("dilations", Ints64{1, 2, 2, 1});
  cases.push_back({"Conv2D", {X({1, 5, 5, 1}), X({2, 2, 1, 2})}, dilated});
  cases.push_back({"Conv2D", {X({1, 2, 4, 4}), X({3, 3, 2, 2})}, WindowAttrs({1, 1, 1, 1}, "SAME", "NCHW")});
  const Attrs valid = WindowAttrs({1, 1, 1, 1}, "VALID");
  cases.push_back({"Conv2DBackpropInput", {Ints({1, 4, 4, 2}), X({3, 3, 2, 2}), X({1, 2, 2, 2})}, valid});
  cases.push_back({"Conv2DBackpropFilter", {X({1, 4, 4, 2}), Ints({3, 3, 2, 2}), X({1, 2, 2, 2})}, valid});
  cases.push_back(
      {"DepthwiseConv2dNativeBackpropInput", {Ints({1, 4, 4, 2}), X({3, 3, 2, 1}), X({1, 2, 2, 2})}, valid});
  cases.push_back(
      {"DepthwiseConv2dNativeBackpropFilter", {X({1, 4, 4, 2}), Ints({3, 3, 2, 1}), X({1, 2, 2, 2})}, valid});
  return cases;
}

std::vector<OpCase> ConvolutionVolumeCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    const Attrs unit = Attrs().Set("strides", Ints64{1, 1, 1, 1, 1}).Set("padding", std::string(padding));
    const Attrs strided = Attrs().Set("strides", Ints64{1, 2, 1, 2, 1}).Set("padding", std::string(padding));
    cases.push_back(Twice({"Conv3D", {X({1, 2, 3, 3, 2}), X({2, 2, 2, 2, 2})}, unit}));
    cases.push_back({"Conv3D", {X({2, 3, 2, 4, 1}), X({2, 1, 2, 1, 2})}, strided});
  }
  const Attrs valid = Attrs().Set("strides", Ints64{1, 1, 1, 1, 1}).Set("padding", std::string("VALID"));
  cases.push_back({"Conv3DBackpropInputV2", {Ints({1, 2, 3, 2, 2}), X({2, 2, 1, 2, 2}), X({1, 1, 2, 2, 2})}, valid});
  cases.push_back({"Conv3DBackpropFilterV2", {X({1, 2, 3, 2, 2}), Ints({2, 2, 1, 2, 2}), X({1, 1, 2, 2, 2})}, valid});
  return cases;
}

}  // namespace

std::vector<OpCase> ConvolutionGradientCases() { return Joined({ConvolutionImageCases(), ConvolutionVolumeCases()}); }

namespace {

TEST(ConvolutionGradients, Image) { CheckCases(ConvolutionImageCases()); }
TEST(ConvolutionGradients, Volume) { CheckCases(ConvolutionVolumeCases()); }

}  // namespace
}  // namespace weir
