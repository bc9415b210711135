#include "kernels/op_testing.h"

namespace weir {
namespace {

class VolumeTest : public OpTest {};

TEST_F(VolumeTest, WindowsOverVolumes) {
  const Tensor x = F({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2, 1});
  const Attrs pool = Attrs()
                         .Set("ksize", std::vector<int64_t>{1, 2, 2, 2, 1})
                         .Set("strides", std::vector<int64_t>{1, 2, 2, 2, 1})
                         .Set("padding", std::string("VALID"));
  ASSERT_OK_AND_ASSIGN(Tensor most, RunOp1("MaxPool3D", {x}, pool));
  ExpectTensorEqual(most, F({8}, {1, 1, 1, 1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor mean, RunOp1("AvgPool3D", {x}, pool));
  ExpectTensorEqual(mean, F({4.5f}, {1, 1, 1, 1, 1}));
  const Attrs unit = Attrs().Set("strides", std::vector<int64_t>{1, 1, 1, 1, 1}).Set("padding", std::string("VALID"));
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("Conv3D", {x, F({1, 1, 1, 1, 1, 1, 1, 2}, {2, 2, 2, 1, 1})}, unit));
  ExpectTensorEqual(sum, F({44}, {1, 1, 1, 1, 1}));
  ExpectErrors({
      {"AvgPool3DGrad", {Ints({1, 2, 2, 2, 1}), F({1, 2}, {1, 2, 1, 1, 1})}, "Expected grad shape", pool},
      {"Conv3D", {x, F({1, 1}, {1, 1, 1, 2, 1})}, "evenly divisible", unit},
      {"Conv3DBackpropInputV2", {AsTensor<int32_t>({-1, 2, 2, 2, 1}), F({1}, {1, 1, 1, 1, 1}), x}, "", unit},
      {"MaxPoolGradWithArgmax",
       {F({1}, {1, 1, 1, 1}), F({1}, {1, 1, 1, 1}), AsTensor<int64_t>({5}, {1, 1, 1, 1})},
       "is not in [0, 1)",
       Attrs()
           .Set("ksize", std::vector<int64_t>{1, 1, 1, 1})
           .Set("strides", std::vector<int64_t>{1, 1, 1, 1})
           .Set("padding", std::string("VALID"))},
  });
}

}  // namespace
}  // namespace weir
