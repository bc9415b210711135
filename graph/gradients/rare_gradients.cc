#include "graph/gradients/rare_gradients.h"

#include "graph/gradients/gradient_registry.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status PassOn(G& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}

// Shared by all elements that are the n-th.
absl::Status NthElement(G& g) {
  const Output x = g.input(0);
  const Output chosen = g.Call("ExpandDims", {g.output(0), -1});
  const Output is_chosen = g.Call("Cast", {g.Call("Equal", {chosen, x})}, {G::Set("DstT", x.type())});
  const Output count = g.Call("Sum", {is_chosen, Tensor::Vector<int32_t>({-1})}, {G::Set("keep_dims", true)});
  const Output share = g.Call("RealDiv", {is_chosen, count});
  g.set_grad(0, g.Call("Mul", {share, g.Call("ExpandDims", {g.dy(), -1})}));
  return absl::OkStatus();
}

absl::Status FractionalMaxPool(G& g) {
  g.set_grad(0, g.Call("FractionalMaxPoolGrad", {g.input(0), g.output(0), g.dy(), g.output(1), g.output(2)},
                       {G::Set("overlapping", g.Attr<bool>("overlapping"))}));
  return absl::OkStatus();
}
absl::Status FractionalAvgPool(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", DT_INT64)});
  g.set_grad(0, g.Call("FractionalAvgPoolGrad", {shape, g.dy(), g.output(1), g.output(2)},
                       {G::Set("overlapping", g.Attr<bool>("overlapping"))}));
  return absl::OkStatus();
}

// Of images of other types there is none.
absl::Status ScaleAndTranslate(G& g) {
  if (g.input(0).type() != DT_FLOAT) return absl::OkStatus();
  g.set_grad(0, g.Call("ScaleAndTranslateGrad", {g.dy(), g.input(0), g.input(2), g.input(3)},
                       {G::Set("kernel_type", g.Attr<std::string>("kernel_type")),
                        G::Set("antialias", g.Attr<bool>("antialias"))}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRareGradients(GradientRegistry& registry) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"NthElement", NthElement},
      {"FractionalMaxPool", FractionalMaxPool},
      {"FractionalAvgPool", FractionalAvgPool},
      {"ScaleAndTranslate", ScaleAndTranslate},
      {"CheckNumericsV2", PassOn},
      {"DebugGradientIdentity", PassOn},
      {"DebugIdentityV2", PassOn},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(registry.Register(op, fn));
  for (const char* op : {"ExtractGlimpse",
                         "ExtractGlimpseV2",
                         "DrawBoundingBoxes",
                         "DrawBoundingBoxesV2",
                         "SampleDistortedBoundingBox",
                         "SampleDistortedBoundingBoxV2",
                         "StatelessSampleDistortedBoundingBox",
                         "PyFunc",
                         "PyFuncStateless",
                         "CTCBeamSearchDecoder",
                         "DecodePng",
                         "DecodeImage",
                         "ExtractJpegShape",
                         "QuantizeV2",
                         "Dequantize",
                         "CombinedNonMaxSuppression",
                         "LearnedUnigramCandidateSampler",
                         "ThreadUnsafeUnigramCandidateSampler",
                         "MultiDeviceIteratorGetNextFromShard",
                         "DebugNumericSummary"}) {
    RETURN_IF_ERROR(registry.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
