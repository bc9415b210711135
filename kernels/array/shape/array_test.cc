#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/op_kernel_testing.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

class ArrayTest : public KernelTest {
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }
};

Tensor Counting(const TensorShape& shape) {
  Tensor t(DT_INT32, shape);
  for (int64_t i = 0; i < t.NumElements(); ++i) t.data<int32_t>()[i] = static_cast<int32_t>(i);
  return t;
}

TEST_F(ArrayTest, Transposes) {
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
TEST_F(ArrayTest, TransposesMatricesOfAnySize) {
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

TEST_F(ArrayTest, StridedSliceReadsOnlyWhatIsThere) {
  const Tensor x = Counting({4, 5});
  const auto slice = [&](std::vector<int64_t> begin, std::vector<int64_t> end, std::vector<int64_t> strides,
                         const Attrs& attrs = Attrs()) {
    return RunOp1("StridedSlice", {x, AsTensor<int64_t>(begin), AsTensor<int64_t>(end), AsTensor<int64_t>(strides)},
                  attrs);
  };
  ASSERT_OK_AND_ASSIGN(Tensor backwards, slice({-1, -1}, {-3, -6}, {-1, -2}));
  ExpectTensorEqual(backwards, AsTensor<int32_t>({19, 17, 15, 14, 12, 10}, {2, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor clamped, slice({-kHuge, 3}, {kHuge, kHuge}, {kHuge, kHuge}));
  ExpectTensorEqual(clamped, AsTensor<int32_t>({3}, {1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor row, slice({1}, {2}, {1}, Attrs().Set("shrink_axis_mask", int64_t{1})));
  ExpectTensorEqual(row, AsTensor<int32_t>({5, 6, 7, 8, 9}));
  EXPECT_THAT(slice({0}, {1}, {0}), StatusIs(kInvalid, HasSubstr("must be non-zero")));
  EXPECT_THAT(slice({9}, {10}, {1}, Attrs().Set("shrink_axis_mask", int64_t{1})),
              StatusIs(kInvalid, HasSubstr("out of bounds")));
  EXPECT_THAT(slice({0, 0, 0}, {1, 1, 1}, {1, 1, 1}), StatusIs(kInvalid, HasSubstr("has only 2 dims")));
  EXPECT_THAT(slice({0, 0}, {0, 0}, {1, 1}, Attrs().Set("ellipsis_mask", int64_t{3})),
              StatusIs(kInvalid, HasSubstr("Multiple ellipses")));
}

TEST_F(ArrayTest, StridedSliceGradPutsBackWhatTheSliceTook) {
  ASSERT_OK_AND_ASSIGN(
      Tensor dx, RunOp1("StridedSliceGrad", {AsTensor<int32_t>({5}), AsTensor<int32_t>({4}), AsTensor<int32_t>({0}),
                                             AsTensor<int32_t>({-2}), AsTensor<float>({1, 2})}));
  ExpectTensorEqual(dx, AsTensor<float>({0, 0, 2, 0, 1}));
  EXPECT_THAT(RunOp1("StridedSliceGrad", {AsTensor<int32_t>({5}), AsTensor<int32_t>({0}), AsTensor<int32_t>({5}),
                                          AsTensor<int32_t>({1}), AsTensor<float>({1, 2})}),
              StatusIs(kInvalid, HasSubstr("shape of dy was")));
}

TEST_F(ArrayTest, SliceChecksBounds) {
  const Tensor x = Counting({4});
  ASSERT_OK_AND_ASSIGN(Tensor tail, RunOp1("Slice", {x, AsTensor<int64_t>({1}), AsTensor<int64_t>({-1})}));
  ExpectTensorEqual(tail, AsTensor<int32_t>({1, 2, 3}));
  for (auto [begin, size] :
       {std::pair<int64_t, int64_t>{-1, 1}, {5, 0}, {2, 3}, {1, kHuge}, {kHuge, 1}, {-kHuge - 1, -1}}) {
    EXPECT_THAT(RunOp1("Slice", {x, AsTensor<int64_t>({begin}), AsTensor<int64_t>({size})}), StatusIs(kInvalid));
  }
}

TEST_F(ArrayTest, ReshapeInfersAndRefuses) {
  const Tensor x = Counting({2, 6});
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("Reshape", {x, AsTensor<int32_t>({3, -1})}));
  EXPECT_EQ(y.shape(), TensorShape({3, 4}));
  EXPECT_TRUE(y.SharesBufferWith(x));
  struct Case {
    std::vector<int64_t> dims;
    const char* message;
  };
  for (const Case& c : {Case{{5, -1}, "requires a multiple of 5"}, Case{{-1, -1}, "Only one input size may be -1"},
                        Case{{-2, 6}, "must be non-negative"}, Case{{13}, "the requested shape has 13"},
                        Case{{kHuge, kHuge}, "too many elements"}}) {
    EXPECT_THAT(RunOp1("Reshape", {x, AsTensor<int64_t>(c.dims)}), StatusIs(kInvalid, HasSubstr(c.message)));
  }
}

TEST_F(ArrayTest, ConcatAndSplitAreInverse) {
  const Tensor x = Counting({2, 6});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> parts,
                       RunOp("Split", {AsScalar<int32_t>(1), x}, Attrs().Set("num_split", int64_t{3})));
  ExpectTensorEqual(parts[1], AsTensor<int32_t>({2, 3, 8, 9}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor whole, RunOp1("ConcatV2", {parts[0], parts[1], parts[2], AsScalar<int32_t>(-1)},
                                            Attrs().Set("N", int64_t{3})));
  ExpectTensorEqual(whole, x);
  EXPECT_THAT(RunOp("Split", {AsScalar<int32_t>(1), x}, Attrs().Set("num_split", int64_t{4})),
              StatusIs(kInvalid, HasSubstr("evenly divide")));
  EXPECT_THAT(RunOp("SplitV", {x, AsTensor<int64_t>({kHuge, kHuge}), AsScalar<int32_t>(1)},
                    Attrs().Set("num_split", int64_t{2})),
              StatusIs(kInvalid));
}

TEST_F(ArrayTest, SizesFromOutsideAreCheckedBeforeAllocation) {
  const Tensor x = Counting({2, 2});
  EXPECT_THAT(RunOp1("Fill", {AsTensor<int64_t>({kHuge, 2}), AsScalar<float>(0)}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("Fill", {AsTensor<int64_t>({-1}), AsScalar<float>(0)}),
              StatusIs(kInvalid, HasSubstr("must be >= 0")));
  EXPECT_THAT(RunOp1("Tile", {x, AsTensor<int64_t>({kHuge, 3})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("Pad", {x, AsTensor<int64_t>({kHuge, kHuge, 0, 0}, {2, 2})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("BroadcastTo", {AsScalar<float>(1), AsTensor<int64_t>({kHuge, kHuge})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("OneHot", {AsTensor<int64_t>({0}), AsScalar<int32_t>(-1), AsScalar<float>(1), AsScalar<float>(0)}),
              StatusIs(kInvalid, HasSubstr("depth must be non-negative")));
  EXPECT_THAT(RunOp1("Range", {AsScalar<float>(0), AsScalar<float>(1e30f), AsScalar<float>(1e-30f)}),
              StatusIs(kInvalid));
}

TEST_F(ArrayTest, GatherChecksEveryIndex) {
  const Tensor x = Counting({3, 2}), axis = AsScalar<int32_t>(0);
  ASSERT_OK_AND_ASSIGN(Tensor rows, RunOp1("GatherV2", {x, AsTensor<int32_t>({2, 0}), axis}));
  ExpectTensorEqual(rows, AsTensor<int32_t>({4, 5, 0, 1}, {2, 2}));
  EXPECT_THAT(RunOp1("GatherV2", {x, AsTensor<int32_t>({0, 3}), axis}),
              StatusIs(kInvalid, HasSubstr("indices[1] = 3 is not in [0, 3)")));
  EXPECT_THAT(RunOp1("GatherV2", {x, AsTensor<int64_t>({-1}), axis}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("GatherNd", {x, AsTensor<int32_t>({0, 2}, {1, 2})}),
              StatusIs(kInvalid, HasSubstr("does not index into")));
  EXPECT_THAT(RunOp1("GatherNd", {x, AsTensor<int32_t>({0, 0, 0}, {1, 3})}),
              StatusIs(kInvalid, HasSubstr("innermost dimension")));
}

TEST_F(ArrayTest, ABadIndexIsNamedByItsPlace) {
  const Tensor x = Counting({3, 2}), indices = AsTensor<int32_t>({0, 3}, {1, 2, 1});
  EXPECT_THAT(RunOp1("GatherNd", {x, indices}),
              StatusIs(kInvalid, HasSubstr("indices[0,1] = [3] does not index into param shape [3,2], node name: ")));
  EXPECT_THAT(RunOp1("ScatterNd", {indices, Counting({1, 2, 2}), AsTensor<int32_t>({3, 2})}),
              StatusIs(kInvalid, HasSubstr("indices[0,1] = [3] does not index into shape [3,2]")));
  EXPECT_THAT(RunOp1("GatherNd", {Tensor(DT_FLOAT, {0}), AsTensor<int32_t>({0}, {1, 1})}),
              StatusIs(kInvalid, HasSubstr("Requested more than 0 entries, but params is empty")));
}

TEST_F(ArrayTest, ASelectionByElementNamesTheInputThatDoesNotFit) {
  const Tensor two = AsTensor<bool>({true, false});
  EXPECT_THAT(RunOp1("Select", {two, Counting({3}), Counting({2})}),
              StatusIs(kInvalid, HasSubstr("must have the same size and shape.  Input 0: [2] != input 1: [3]")));
  EXPECT_THAT(RunOp1("Select", {two, Counting({2}), Counting({3})}),
              StatusIs(kInvalid, HasSubstr("must have the same size and shape.  Input 0: [2] != input 2: [3]")));
  EXPECT_THAT(RunOp1("Select", {two, Counting({2, 2}), Counting({2, 3})}),
              StatusIs(kInvalid, HasSubstr("'then' and 'else' must have the same size")));
}

TEST_F(ArrayTest, UpdatesMustFitIndicesAndShape) {
  const Tensor one = AsTensor<int32_t>({0}, {1, 1}), shape = AsTensor<int32_t>({3, 2}), x = Counting({3, 2});
  EXPECT_THAT(RunOp1("ScatterNd", {one, Counting({2, 2}), shape}),
              StatusIs(kInvalid, HasSubstr("Dimensions [0,1) of indices[shape=[1,1]] must match dimensions [0,1) of "
                                           "updates[shape=[2,2]]")));
  EXPECT_THAT(RunOp1("ScatterNd", {one, Counting({1, 3}), shape}),
              StatusIs(kInvalid, HasSubstr("Dimensions [1,2) of input[shape=[3,2]] must match dimensions [1,2) of "
                                           "updates[shape=[1,3]]")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {x, one, Counting({2, 2})}),
              StatusIs(kInvalid, HasSubstr("Outer dimensions of indices and update must match")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {x, one, Counting({1, 3})}),
              StatusIs(kInvalid, HasSubstr("The inner 1 dimensions of output.shape=[3,2] must match the inner 1 "
                                           "dimensions of updates.shape=[1,3]")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {AsScalar<int32_t>(1), one, Counting({1})}),
              StatusIs(kInvalid, HasSubstr("Inner dimensions of output shape must match inner dimensions of updates")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {x, AsTensor<int32_t>({0, 0, 0}, {1, 3}), Counting({1})}), StatusIs(kInvalid));
}

TEST_F(ArrayTest, ReshapeTakesFewerThan254Dimensions) {
  const std::vector<int64_t> ones(254, 1);
  EXPECT_THAT(RunOp1("Reshape", {Counting({1}), AsTensor<int64_t>(ones)}),
              StatusIs(kInvalid, HasSubstr("too many dimensions: must be < 254, but received 254")));
}

TEST_F(ArrayTest, UnravelIndexMultipliesInTheTypeOfItsIndices) {
  EXPECT_THAT(RunOp1("UnravelIndex", {AsScalar<int32_t>(1), AsTensor<int32_t>({1 << 28, 1 << 28})}),
              StatusIs(kInvalid, HasSubstr("causing integer overflow")));
  ASSERT_OK_AND_ASSIGN(Tensor below, RunOp1("UnravelIndex", {AsScalar<int32_t>(-1), AsTensor<int32_t>({7, 6})}));
  ExpectTensorEqual(below, AsTensor<int32_t>({0, -1}));
}

TEST_F(ArrayTest, ScatterAddsRepeatedIndices) {
  const Tensor indices = AsTensor<int32_t>({1, 1}, {2, 1}), updates = AsTensor<float>({2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("ScatterNd", {indices, updates, AsTensor<int32_t>({3})}));
  ExpectTensorEqual(out, AsTensor<float>({0, 5, 0}));
  EXPECT_THAT(RunOp1("ScatterNd", {indices, updates, AsTensor<int32_t>({1})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("ScatterNd", {indices, AsTensor<float>({1}), AsTensor<int32_t>({3})}), StatusIs(kInvalid));
}

TEST_F(ArrayTest, TensorScatterLeavesASharedInputAlone) {
  const Tensor x = AsTensor<float>({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor out,
                       RunOp1("TensorScatterUpdate", {x, AsTensor<int32_t>({0}, {1, 1}), AsTensor<float>({9})}));
  ExpectTensorEqual(out, AsTensor<float>({9, 2, 3}));
  ExpectTensorEqual(x, AsTensor<float>({1, 2, 3}));
}

TEST_F(ArrayTest, PrintAppendsToAFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "print_", getpid(), ".txt");
  for (const char* line : {"one", "two"}) {
    EXPECT_THAT(
        RunOp("PrintV2", {AsScalar<tstring>(line)}, Attrs().Set("output_stream", absl::StrCat("file://", path))),
        IsOk());
  }
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()), "one\ntwo\n");
  std::remove(path.c_str());
  EXPECT_THAT(RunOp("PrintV2", {AsScalar<tstring>("x")}, Attrs().Set("output_stream", "nowhere")),
              StatusIs(kInvalid, HasSubstr("Unknown output stream")));
}

TEST_F(ArrayTest, StringsAreCopiedWhole) {
  const Tensor x = AsTensor<tstring>({"a", "a string that does not fit inline", "c", "d"}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("Transpose", {x, AsTensor<int32_t>({1, 0})}));
  ExpectTensorEqual(y, AsTensor<tstring>({"a", "c", "a string that does not fit inline", "d"}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor tiled, RunOp1("Tile", {AsTensor<tstring>({"x"}), AsTensor<int32_t>({2})}));
  ExpectTensorEqual(tiled, AsTensor<tstring>({"x", "x"}));
}

TEST_F(ArrayTest, PartitionAndStitchAreInverse) {
  const Tensor data = AsTensor<float>({10, 20, 30, 40}), to = AsTensor<int32_t>({1, 0, 1, 0});
  const Attrs two = Attrs().Set("num_partitions", int64_t{2});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> parts, RunOp("DynamicPartition", {data, to}, two));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> places, RunOp("DynamicPartition", {Counting({4}), to}, two));
  ASSERT_OK_AND_ASSIGN(
      Tensor whole, RunOp1("DynamicStitch", {places[0], places[1], parts[0], parts[1]}, Attrs().Set("N", int64_t{2})));
  ExpectTensorEqual(whole, data);
  EXPECT_THAT(RunOp("DynamicPartition", {data, AsTensor<int32_t>({0, 1, 2, 0})}, two),
              StatusIs(kInvalid, HasSubstr("partitions[2] = 2 is not in [0, 2)")));
}

TEST_F(ArrayTest, UniqueKeepsTheOrderOfFirstAppearance) {
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("UniqueWithCounts", {AsTensor<int64_t>({7, 3, 7, 7, 1})}));
  ExpectTensorEqual(out[0], AsTensor<int64_t>({7, 3, 1}));
  ExpectTensorEqual(out[1], AsTensor<int32_t>({0, 1, 0, 0, 2}));
  ExpectTensorEqual(out[2], AsTensor<int32_t>({3, 1, 1}));
}

TEST_F(ArrayTest, AssertShowsItsData) {
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<int32_t>({1, 2, 3, 4})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [1 2 3...]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<tstring>({"a b", "\n"})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [a b \\n]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<int32_t>({1, 2, 3, 4}, {2, 2})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [[1 2][3...]...]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<float>({0.1f, 1.0f / 3, 123456789.0f})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [0.1 0.333333343 123456792]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(true), AsTensor<int32_t>({1})}), IsOk());
}

TEST_F(ArrayTest, LargeDimensionsOfEmptyTensorsCostNothing) {
  const Tensor empty(DT_FLOAT, TensorShape({0, int64_t{1} << 40})), paddings = AsTensor<int32_t>({0, 0, 2, 1}, {2, 2});
  for (const char* op : {"MirrorPad", "MirrorPadGrad"}) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp(op, {empty, paddings}, Attrs().Set("mode", "SYMMETRIC")));
    EXPECT_EQ(out[0].dim_size(1), (int64_t{1} << 40) + (op == absl::string_view("MirrorPad") ? 3 : -3));
  }
}

}  // namespace
}  // namespace weir
