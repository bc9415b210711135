#include "tests/gradients/op_case.h"

namespace weir {
namespace {

using Ints64 = std::vector<int64_t>;

std::vector<OpCase> VolumeConvolutionCases() {
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

std::vector<OpCase> VolumePoolCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    const Attrs pool = Attrs()
                           .Set("strides", Ints64{1, 2, 2, 2, 1})
                           .Set("ksize", Ints64{1, 2, 3, 2, 1})
                           .Set("padding", std::string(padding));
    cases.push_back(Twice({"AvgPool3D", {X({1, 3, 4, 3, 2})}, pool}));
    cases.push_back(Single({"MaxPool3D", {X({1, 3, 4, 3, 2})}, pool}));
    const Attrs plane = Attrs()
                            .Set("strides", Ints64{1, 2, 2, 1})
                            .Set("ksize", Ints64{1, 2, 2, 1})
                            .Set("padding", std::string(padding));
    cases.push_back(FirstOutput({"MaxPoolWithArgmax", {X({2, 4, 3, 2})}, plane}));
    cases.push_back(Twice({"MaxPool", {X({1, 4, 4, 2})}, plane}));
  }
  const Attrs average = Attrs()
                            .Set("strides", Ints64{1, 2, 2, 2, 1})
                            .Set("ksize", Ints64{1, 2, 2, 2, 1})
                            .Set("padding", std::string("VALID"));
  cases.push_back({"AvgPool3DGrad", {Ints({1, 2, 4, 2, 1}), X({1, 1, 2, 1, 1})}, average});
  return cases;
}

std::vector<OpCase> NormalizationCases() {
  const Attrs attrs = Attrs().Set("variance_epsilon", 0.01f).Set("scale_after_normalization", true);
  const Attrs plain = Attrs().Set("variance_epsilon", 0.01f).Set("scale_after_normalization", false);
  const OpArgument vector = X({2}, 0.5, 1.5);
  return {
      {"BatchNormWithGlobalNormalization", {X({1, 2, 3, 2}), vector, vector, vector, vector}, attrs},
      {"BatchNormWithGlobalNormalization",
       {X({1, 2, 3, 2}), vector, vector, vector, C(AsTensor<double>({1, 1}))},
       plain},
      FirstOutput({"IsotonicRegression", {X({2, 5})}, Attrs().Set("output_dtype", DT_DOUBLE)}),
      {"GuaranteeConst", {X({3})}},
      FirstOutput({"CTCLoss",
                   {X({4, 2, 3}), C(AsTensor<int64_t>({0, 0, 0, 1, 1, 0}, TensorShape({3, 2}))), Ints({0, 1, 1}),
                    Ints({4, 3})}}),
      Single(FirstOutput({"CTCLossV2",
                          {X({4, 2, 3}), C(AsTensor<int64_t>({0, 0, 0, 1, 1, 0}, TensorShape({3, 2}))), Ints({1, 2, 1}),
                           Ints({4, 3})}})),
      {"CheckNumericsV2", {X({3})}, Attrs().Set("message", std::string("numbers"))},
      {"DebugGradientIdentity", {X({3})}},
      {"DebugIdentityV2", {X({3})}},
  };
}

std::vector<OpCase> ImageCases() {
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
  const Attrs regions = Attrs()
                            .Set("pooling_ratio", std::vector<float>{1, 1.5f, 1.4f, 1})
                            .Set("deterministic", true)
                            .Set("overlapping", true)
                            .Set("seed", int64_t{3});
  for (const char* op : {"FractionalMaxPool", "FractionalAvgPool"}) {
    cases.push_back(FirstOutput({op, {X({2, 5, 6, 2})}, regions}));
  }
  cases.push_back({"NthElement", {X({3, 5}), Int(2)}});
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

std::vector<OpCase> PatchCases() {
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

std::vector<OpCase> FourierCases() {
  const Attrs to_complex = Attrs().Set("Treal", DT_DOUBLE).Set("Tcomplex", DT_COMPLEX128);
  std::vector<OpCase> cases;
  for (const char* op : {"FFT", "IFFT"}) cases.push_back(Complex({op, {X({2, 5})}}));
  for (const char* op : {"FFT2D", "IFFT2D"}) cases.push_back(Complex({op, {X({2, 3})}}));
  for (const char* op : {"FFT3D", "IFFT3D"}) cases.push_back(Complex({op, {X({2, 3, 2})}}));
  cases.push_back({"RFFT", {X({2, 6}), Ints({6})}, to_complex});
  cases.push_back({"RFFT", {X({7}), Ints({5})}, to_complex});
  cases.push_back({"RFFT2D", {X({3, 4}), Ints({3, 4})}, to_complex});
  cases.push_back({"RFFT3D", {X({2, 3, 4}), Ints({2, 3, 4})}, to_complex});
  cases.push_back(Complex({"IRFFT", {X({2, 4}), Ints({6})}, to_complex}));
  cases.push_back(Complex({"IRFFT", {X({4}), Ints({5})}, to_complex}));
  cases.push_back(Complex({"IRFFT2D", {X({3, 3}), Ints({3, 4})}, to_complex}));
  cases.push_back(Complex({"IRFFT3D", {X({2, 3, 3}), Ints({2, 3, 4})}, to_complex}));
  return cases;
}

// Of their outputs, the states of the cells and what they put out have gradients.
std::vector<OpCase> RecurrentCases() {
  const OpArgument length = C(Tensor::Scalar<int64_t>(3)), x = X({3, 2, 2}, -0.9, 0.9), state = X({2, 2}, -0.9, 0.9);
  const OpArgument weights = X({4, 8}, -0.5, 0.5), peephole = X({2}, -0.5, 0.5), bias = X({8}, -0.5, 0.5);
  std::vector<OpCase> cases;
  for (const bool peepholes : {true, false}) {
    const OpArgument peeps = peepholes ? peephole : C(Tensor(DT_FLOAT, TensorShape({2})));
    for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
      Attrs attrs;
      attrs.Set("use_peephole", peepholes).Set("cell_clip", -1.0f);
      cases.push_back(
          Single(Outputs({1, 6}, {op, {length, x, state, state, weights, peeps, peeps, peeps, bias}, attrs})));
    }
  }
  for (const char* mode : {"lstm", "gru", "rnn_tanh"}) {
    const bool is_lstm = std::string(mode) == "lstm";
    const int64_t gates = is_lstm ? 4 : std::string(mode) == "gru" ? 3 : 1;
    Attrs attrs;
    attrs.Set("rnn_mode", std::string(mode)).Set("direction", std::string("bidirectional"));
    const std::vector<int> outputs = is_lstm ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1};
    const OpArgument h = X({2, 2, 3}, -0.9, 0.9);
    const OpArgument c = is_lstm ? h : C(Tensor(DT_DOUBLE, TensorShape({2, 2, 3})));
    const OpArgument params = X({2 * gates * 3 * (2 + 3 + 2)}, -0.5, 0.5);
    cases.push_back(Outputs(outputs, {"CudnnRNN", {x, h, c, params}, attrs}));
    cases.push_back(Outputs(outputs, {"CudnnRNNV2", {x, h, c, params}, attrs}));
    cases.push_back(Outputs(outputs, {"CudnnRNNV3", {x, h, c, params, C(Tensor::Vector<int32_t>({3, 2}))}, attrs}));
  }
  return cases;
}

std::vector<OpCase> EinsumCases() {
  const auto equation = [](const char* text) { return Attrs().Set("equation", std::string(text)); };
  return {
      Twice({"Einsum", {List({X({2, 3}), X({3, 4})})}, equation("ab,bc->ac")}),
      {"Einsum", {List({X({2, 3, 2}), X({2, 3})})}, equation("abc,db->ad")},
      {"Einsum", {List({X({2, 3})})}, equation("ab->a")},
      Twice({"Einsum", {List({X({3, 3})})}, equation("ii->i")}),
      {"Einsum", {List({X({3, 3, 2})})}, equation("iij->j")},
      {"Einsum", {List({X({2, 3, 3, 4})})}, equation("biic->cb")},
      {"Einsum", {List({X({3})})}, equation("i->ii")},
      Twice({"Einsum", {List({X({2, 3, 3}), X({3, 2})})}, equation("aii,ib->ab")}),
      {"Einsum", {List({X({2, 3, 4})})}, equation("a...b->b...")},
      {"Einsum", {List({X({2, 3, 4})})}, equation("...b->b")},
      Twice({"Einsum", {List({X({2, 3, 4}), X({4, 2})})}, equation("...ab,bc->...ac")}),
      Twice({"Einsum", {List({X({2, 1, 2, 3}), X({4, 3, 2})})}, equation("...ab,...bc->...ac")}),
      {"Einsum", {List({X({2, 3, 4}), X({2, 1, 4, 3})})}, equation("a...b,a...bc->...cab")},
      {"Einsum", {List({X({3, 1, 3}), X({4, 3})})}, equation("a...a,...a->...a")},
      {"Einsum", {List({X({2, 1, 3}), X({4, 3})})}, equation("b...a,...a->a")},
      {"Dilation2D",
       {X({1, 4, 4, 2}), X({2, 2, 2}, 0.001, 0.0173)},
       Attrs().Set("strides", Ints64{1, 1, 1, 1}).Set("rates", Ints64{1, 1, 1, 1}).Set("padding", std::string("SAME"))},
  };
}

}  // namespace

std::vector<OpCase> VolumeCases() {
  std::vector<OpCase> all;
  for (const auto& family : {VolumeConvolutionCases(), VolumePoolCases(), NormalizationCases(), ImageCases(),
                             PatchCases(), RecurrentCases(), FourierCases(), EinsumCases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

TEST(VolumeGradients, Convolutions) { CheckCases(VolumeConvolutionCases()); }
TEST(VolumeGradients, Pooling) { CheckCases(VolumePoolCases()); }
TEST(VolumeGradients, Normalization) { CheckCases(NormalizationCases()); }

TEST(VolumeGradients, Images) { CheckCases(ImageCases()); }
TEST(VolumeGradients, Patches) { CheckCases(PatchCases()); }
TEST(VolumeGradients, Recurrent) { CheckCases(RecurrentCases()); }
TEST(VolumeGradients, Fourier) { CheckCases(FourierCases()); }
TEST(VolumeGradients, Einsum) { CheckCases(EinsumCases()); }

}  // namespace weir
