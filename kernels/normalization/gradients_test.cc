#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> NormalizationBatchCases() {
  std::vector<OpCase> cases;
  const OpArgument none = C(Tensor(DT_FLOAT, TensorShape({0})));
  const OpArgument mean = C(AsTensor<float>({0.1f, -0.2f})), variance = C(AsTensor<float>({0.8f, 1.3f}));
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
    const Attrs training = Attrs().Set("epsilon", 0.01f);
    const Attrs inference = Attrs().Set("epsilon", 0.01f).Set("is_training", false);
    const OpArgument x = X({2, 2, 2, 2}), scale = X({2}, 0.5, 1.5), offset = X({2});
    cases.push_back(Twice(Single(FirstOutput({op, {x, scale, offset, none, none}, training}))));
    cases.push_back(Twice(Single(FirstOutput({op, {x, scale, offset, mean, variance}, inference}))));
    for (Attrs first : {training, inference}) {
      first.Set("data_format", std::string("NCHW"));
      cases.push_back(Twice(Single(FirstOutput({op, {X({2, 2, 3, 2}), scale, offset, mean, variance}, first}))));
    }
  }
  cases.push_back(Single({"LRN", {X({1, 2, 2, 4})}, Attrs().Set("depth_radius", int64_t{1}).Set("alpha", 0.5f)}));
  return cases;
}

std::vector<OpCase> NormalizationGlobalCases() {
  const Attrs attrs = Attrs().Set("variance_epsilon", 0.01f).Set("scale_after_normalization", true);
  const Attrs plain = Attrs().Set("variance_epsilon", 0.01f).Set("scale_after_normalization", false);
  const OpArgument vector = X({2}, 0.5, 1.5);
  return {
      {"BatchNormWithGlobalNormalization", {X({1, 2, 3, 2}), vector, vector, vector, vector}, attrs},
      {"BatchNormWithGlobalNormalization",
       {X({1, 2, 3, 2}), vector, vector, vector, C(AsTensor<double>({1, 1}))},
       plain},
  };
}

}  // namespace

std::vector<OpCase> NormalizationGradientCases() {
  return Joined({NormalizationBatchCases(), NormalizationGlobalCases()});
}

namespace {

TEST(NormalizationGradients, Batch) { CheckCases(NormalizationBatchCases()); }
TEST(NormalizationGradients, Global) { CheckCases(NormalizationGlobalCases()); }

}  // namespace
}  // namespace weir
