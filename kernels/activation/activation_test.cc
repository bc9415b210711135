#include <algorithm>

#include "kernels/device/kernel_cases_testing.h"

namespace weir {
namespace {

class ActivationTest : public KernelCasesTest {};

TEST_F(ActivationTest, Activations) {
  ExpectOutputs({
      {"Relu", {V({-1, 0, 2, kNaN, kInf})}, {V({0, 0, 2, kNaN, kInf})}},
      {"Relu", {Ints({-1, 2})}, {Ints({0, 2})}},
      {"Relu", {AsTensor<uint8_t>({200})}, {AsTensor<uint8_t>({200})}},
      {"Relu6", {V({-1, 3, 7, kNaN})}, {V({0, 3, 6, kNaN})}},
      {"Elu", {V({-1, -20, 2, -kInf, kNaN})}, {V({-0.6321206f, -1, 2, -1, kNaN})}},
      {"Selu", {V({-1, 2})}, {V({-1.1113307f, 2.101402f})}},
      {"LeakyRelu", {V({-1, 2})}, {V({-0.3f, 2})}, Attrs().Set("alpha", 0.3f)},
      {"Softplus", {V({-100, -1, 0, 1, 100})}, {V({0, 0.3132617f, 0.6931472f, 1.3132616f, 100})}},
      {"Softsign", {V({-1, 3})}, {V({-0.5f, 0.75f})}},
      {"ReluGrad", {V({1, 2, 3, 4}), V({-1, 0, 1, kNaN})}, {V({0, 0, 3, 0})}},
      {"Relu6Grad", {V({2, 2, 2}), V({0, 6, 3})}, {V({0, 0, 2})}},
      {"EluGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({1, 2})}},
      {"SeluGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({2.5161986f, 2.101402f})}},
      {"LeakyReluGrad", {V({1, 1, 1}), V({-1, 0, 2})}, {V({0.3f, 0.3f, 1})}, Attrs().Set("alpha", 0.3f)},
      {"SoftplusGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({0.75508136f, 1.2449187f})}},
      {"SoftsignGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({0.8888889f, 0.8888889f})}},
  });
}

TEST_F(ActivationTest, ActivationsOfSixteenBitsSpanSeveralBlocks) {
  std::vector<half> in, expected;
  for (int i = -500; i < 500; ++i) {
    in.push_back(half(i));
    expected.push_back(half(std::max(i, 0)));
  }
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Relu", {AsTensor<half>(in)}));
  ExpectTensorEqual(out, AsTensor<half>(expected));
}

TEST_F(ActivationTest, Biases) {
  const Attrs first = Attrs().Set("data_format", "NCHW");
  ExpectOutputs({
      {"BiasAdd", {M({1, 2, 3, 4}, {2, 2}), V({10, 20})}, {M({11, 22, 13, 24}, {2, 2})}},
      {"BiasAdd", {M({1, 2, 3, 4}, {1, 2, 2, 1}), V({10, 20})}, {M({11, 12, 23, 24}, {1, 2, 2, 1})}, first},
      {"BiasAddV1", {M({1, 2}, {1, 2}), V({10, 20})}, {M({11, 22}, {1, 2})}},
      {"BiasAdd", {AsTensor<int8_t>({127}, {1, 1}), AsTensor<int8_t>({1})}, {AsTensor<int8_t>({-128}, {1, 1})}},
      {"BiasAddGrad", {M({1, 2, 3, 4}, {2, 2})}, {V({4, 6})}},
      {"BiasAddGrad", {Counting({1, 2, 1, 1, 2})}, {V({1, 5})}, first},
      {"BiasAddGrad", {AsTensor<int8_t>({100, 100}, {2, 1})}, {AsTensor<int8_t>({-56})}},
      {"L2Loss", {V({1, 2})}, {AsScalar<float>(2.5f)}},
      {"L2Loss", {Tensor(DT_FLOAT, {0})}, {AsScalar<float>(0)}},
  });
  ASSERT_OK_AND_ASSIGN(Tensor sums, RunOp1("BiasAddGrad", {Scrambled<float>({70000, 7}, 3)}));
  ASSERT_OK_AND_ASSIGN(Tensor again, RunOp1("BiasAddGrad", {Scrambled<double>({70000, 7}, 3)}));
  ExpectTensorEqual(sums, ToFloat<double>(again));
  ExpectErrors({
      {"BiasAdd",
       {M({1, 2}, {1, 2}), V({1})},
       "Must provide as many biases as the last dimension of the input tensor: [1] vs. [1,2]"},
      {"BiasAdd", {V({1, 2}), V({1})}, "Input tensor must be at least 2D: [2]"},
      {"BiasAdd", {M({1, 2}, {1, 2}), M({1}, {1, 1})}, "Biases must be 1D: [1,1]"},
      {"ReluGrad", {V({1, 2}), V({1})}, "must have the same size and shape.  Input 0: [2] != input 1: [1]"},
  });
}

}  // namespace
}  // namespace weir
