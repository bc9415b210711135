#include "kernels/device/kernel_cases_testing.h"

namespace weir {
namespace {

using Code = absl::StatusCode;

class PoolingTest : public KernelCasesTest {};

Attrs Window(std::vector<int64_t> ksize, std::vector<int64_t> strides, const std::string& padding,
             const std::string& format = "NHWC") {
  return Attrs().Set("ksize", ksize).Set("strides", strides).Set("padding", padding).Set("data_format", format);
}

TEST_F(PoolingTest, Pooling) {
  const std::vector<int64_t> two = {1, 2, 2, 1}, one = {1, 1, 1, 1}, first = {1, 1, 2, 2}, depth = {1, 1, 1, 2};
  ExpectOutputs({
      {"MaxPool", {Counting({1, 3, 3, 1})}, {M({4, 5, 7, 8}, {1, 2, 2, 1})}, Window(two, one, "VALID")},
      // A window that a stride would bring back fits nowhere.
      {"MaxPool", {Counting({1, 1, 1, 1})}, {M({}, {1, 0, 0, 1})}, Window({1, 4, 4, 1}, {1, 2, 2, 1}, "VALID")},
      {"MaxPool", {M({-3, -1}, {1, 1, 2, 1})}, {M({-1, -1}, {1, 1, 2, 1})}, Window(two, one, "SAME")},
      {"MaxPool", {Counting({1, 1, 2, 2})}, {M({3}, {1, 1, 1, 1})}, Window(first, first, "VALID", "NCHW")},
      {"MaxPool",
       {Counting({1, 2, 2, 4})},
       {M({1, 3, 5, 7, 9, 11, 13, 15}, {1, 2, 2, 2})},
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID")},
      // Spatial strides do not matter there, and indices name each element itself.
      {"MaxPool", {Counting({1, 2, 1, 2})}, {M({1, 3}, {1, 2, 1, 1})}, Window(depth, {1, 2, 1, 2}, "VALID")},
      {"MaxPoolWithArgmax",
       {M({7, 5, 9, 8}, {1, 2, 1, 2})},
       {M({7, 5, 9, 8}, {1, 2, 1, 2}), AsTensor<int64_t>({0, 1, 2, 3}, {1, 2, 1, 2})},
       Attrs().Set("ksize", depth).Set("strides", depth).Set("padding", "VALID")},
      {"MaxPool",
       {Counting({1, 2, 2, 1})},
       {M({1, 1, 3, 3}, {1, 2, 2, 1})},
       Window(two, one, "EXPLICIT").Set("explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 0})},
      {"MaxPool",
       {AsTensor<int32_t>({1, 5, 3}, {1, 1, 3, 1})},
       {AsTensor<int32_t>({5, 5}, {1, 1, 2, 1})},
       Window({1, 1, 2, 1}, one, "VALID")},
      {"MaxPoolV2",
       {Counting({1, 2, 2, 1}), Ints({1, 2, 2, 1}), Ints({1, 1, 1, 1})},
       {M({3}, {1, 1, 1, 1})},
       Attrs().Set("padding", "VALID")},
      {"MaxPoolGrad",
       {M({1, 1, 1, 1}, {1, 2, 2, 1}), M({1}, {1, 1, 1, 1}), M({5}, {1, 1, 1, 1})},
       {M({5, 0, 0, 0}, {1, 2, 2, 1})},
       Window(two, one, "VALID")},
      {"MaxPoolGrad",
       {M({1, 9, 1, 2}, {1, 1, 2, 2}), M({1, 9}, {1, 1, 1, 2}), M({5, 6}, {1, 1, 1, 2})},
       {M({5, 6, 0, 0}, {1, 1, 2, 2})},
       Window({1, 1, 2, 1}, one, "VALID")},
      {"AvgPool", {Counting({1, 3, 3, 1})}, {M({2, 3.5f, 6.5f, 8}, {1, 2, 2, 1})}, Window(two, two, "SAME")},
      {"AvgPool", {Counting({1, 1, 2, 2})}, {M({1.5f}, {1, 1, 1, 1})}, Window(first, first, "VALID", "NCHW")},
      {"AvgPoolGrad",
       {Ints({1, 3, 3, 1}), M({1, 1, 1, 1}, {1, 2, 2, 1})},
       {M({.25f, .25f, .5f, .25f, .25f, .5f, .5f, .5f, 1}, {1, 3, 3, 1})},
       Window(two, two, "SAME")},
      {"MaxPool", {Counting({1, 1, 1, 1})}, {Counting({1, 1, 1, 1})}, Window({1, 1 << 30, 1 << 30, 1}, one, "SAME")},
  });
  ExpectErrors({
      {"MaxPool",
       {Counting({1, 2, 2, 1})},
       "ksize must be positive. The specified or inferred ksize is: 1,0,3,1",
       Window({1, 0, 3, 1}, one, "SAME")},
      {"MaxPool", {Counting({1, 2, 2, 1})}, "negative", Window({1, 9, 9, 1}, one, "VALID")},
      {"MaxPool", {Counting({2, 2, 1})}, "tensor_in must be 4-dimensional", Window(two, one, "VALID")},
      {"MaxPool",
       {Counting({1, 2, 2, 3})},
       "evenly divide",
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
       Code::kUnimplemented},
      {"MaxPoolV2",
       {Counting({1, 2, 2, 1}), Ints({1, 3}), Ints({1, 1, 1, 1})},
       "ksize field must specify 4 dimensions",
       Attrs().Set("padding", "VALID")},
      {"MaxPoolGrad",
       {M({3, 1}, {1, 1, 2, 1}), M({3}, {1, 1, 1, 1}), M({5, 1}, {1, 1, 2, 1})},
       "Expected grad shape to be [1,1,1,1], but got [1,1,2,1]",
       Window({1, 1, 2, 1}, one, "VALID")},
      {"AvgPool",
       {Counting({1, 2, 2, 4})},
       "not yet supported",
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
       Code::kUnimplemented},
      {"AvgPoolGrad", {Ints({1, 3, 3}), M({1}, {1, 1, 1, 1})}, "4 elements", Window(two, two, "SAME")},
      {"AvgPoolGrad",
       {Ints({1, 3, 3, 1}), M({1}, {1})},
       "out_backprop must be 4-dimensional",
       Window(two, two, "SAME")},
      {"MaxPool",
       {Counting({1, 2, 2, 1})},
       "Bottom padding 2 needs to be smaller than the window size 2",
       Window(two, one, "EXPLICIT").Set("explicit_paddings", std::vector<int64_t>{0, 0, 1, 2, 0, 0, 0, 0})},
      {"MaxPool",
       {Counting({1, 1, 1, 4})},
       "Depthwise max pooling does not support explicit padding",
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "EXPLICIT").Set("explicit_paddings", std::vector<int64_t>(8, 0)),
       Code::kUnimplemented},
      {"MaxPoolGrad",
       {M({3, 1}, {1, 1, 1, 2}), M({3}, {1, 1, 1, 1}), M({5}, {1, 1, 1, 1})},
       "not yet supported on the depth dimension",
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
       Code::kUnimplemented},
      {"MaxPoolWithArgmax",
       {Counting({1, 1, 1, 4})},
       "depth window to equal the depth stride",
       Attrs().Set("ksize", depth).Set("strides", one).Set("padding", "VALID"),
       Code::kUnimplemented},
  });
}

}  // namespace
}  // namespace weir
