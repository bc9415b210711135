// Convolutions, pooling and batch normalisation.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

struct Window {
  const char* padding;
  std::vector<int64_t> strides, dilations, paddings;  // NHWC
  int64_t rows, columns;                              // of the output, from an image of 6 x 7 and a filter of 3 x 2
};
const Window kWindows[] = {{"SAME", {1, 1, 1, 1}, {1, 1, 1, 1}, {}, 6, 7},
                           {"VALID", {1, 2, 1, 1}, {1, 1, 1, 1}, {}, 2, 6},
                           {"VALID", {1, 1, 1, 1}, {1, 2, 3, 1}, {}, 2, 4},
                           {"EXPLICIT", {1, 2, 2, 1}, {1, 1, 1, 1}, {0, 0, 2, 0, 1, 3, 0, 0}, 3, 5}};

}  // namespace

// oneDNN has no images of channels first with groups on every machine: those are compared where the CPU computes them
// by loops of its own (depthwise).
void GpuAgreementTest::AddConvolutions(DataType type) {
  for (const Window& w : kWindows) {
    const auto attrs = Attr(
        "strides", w.strides,
        Attr("dilations", w.dilations, Attr("padding", std::string(w.padding), Attr("explicit_paddings", w.paddings))));
    for (const int groups : {1, 2}) {
      const TensorShape image({2, 6, 7, 4}), filter({3, 2, 4 / groups, 6}), out({2, w.rows, w.columns, 6});
      const Tensor sizes = AsTensor<int32_t>({2, 6, 7, 4}), filter_sizes = AsTensor<int32_t>({3, 2, 4 / groups, 6});
      Add("Conv2D", {Of(type, image), Of(type, filter)}, attrs);
      Add("Conv2DBackpropInput", {sizes, Of(type, filter), Of(type, out)}, attrs);
      Add("Conv2DBackpropFilter", {Of(type, image), filter_sizes, Of(type, out)}, attrs);
    }
    if (w.dilations[1] != 1) continue;  // TensorFlow's shapes of gradients know none
    const TensorShape image({2, 6, 7, 3}), filter({3, 2, 3, 2}), out({2, w.rows, w.columns, 6});
    auto depthwise = attrs;
    if (w.strides[1] != w.strides[2]) depthwise = Attr("strides", std::vector<int64_t>{1, 1, 1, 1}, attrs);
    const TensorShape depth_out = w.strides[1] != w.strides[2] ? TensorShape({2, 4, 6, 6}) : out;
    Add("DepthwiseConv2dNative", {Of(type, image), Of(type, filter)}, depthwise);
    Add("DepthwiseConv2dNativeBackpropInput", {AsTensor<int32_t>({2, 6, 7, 3}), Of(type, filter), Of(type, depth_out)},
        depthwise);
    Add("DepthwiseConv2dNativeBackpropFilter", {Of(type, image), AsTensor<int32_t>({3, 2, 3, 2}), Of(type, depth_out)},
        depthwise);
  }
  const auto first = Attr("strides", std::vector<int64_t>{1, 1, 1, 1},
                          Attr("padding", std::string("SAME"), Attr("data_format", std::string("NCHW"))));
  Add("Conv2D", {Of(type, TensorShape({2, 4, 6, 7})), Of(type, TensorShape({3, 2, 4, 6}))}, first);
  Add("Conv2DBackpropInput",
      {AsTensor<int32_t>({2, 4, 6, 7}), Of(type, TensorShape({3, 2, 4, 6})), Of(type, TensorShape({2, 6, 6, 7}))},
      first);
  Add("DepthwiseConv2dNative", {Of(type, TensorShape({2, 3, 6, 7})), Of(type, TensorShape({3, 2, 3, 2}))}, first);
}

void GpuAgreementTest::AddPools(DataType type) {
  const TensorShape image({2, 6, 7, 3});
  for (const char* padding : {"SAME", "VALID"}) {
    const bool is_same = std::string(padding) == "SAME";
    const TensorShape out = is_same ? TensorShape({2, 3, 4, 3}) : TensorShape({2, 2, 3, 3});
    const std::vector<int64_t> ksize = {1, 3, 2, 1}, strides = {1, 2, 2, 1};
    const auto attrs = Attr("ksize", ksize, Attr("strides", strides, Attr("padding", std::string(padding))));
    const Tensor x = Of(type, image);
    Add("MaxPool", {x}, attrs);
    Add("MaxPoolV2", {x, AsTensor<int32_t>({1, 3, 2, 1}), AsTensor<int32_t>({1, 2, 2, 1})},
        Attr("padding", std::string(padding)));
    Add("MaxPoolGrad", {x, Of(type, out), Of(type, out)}, attrs);
    Add("MaxPoolGradV2",
        {x, Of(type, out), Of(type, out), AsTensor<int32_t>({1, 3, 2, 1}), AsTensor<int32_t>({1, 2, 2, 1})},
        Attr("padding", std::string(padding)));
    Add("AvgPool", {x}, attrs);
    Add("AvgPoolGrad", {AsTensor<int32_t>({2, 6, 7, 3}), Of(type, out)}, attrs);
  }
  const auto first = Attr("ksize", std::vector<int64_t>{1, 1, 3, 3},
                          Attr("strides", std::vector<int64_t>{1, 1, 1, 2},
                               Attr("padding", std::string("SAME"), Attr("data_format", std::string("NCHW")))));
  Add("MaxPool", {Of(type, TensorShape({2, 3, 6, 7}))}, first);
  Add("AvgPool", {Of(type, TensorShape({2, 3, 6, 7}))}, first);
}

void GpuAgreementTest::AddNorms(DataType type) {
  const auto vector = [this] { return Of(DT_FLOAT, TensorShape({3})); };
  for (const bool is_training : {true, false}) {
    for (const bool channels_first : {false, true}) {
      const TensorShape image = channels_first ? TensorShape({2, 3, 4, 5}) : TensorShape({2, 4, 5, 3});
      const auto attrs =
          Attr("is_training", is_training,
               Attr("data_format", std::string(channels_first ? "NCHW" : "NHWC"), Attr("epsilon", 0.01f)));
      const Tensor none(DT_FLOAT, TensorShape({0}));
      const auto old = [&] { return is_training ? none : vector(); };
      for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
        const bool is_first = std::string(op) == "FusedBatchNorm";
        if (is_first && type != DT_FLOAT) continue;
        Add(op, {Of(type, image), vector(), vector(), old(), old()}, attrs);
        if (!is_first && is_training) {
          Add(op, {Of(type, image), vector(), vector(), vector(), vector()},
              Attr("exponential_avg_factor", 0.25f, attrs));
        }
      }
      for (const char* op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
        if (std::string(op) == "FusedBatchNormGrad" && type != DT_FLOAT) continue;
        std::vector<Tensor> inputs = {Of(type, image), Of(type, image), vector(), vector(), vector()};
        if (std::string(op) == "FusedBatchNormGradV3") inputs.push_back(none);
        Add(op, inputs, attrs);
      }
    }
  }
}

}  // namespace weir
