#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> ActivationGradientCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"}) {
    cases.push_back(Twice({op, {X({2, 5})}}));
  }
  cases.push_back({"Relu6", {X({8}, -3, 9)}});
  for (const char* op :
       {"ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "EluGrad", "SeluGrad"}) {
    cases.push_back({op, {X({6}), X({6}, -0.8, 0.8)}});
  }
  cases.push_back(Twice({"BiasAdd", {X({2, 3}), X({3})}}));
  cases.push_back({"BiasAdd", {X({2, 3, 2, 2}), X({3})}, Attrs().Set("data_format", std::string("NCHW"))});
  cases.push_back({"BiasAddV1", {X({2, 3}), X({3})}});
  cases.push_back({"BiasAddGrad", {X({2, 2, 2, 3})}});
  cases.push_back({"BiasAddGrad", {X({2, 3, 2, 2})}, Attrs().Set("data_format", std::string("NCHW"))});
  cases.push_back({"L2Loss", {X({2, 4})}});
  return cases;
}

namespace {

TEST(ActivationGradients, AgreeWithNumericOnes) { CheckCases(ActivationGradientCases()); }

}  // namespace
}  // namespace weir
