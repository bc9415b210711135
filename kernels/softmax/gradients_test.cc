#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> SoftmaxGradientCases() {
  std::vector<OpCase> cases;
  cases.push_back(Twice({"Softmax", {X({2, 4})}}));
  cases.push_back(Twice({"LogSoftmax", {X({2, 4})}}));
  const Tensor labels = AsTensor<double>({0.2, 0.5, 0.3, 0.7, 0.1, 0.2}, TensorShape({2, 3}));
  cases.push_back(Twice(FirstOutput({"SoftmaxCrossEntropyWithLogits", {X({2, 3}), C(labels)}})));
  cases.push_back(FirstOutput({"SoftmaxCrossEntropyWithLogits", {C(labels), X({2, 3}, 0.1, 0.9)}}));
  cases.push_back(Twice(FirstOutput({"SparseSoftmaxCrossEntropyWithLogits", {X({2, 3}), Ints({2, 0})}})));
  return cases;
}

namespace {

TEST(SoftmaxGradients, AgreeWithNumericOnes) { CheckCases(SoftmaxGradientCases()); }

}  // namespace
}  // namespace weir
