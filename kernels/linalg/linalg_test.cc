#include <cmath>
#include <limits>

#include "core/op_kernel_testing.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
using Ints64 = std::vector<int64_t>;

class NumericTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }

  struct BadCase {
    std::string op;
    std::vector<TestInput> inputs;
    std::string message;
    Attrs attrs = {};
  };
  void ExpectErrors(const std::vector<BadCase>& cases) {
    for (const BadCase& c : cases) {
      EXPECT_THAT(RunOp(c.op, c.inputs, c.attrs), StatusIs(kInvalid, HasSubstr(c.message))) << c.op;
    }
  }
};

Tensor Ints(std::vector<int32_t> values) { return AsTensor<int32_t>(std::move(values)); }
Tensor Int(int32_t value) { return AsScalar<int32_t>(value); }
Tensor F(std::vector<float> values, const TensorShape& shape) { return AsTensor<float>(std::move(values), shape); }

TEST_F(NumericTest, BlocksMoveIntoTheBatchAndBack) {
  const Tensor x = F({1, 2, 3, 4, 5, 6}, {1, 2, 3, 1}), pads = AsTensor<int32_t>({0, 0, 0, 1}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor blocks, RunOp1("SpaceToBatchND", {x, Ints({2, 2}), pads}));
  ExpectTensorEqual(blocks, F({1, 3, 2, 0, 4, 6, 5, 0}, {4, 1, 2, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("BatchToSpaceND", {blocks, Ints({2, 2}), pads}));
  ExpectTensorEqual(back, x);
  ASSERT_OK_AND_ASSIGN(Tensor depth,
                       RunOp1("SpaceToDepth", {F({1, 2, 3, 4}, {1, 2, 2, 1})}, Attrs().Set("block_size", int64_t{2})));
  ExpectTensorEqual(depth, F({1, 2, 3, 4}, {1, 1, 1, 4}));
}

TEST_F(NumericTest, BlockSizesAreChecked) {
  const Tensor x = F({1, 2, 3, 4}, {1, 4}), none = AsTensor<int64_t>({0, 0}, {1, 2});
  ExpectErrors({
      {"SpaceToBatchND", {x, Ints({0}), none}, "must be positive"},
      {"SpaceToBatchND", {x, Ints({3}), none}, "is not divisible"},
      {"SpaceToBatchND", {x, AsTensor<int64_t>({kHuge}), AsTensor<int64_t>({kHuge, kHuge}, {1, 2})}, "out of range"},
      {"SpaceToBatchND", {x, Ints({2, 2}), none}, "should have shape [2, 2]"},
      {"SpaceToBatchND", {x, Ints({2, 2}), AsTensor<int64_t>({0, 0, 0, 0}, {2, 2})}, "rank should be >= 3"},
      {"BatchToSpaceND", {x, Ints({2}), none}, "is not divisible"},
      {"BatchToSpaceND", {x, Ints({1}), AsTensor<int64_t>({kHuge, kHuge}, {1, 2})}, "must be non-negative"},
      {"BatchToSpaceND", {x, AsTensor<int64_t>({kHuge, 2}), AsTensor<int64_t>({0, 0, 0, 0}, {2, 2})}, ""},
  });
}

TEST_F(NumericTest, BandsOfDiagonals) {
  const Tensor packed = F({1, 2, 0, 3, 4, 5}, {2, 3}), zero = AsScalar<float>(9);
  ASSERT_OK_AND_ASSIGN(Tensor matrix, RunOp1("MatrixDiagV3", {packed, Ints({-1, 0}), Int(-1), Int(-1), zero}));
  ExpectTensorEqual(matrix, F({1, 9, 9, 3, 2, 9, 9, 4, 0}, {3, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor part, RunOp1("MatrixDiagPartV3", {matrix, Ints({-1, 0}), AsScalar<float>(5)}));
  ExpectTensorEqual(part, packed);
  ExpectErrors({
      {"MatrixDiagV3", {packed, Ints({-1, 0}), Int(2), Int(-1), zero}, "rows is too small"},
      {"MatrixDiagV3", {packed, Ints({-2, 0}), Int(-1), Int(-1), zero}, "number of diagonals"},
      {"MatrixDiagV3", {packed, Ints({1, 0}), Int(-1), Int(-1), zero}, "must not be larger"},
      {"MatrixDiagPartV3", {matrix, Ints({3}), zero}, "out of bound"},
      {"MatrixDiagPartV3", {matrix, Ints({9, 1}), zero}, "lower_diag_index is out of bound: 9"},
      {"MatrixDiagPartV3",
       {matrix, Ints({1, 0}), zero},
       "lower_diag_index must not be larger than upper_diag_index: 1 > 0"},
      {"MatrixDiagPartV3", {matrix, Ints({0, 1, 2}), zero}, "only one or two elements"},
      {"MatrixDiagPartV3", {matrix, Ints({0}), AsTensor<float>({1, 2})}, "Padding must be scalar."},
      {"MatrixSetDiagV3", {matrix, F({1, 2}, {2}), Int(0)}, "Expected diagonal shape"},
      {"MatrixSetDiagV3", {matrix, F({1, 2}, {1, 2}), Ints({0, 1})}, "The number of diagonals provided in `diag`"},
  });
}

TEST_F(NumericTest, CountingIgnoresWhatIsTooLargeAndRefusesWhatIsNegative) {
  const Tensor none = AsTensor<float>({});
  ASSERT_OK_AND_ASSIGN(Tensor counts, RunOp1("DenseBincount", {Ints({1, 1, 3, 9}), Int(4), none}));
  ExpectTensorEqual(counts, AsTensor<float>({0, 2, 0, 1}));
  ExpectErrors({
      {"DenseBincount", {Ints({-1}), Int(4), none}, "non-negative"},
      {"DenseBincount", {Ints({1}), Int(-4), none}, "must be non-negative"},
      {"DenseBincount", {Ints({1, 2}), Int(4), AsTensor<float>({1})}, "must be the same shape"},
      {"HistogramFixedWidth", {none, AsTensor<float>({1, 1}), Int(3)}, "value_range[0] < value_range[1]"},
      {"HistogramFixedWidth", {none, AsTensor<float>({0, 1}), Int(0)}, "should be a positive number"},
      {"UnravelIndex", {Ints({4}), Ints({2, 2})}, "out of bound"},
      {"UnravelIndex", {Ints({0}), Ints({-2, 2})}, "cannot be negative"},
  });
}

// For ever, if each row or matrix were visited.
TEST_F(NumericTest, MatricesWithoutElementsTakeNoTime) {
  const int64_t huge = int64_t{1} << 62;
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> qr, RunOp("Qr", {Tensor(DT_FLOAT, TensorShape({huge, 0}))}));
  EXPECT_EQ(qr[0].shape(), TensorShape({huge, 0}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> svd, RunOp("Svd", {Tensor(DT_FLOAT, TensorShape({1 << 30, 0, 3}))}));
  EXPECT_EQ(svd[0].shape(), TensorShape({1 << 30, 0}));
}

TEST_F(NumericTest, LinearAlgebra) {
  const Tensor a = F({4, 2, 2, 3}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor inverse, RunOp1("MatrixInverse", {a}));
  ExpectTensorNear(inverse, F({0.375f, -0.25f, -0.25f, 0.5f}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(Tensor factor, RunOp1("Cholesky", {a}));
  ExpectTensorNear(factor, F({2, 0, 1, std::sqrt(2.0f)}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> svd, RunOp("Svd", {F({3, 0, 0, -2}, {2, 2})}));
  ExpectTensorNear(svd[0], AsTensor<float>({3, 2}), 1e-6, 1e-6);
  const float inf = INFINITY;
  ASSERT_OK_AND_ASSIGN(Tensor determinant, RunOp1("MatrixDeterminant", {F({-inf, 0, 0, 1}, {2, 2})}));
  ExpectTensorEqual(determinant, AsScalar<float>(-inf));
  const Tensor singular = F({1, 2, 2, 4}, {2, 2});
  ExpectErrors({
      {"MatrixInverse", {singular}, "not invertible"},
      {"MatrixInverse", {F({1, 2}, {1, 2})}, "must be square"},
      {"MatrixInverse", {AsTensor<float>({1})}, "must have rank >= 2"},
      {"MatrixSolve", {a, F({1, 2, 3}, {3, 1})}, "incompatible"},
      {"MatrixSolve", {a, AsTensor<float>({1, 2})}, "All input tensors must have the same rank."},
      {"MatrixTriangularSolve", {a, AsTensor<float>({1, 2})}, "In[1] ndims must be >= 2: 1"},
      {"MatrixTriangularSolve", {F({1, 2}, {1, 2}), a}, "must be square (2 =/= 1)"},
      {"MatrixTriangularSolve", {a, F({1}, {1, 1})}, "In[0] mismatch In[1] shape: 2 vs. 1: [2,2] [1,1]"},
      {"BandedTriangularSolve", {F({}, {0, 2}), a}, "In[0] must not be an empty tensor"},
      {"MatMul", {AsTensor<float>({1, 2}), a}, "In[0] ndims must be >= 2"},
  });
}

// Signs, phases and order of the vectors are those of TensorFlow, in the precision of the elements.
TEST_F(NumericTest, VectorsOfDecompositionsHaveTheSignsThatProgramsKnow) {
  const float root = std::sqrt(0.5f);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> eigh, RunOp("SelfAdjointEigV2", {F({2, 1, 1, 2}, {2, 2})}));
  ExpectTensorNear(eigh[0], AsTensor<float>({1, 3}), 1e-6, 1e-6);
  ExpectTensorNear(eigh[1], F({-root, root, root, root}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> svd, RunOp("Svd", {F({3, 0, 0, -2}, {2, 2})}));
  ExpectTensorNear(svd[1], F({1, 0, 0, -1}, {2, 2}), 1e-6, 1e-6);
  ExpectTensorNear(svd[2], F({1, 0, 0, 1}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> full, RunOp("Svd", {F({}, {2, 0})}, Attrs().Set("full_matrices", true)));
  ExpectTensorNear(full[1], F({1, 0, 0, 1}, {2, 2}), 0, 0);
  EXPECT_EQ(full[2].shape(), TensorShape({0, 0}));
}

TEST_F(NumericTest, SpecialFunctionsHaveLimitsAtInfinity) {
  const double inf = INFINITY, nan = NAN;
  const Tensor first = AsTensor<double>({2, inf, inf, 1}), second = AsTensor<double>({inf, 3, -2.5, nan});
  ASSERT_OK_AND_ASSIGN(Tensor zeta, RunOp1("Zeta", {first, second}));
  ExpectTensorEqual(zeta, AsTensor<double>({0, 0, inf, inf}));
  ASSERT_OK_AND_ASSIGN(Tensor trigamma, RunOp1("Polygamma", {AsTensor<double>({1, 2}), AsTensor<double>({inf, inf})}));
  ExpectTensorEqual(trigamma, AsTensor<double>({0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor lower, RunOp1("Igamma", {AsTensor<double>({-1, 3, inf}), AsTensor<double>({0, inf, 2})}));
  ExpectTensorEqual(lower, AsTensor<double>({0, 1, 0}));
}

TEST_F(NumericTest, EinsumContracts) {
  const auto run = [&](const std::string& equation, std::vector<TestInput> inputs) {
    const int64_t n = static_cast<int64_t>(inputs.size());
    return RunOp1("Einsum", std::move(inputs), Attrs().Set("equation", equation).Set("N", n));
  };
  const Tensor a = F({1, 2, 3, 4}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor trace, run("ii->", {a}));
  ExpectTensorEqual(trace, AsScalar<float>(5));
  ASSERT_OK_AND_ASSIGN(Tensor outer, run("ab,c->bc", {a, AsTensor<float>({1, 10})}));
  ExpectTensorEqual(outer, F({4, 40, 6, 60}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor spread, run("...a,...a->...", {a, AsTensor<float>({1, 1})}));
  ExpectTensorEqual(spread, AsTensor<float>({3, 7}));
  // Sums of more numbers than can be counted, of which there are none.
  const Tensor none(DT_FLOAT, TensorShape({0, int64_t{1} << 32, int64_t{1} << 31}));
  ASSERT_OK_AND_ASSIGN(Tensor sums, run("abc->a", {none}));
  EXPECT_EQ(sums.shape(), TensorShape({0}));
  EXPECT_THAT(run("ab->c", {a}), StatusIs(kInvalid));
  EXPECT_THAT(run("ab,bc->ac", {a, F({1, 2, 3}, {3, 1})}),
              StatusIs(kInvalid, HasSubstr("Expected dimension 2 at axis 0 of the input shaped [3,1]")));
}

TEST_F(NumericTest, WindowsOverVolumes) {
  const Tensor x = F({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2, 1});
  const Attrs pool = Attrs()
                         .Set("ksize", Ints64{1, 2, 2, 2, 1})
                         .Set("strides", Ints64{1, 2, 2, 2, 1})
                         .Set("padding", std::string("VALID"));
  ASSERT_OK_AND_ASSIGN(Tensor most, RunOp1("MaxPool3D", {x}, pool));
  ExpectTensorEqual(most, F({8}, {1, 1, 1, 1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor mean, RunOp1("AvgPool3D", {x}, pool));
  ExpectTensorEqual(mean, F({4.5f}, {1, 1, 1, 1, 1}));
  const Attrs unit = Attrs().Set("strides", Ints64{1, 1, 1, 1, 1}).Set("padding", std::string("VALID"));
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
           .Set("ksize", Ints64{1, 1, 1, 1})
           .Set("strides", Ints64{1, 1, 1, 1})
           .Set("padding", std::string("VALID"))},
  });
}

TEST_F(NumericTest, FourierTransformsOfAnyLength) {
  for (int64_t n : {1, 2, 7, 12, 97}) {
    Tensor x(DT_COMPLEX128, TensorShape({n}));
    for (int64_t i = 0; i < n; ++i)
      x.data<complex128>()[i] = {std::sin(static_cast<double>(i)), static_cast<double>(i % 3)};
    ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("FFT", {x}));
    complex128 last = 0;
    for (int64_t i = 0; i < n; ++i)
      last += x.data<complex128>()[i] * std::polar(1.0, 2 * M_PI * static_cast<double>(i) / static_cast<double>(n));
    EXPECT_LT(std::abs(y.data<complex128>()[n - 1] - last), 1e-9) << n;
    ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("IFFT", {y}));
    for (int64_t i = 0; i < n; ++i) EXPECT_LT(std::abs(back.data<complex128>()[i] - x.data<complex128>()[i]), 1e-9);
  }
  EXPECT_THAT(RunOp("RFFT", {AsTensor<float>({1, 2}), Ints({-1})}), StatusIs(kInvalid));
}

TEST_F(NumericTest, BoxesAndImagesAreChecked) {
  const Tensor image = F({1, 2, 3, 4}, {1, 2, 2, 1}), box = F({0, 0, 1, 1}, {1, 4});
  ASSERT_OK_AND_ASSIGN(Tensor grown,
                       RunOp1("ResizeBilinear", {image, Ints({3, 3})}, Attrs().Set("align_corners", true)));
  ExpectTensorEqual(grown, F({1, 1.5f, 2, 2, 2.5f, 3, 3, 3.5f, 4}, {1, 3, 3, 1}));
  EXPECT_THAT(RunOp("CropAndResize", {image, box, Ints({1}), Ints({2, 2})}), StatusIs(absl::StatusCode::kOutOfRange));
  ExpectErrors({
      {"ResizeBilinear", {image, Ints({0, 3})}, "must be positive"},
      {"ResizeBilinear", {AsTensor<float>({1}), Ints({3, 3})}, "must be 4-dimensional"},
      {"CropAndResize", {image, F({0, 0, NAN, 1}, {1, 4}), Ints({0}), Ints({2, 2})}, "not finite"},
      {"CropAndResizeGradImage", {image, box, Ints({0}), Ints({1, -2, 2, 1})}, "", Attrs().Set("T", DT_FLOAT)},
      {"NonMaxSuppressionV3",
       {box, AsTensor<float>({1, 2}), Int(3), AsScalar<float>(0.5f), AsScalar<float>(0)},
       "incompatible"},
      {"NonMaxSuppressionV3",
       {box, AsTensor<float>({1}), Int(3), AsScalar<float>(2), AsScalar<float>(0)},
       "must be in [0, 1]"},
  });
}

TEST_F(NumericTest, LabelsAndLengthsOfSequencesAreChecked) {
  const Tensor x(DT_FLOAT, TensorShape({2, 1, 3})), place = AsTensor<int64_t>({0, 0}, {1, 2});
  ExpectErrors({
      {"CTCLoss", {x, AsTensor<int64_t>({1, 0}, {1, 2}), Ints({0}), Ints({2})}, "out of bounds"},
      {"CTCLoss", {x, place, Ints({-1}), Ints({2})}, "nonnegative"},
  });
}

TEST_F(NumericTest, ALabelMayStandBeyondTheTime) {
  const Tensor x(DT_FLOAT, TensorShape({2, 1, 3})), places = AsTensor<int64_t>({0, 0, 0, 5}, {2, 2});
  EXPECT_THAT(RunOp("CTCLoss", {x, places, Ints({0, 1}), Ints({2})}), IsOk());
  EXPECT_THAT(
      RunOp("CTCLoss", {x, places, Ints({1, 1}), Ints({1})}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Not enough time for target transition sequence")));
}

TEST_F(NumericTest, EqualLabelsWithoutTimeForTheBlankHaveInfiniteLoss) {
  const Tensor x = AsTensor<float>({0, 0, 0, 0, 0, 0}, {2, 1, 3});
  const Tensor places = AsTensor<int64_t>({0, 0, 0, 1}, {2, 2});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, RunOp("CTCLoss", {x, places, Ints({1, 1}), Ints({2})}));
  EXPECT_EQ(out[0].flat<float>()[0], std::numeric_limits<float>::infinity());
  EXPECT_NE(out[1].flat<float>()[0], 0);
}

TEST_F(NumericTest, LengthsBeyondTheInputFail) {
  const Tensor x(DT_FLOAT, TensorShape({2, 1, 3}));
  for (int32_t length : {-1, 3}) {
    EXPECT_THAT(RunOp("CTCGreedyDecoder", {x, Ints({length})}), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
}

TEST_F(NumericTest, RandomParametersAreChecked) {
  const Tensor seed = AsTensor<int64_t>({1, 2}), three = AsTensor<float>({1, 2, 3});
  ExpectErrors({
      {"StatelessRandomGammaV2", {Ints({4}), seed, three}, "must end with broadcasted shape"},
      {"StatelessRandomPoisson", {Ints({-1}), seed, three}, "must be >= 0", Attrs().Set("dtype", DT_FLOAT)},
      {"StatelessRandomBinomial", {Ints({2}), seed, three, AsTensor<float>({1, 2})}, "compatible batch dimensions"},
      {"StatelessParameterizedTruncatedNormal",
       {Ints({2}), seed, AsScalar<float>(0), AsScalar<float>(-1), AsScalar<float>(0), AsScalar<float>(1)},
       "Invalid parameters"},
      {"RandomIndexShuffle", {Int(0), Ints({1, 2, 3}), Int(-1)}, "max_index must be >= 0 but was -1"},
      {"RandomIndexShuffle", {Int(9), Ints({1, 2, 3}), Int(8)}, "must not be above"},
  });
}

}  // namespace
}  // namespace weir
