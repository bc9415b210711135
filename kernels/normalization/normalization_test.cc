#include "kernels/device/kernel_cases_testing.h"

namespace weir {
namespace {

class NormalizationTest : public KernelCasesTest {};

TEST_F(NormalizationTest, BatchNormalisation) {
  const Attrs train = Attrs().Set("epsilon", 0.01f).Set("is_training", true);
  const Attrs infer = Attrs().Set("epsilon", 0.01f).Set("is_training", false);
  const Attrs mixed = Attrs().Set("epsilon", 0.01f).Set("is_training", true).Set("exponential_avg_factor", 0.3f);
  const Tensor none = Tensor(DT_FLOAT, {0}), y = M({-1.6726124f, 0.10912919f, 1.8908708f, 3.6726124f}, {1, 2, 2, 1});
  const Tensor x = M({1, 2, 4, 8}, {1, 2, 2, 1}), mean = V({3.75f}), variance = V({7.1875f});
  ExpectOutputs({
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), none, none},
       {y, V({1.5f}), V({1.6666667f}), V({1.5f}), V({1.25f}), none},
       train},
      {"FusedBatchNorm",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), none, none},
       {y, V({1.5f}), V({1.6666667f}), V({1.5f}), V({1.25f})},
       train},
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), V({10}), V({20})},
       {y, V({7.45f}), V({14.5f}), V({1.5f}), V({1.25f}), none},
       mixed},
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), V({.5f}), V({2})},
       {M({0.29465103f, 1.705349f, 3.116047f, 4.526745f}, {1, 2, 2, 1}), V({.5f}), V({2}), V({.5f}), V({2}), none},
       infer},
      {"FusedBatchNormV3",
       {Counting({1, 1, 1, 1}), V({2}), V({1}), none, none},
       {M({1}, {1, 1, 1, 1}), V({0}), V({0}), V({0}), V({0})},
       train},
      {"FusedBatchNormGradV3",
       {Counting({1, 2, 2, 1}), x, V({2}), mean, variance, none},
       {M({-0.29933354f, 0.14837204f, 0.29829776f, -0.14733627f}, {1, 2, 2, 1}), V({4.286541f}), V({6}),
        AsScalar<float>(0), AsScalar<float>(0)},
       train},
      {"FusedBatchNormGradV3",
       {Counting({1, 2, 2, 1}), x, V({2}), mean, variance, none},
       {M({0, 0.7454854f, 1.4909708f, 2.2364564f}, {1, 2, 2, 1}), V({4.286541f}), V({6})},
       infer},
  });
  ExpectErrors({
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2, 1}), V({1}), none, none},
       "scale must have the same number of elements as the channels of x, got 2 and 1",
       train},
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), none, none},
       "mean must have the same number",
       infer},
      {"FusedBatchNormV3", {Counting({2, 1}), V({2}), V({1}), none, none}, "input must be 4 or 5-dimensional", train},
      {"FusedBatchNormGradV3",
       {Counting({1, 2, 2, 1}), Counting({1, 2, 1, 1}), V({2}), mean, variance, none},
       "must have same shape",
       train},
  });
}

TEST_F(NormalizationTest, BatchNormalisationAgreesBetweenLayouts) {
  const Tensor x = Scrambled<float>({3, 5, 4, 6}, 1), dy = Scrambled<float>({3, 5, 4, 6}, 2);
  const Tensor scale = V({1, 2, 3, 4, 5, 6}), none = Tensor(DT_FLOAT, {0});
  const Attrs first = Attrs().Set("data_format", "NCHW");
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> last, RunOp("FusedBatchNormV3", {x, scale, scale, none, none}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> planes,
                       RunOp("FusedBatchNormV3", {ToChannelsFirst<float>(x), scale, scale, none, none}, first));
  ExpectTensorNear(planes[0], ToChannelsFirst<float>(last[0]));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> g, RunOp("FusedBatchNormGradV3", {dy, x, scale, last[3], last[4], none}));
  ASSERT_OK_AND_ASSIGN(
      std::vector<Tensor> h,
      RunOp("FusedBatchNormGradV3",
            {ToChannelsFirst<float>(dy), ToChannelsFirst<float>(x), scale, last[3], last[4], none}, first));
  ExpectTensorNear(h[0], ToChannelsFirst<float>(g[0]));
  for (int i : {1, 2}) ExpectTensorNear(h[i], g[i], 1e-4);
}

TEST_F(NormalizationTest, LocalResponseNormalisation) {
  const Attrs attrs = Attrs().Set("depth_radius", 1).Set("bias", 1.0f).Set("alpha", 0.5f).Set("beta", 0.75f);
  const Tensor x = Counting({1, 1, 1, 4});
  ExpectOutputs({{"LRN", {x}, {M({0, 0.39079496f, 0.4204482f, 0.6619501f}, {1, 1, 1, 4})}, attrs},
                 {"LRNGrad", {x, x, x}, {M({0, -0.19849075f, -2.5581234f, -3.1630497f}, {1, 1, 1, 4})}, attrs}});
  ExpectErrors(
      {{"LRN", {V({1})}, "4-dimensional", attrs}, {"LRN", {x}, "depth_radius", Attrs().Set("depth_radius", -1)}});
}

}  // namespace
}  // namespace weir
