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
      {"Conv3D", {x, F({}, {1, 1, 1, 1, 0})}, "filter must not have zero elements", unit},
      {"Conv3D",
       {x, F({1}, {1, 1, 1, 1, 1})},
       "Current implementation does not yet support strides in the batch and depth dimensions",
       Attrs().Set("strides", std::vector<int64_t>{2, 1, 1, 1, 1}).Set("padding", std::string("VALID"))},
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

TEST_F(VolumeTest, ConvTakesSeveralBatchDimensions) {
  const auto attrs = [](int64_t batch_dims, int64_t rank) {
    return Attrs()
        .Set("strides", std::vector<int64_t>(rank, 1))
        .Set("padding", std::string("VALID"))
        .Set("batch_dims", batch_dims);
  };
  const Tensor x = F({1, 2, 3, 4, 5, 6, 7, 8}, {2, 1, 2, 2, 1}), filter = F({1, 10}, {1, 2, 1, 1});
  ASSERT_OK_AND_ASSIGN(Tensor two, RunOp1("Conv", {x, filter}, attrs(2, 4)));
  ExpectTensorEqual(two, F({21, 43, 65, 87}, {2, 1, 2, 1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor none, RunOp1("Conv", {F({1, 2, 3, 4}, {2, 2, 1}), filter}, attrs(0, 4)));
  ExpectTensorEqual(none, F({21, 43}, {2, 1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor volume,
                       RunOp1("Conv", {F({1, 2, 3, 4}, {1, 2, 1, 1, 2, 1}), F({1, 10}, {1, 1, 2, 1, 1})}, attrs(2, 5)));
  ExpectTensorEqual(volume, F({21, 43}, {1, 2, 1, 1, 1, 1}));
  ExpectErrors({
      {"Conv", {x, filter}, "2 or 3 spatial dimensions but got 1", attrs(3, 4)},
      {"Conv", {x, filter}, "strides field must specify 4 dimensions", attrs(2, 5)},
      {"Conv", {x, F({1, 1}, {1, 1, 2, 1})}, "Input depth must be equal to filter depth: 1 vs 2", attrs(2, 4)},
  });
}

}  // namespace
}  // namespace weir
