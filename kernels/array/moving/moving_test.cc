#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using MovingTest = KernelInputsTest;

TEST_F(MovingTest, Transposes) {
  const Tensor x = Counting({2, 3, 4});
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("Transpose", {x, AsTensor<int32_t>({2, 0, 1})}));
  ASSERT_EQ(y.shape(), TensorShape({4, 2, 3}));
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 6; ++j) ASSERT_EQ(y.data<int32_t>()[i * 6 + j], j * 4 + i);
  }
  const Tensor large = Counting({700, 500});
  ASSERT_OK_AND_ASSIGN(Tensor turned, RunOp1("Transpose", {large, AsTensor<int32_t>({1, 0})}));
  for (int64_t i = 0; i < 500; ++i) {
    for (int64_t j = 0; j < 700; ++j) ASSERT_EQ(turned.data<int32_t>()[i * 700 + j], j * 500 + i);
  }
  EXPECT_THAT(RunOp1("Transpose", {x, AsTensor<int32_t>({0, 0, 1})}), StatusIs(kInvalid, HasSubstr("is missing from")));
  EXPECT_THAT(RunOp1("Transpose", {x, AsTensor<int32_t>({0, 3, 1})}), StatusIs(kInvalid, HasSubstr("is out of range")));
}

// Rows and columns that fill no whole block, of elements that are moved by blocks and of others.
TEST_F(MovingTest, TransposesMatricesOfAnySize) {
  for (const DataType type : {DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_COMPLEX128}) {
    for (const auto& [rows, columns] : {std::pair{1, 9}, {9, 1}, {8, 8}, {15, 33}, {41, 7}, {64, 36}}) {
      Tensor x(type, TensorShape({rows, columns}));
      const size_t bytes = DataTypeSize(type);
      char* const from = static_cast<char*>(x.raw_data());
      for (size_t i = 0; i < x.TotalBytes(); ++i) from[i] = static_cast<char>(i * 7 % 251);
      ASSERT_OK_AND_ASSIGN(const Tensor y, RunOp1("Transpose", {x, AsTensor<int32_t>({1, 0})}));
      const char* const to = static_cast<const char*>(y.raw_data());
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          ASSERT_EQ(std::memcmp(to + (j * rows + i) * bytes, from + (i * columns + j) * bytes, bytes), 0)
              << DataTypeName(type) << " " << rows << " x " << columns << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST_F(MovingTest, StringsAreCopiedWhole) {
  const Tensor x = AsTensor<tstring>({"a", "a string that does not fit inline", "c", "d"}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("Transpose", {x, AsTensor<int32_t>({1, 0})}));
  ExpectTensorEqual(y, AsTensor<tstring>({"a", "c", "a string that does not fit inline", "d"}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor tiled, RunOp1("Tile", {AsTensor<tstring>({"x"}), AsTensor<int32_t>({2})}));
  ExpectTensorEqual(tiled, AsTensor<tstring>({"x", "x"}));
}

TEST_F(MovingTest, LargeDimensionsOfEmptyTensorsCostNothing) {
  const Tensor empty(DT_FLOAT, TensorShape({0, int64_t{1} << 40})), paddings = AsTensor<int32_t>({0, 0, 2, 1}, {2, 2});
  for (const char* op : {"MirrorPad", "MirrorPadGrad"}) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp(op, {empty, paddings}, Attrs().Set("mode", "SYMMETRIC")));
    EXPECT_EQ(out[0].dim_size(1), (int64_t{1} << 40) + (op == absl::string_view("MirrorPad") ? 3 : -3));
  }
}

TEST_F(MovingTest, PaddedElementsComeFromWhereTheyShould) {
  const int64_t n[3] = {5, 37, 3};
  const Tensor x = Floats({n[0], n[1], n[2]});
  for (const std::vector<int32_t>& pads :
       {std::vector<int32_t>{1, 2, 3, 4, 1, 0}, {2, 0, 0, 5, 0, 0}, {0, 3, 0, 0, 0, 0}}) {
    const Tensor paddings = AsTensor<int32_t>(pads, {3, 2});
    for (const char* name : {"CONSTANT", "REFLECT", "SYMMETRIC"}) {
      const std::string mode = name;
      ASSERT_OK_AND_ASSIGN(Tensor out, mode == "CONSTANT"
                                           ? RunOp1("PadV2", {x, paddings, AsScalar<float>(7)})
                                           : RunOp1("MirrorPad", {x, paddings}, Attrs().Set("mode", mode)));
      int64_t at[3], i = 0;
      for (at[0] = 0; at[0] < out.dim_size(0); ++at[0]) {
        for (at[1] = 0; at[1] < out.dim_size(1); ++at[1]) {
          for (at[2] = 0; at[2] < out.dim_size(2); ++at[2], ++i) {
            int64_t from = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              int64_t k = at[d] - pads[2 * d];
              inside &= k >= 0 && k < n[d];
              const int64_t edge = mode == "REFLECT" ? 0 : 1;
              if (k < 0) k = -k - edge;
              if (k >= n[d]) k = 2 * (n[d] - 1) + edge - k;
              from = from * n[d] + k;
            }
            ASSERT_EQ(out.data<float>()[i], mode == "CONSTANT" && !inside ? 7 : x.data<float>()[from]) << mode << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir
