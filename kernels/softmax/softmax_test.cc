#include <cmath>

#include "kernels/device/kernel_cases_testing.h"

namespace weir {
namespace {

class SoftmaxTest : public KernelCasesTest {};

TEST_F(SoftmaxTest, Softmaxes) {
  const float a = 0.09003057f, b = 0.24472848f, c = 0.66524094f;
  ExpectOutputs({
      {"Softmax", {M({1, 2, 3, 1001, 1002, 1003}, {2, 3})}, {M({a, b, c, a, b, c}, {2, 3})}},
      {"Softmax", {Tensor(DT_FLOAT, {2, 0})}, {Tensor(DT_FLOAT, {2, 0})}},
      {"LogSoftmax", {M({1, 2, 3}, {1, 3})}, {M({-2.407606f, -1.4076059f, -0.40760595f}, {1, 3})}},
      {"SoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3, 1, 2, 4}, {2, 3}), M({0, 1, 0}, {1, 3})},
       {V({1.4076059f, 2.169846f}), M({a, b - 1, c, 0.04201007f, -0.8858048f, 0.8437947f}, {2, 3})}},
      {"SoftmaxCrossEntropyWithLogits", {Tensor(DT_FLOAT, {2, 0}), Tensor(DT_FLOAT, {2, 0})}, {V({0, 0})}},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3}, {1, 3}), Ints({1})},
       {V({1.4076059f}), M({a, b - 1, c}, {1, 3})}},
  });
  ASSERT_OK_AND_ASSIGN(Tensor lowest, RunOp1("Softmax", {M({-kInf, -kInf}, {1, 2})}));
  EXPECT_TRUE(std::isnan(lowest.data<float>()[0]));
  ExpectErrors({
      {"Softmax", {AsScalar<float>(1)}, "logits must have >= 1 dimension"},
      {"SoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3}, {1, 3}), M({1, 2}, {1, 2})},
       "logits and labels must be broadcastable: logits_size=[1,3] labels_size=[1,2]"},
      {"SoftmaxCrossEntropyWithLogits", {V({1}), V({1})}, "2-dimensional"},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3, 1, 2, 4}, {2, 3}), Ints({5, 1})},
       "Received a label value of 5 which is outside the valid range of [0, 3).  Label values: 5 1"},
      {"SparseSoftmaxCrossEntropyWithLogits", {M({1, 2}, {1, 2}), Ints({-1})}, "label value of -1"},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {M({1, 2}, {1, 2}), Ints({1, 1})},
       "logits and labels must have the same first dimension, got logits shape [1,2] and labels shape [2]"},
      {"SparseSoftmaxCrossEntropyWithLogits", {V({1}), Ints({1})}, "logits must be 2-D, but got shape [1]"},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {Tensor(DT_FLOAT, {1, 0}), Ints({0})},
       "Must have at least one class, but got logits shape [1,0]"},
  });
}

}  // namespace
}  // namespace weir
