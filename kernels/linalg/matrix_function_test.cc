#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/op_kernel_testing.h"
#include "kernels/library.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class RareTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }
};

Tensor F(std::vector<float> values, const TensorShape& shape) { return AsTensor<float>(std::move(values), shape); }
Tensor One(float value) { return AsScalar<float>(value); }

TEST_F(RareTest, QuantizedValuesComeBack) {
  const Tensor x = AsTensor<float>({-1, 0, 0.5f, 2});
  for (const char* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"}) {
    for (DataType type : {DT_QINT8, DT_QUINT8, DT_QINT16, DT_QINT32}) {
      if (type == DT_QUINT8 && std::string(mode) == "SCALED") continue;  // holds no negative numbers
      const Attrs attrs = Attrs().Set("mode", std::string(mode));
      ASSERT_OK_AND_ASSIGN(std::vector<Tensor> q,
                           RunOp("QuantizeV2", {x, One(-1), One(2)}, Attrs(attrs).Set("T", type)));
      ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("Dequantize", {q[0], q[1], q[2]}, attrs));
      ExpectTensorNear(back, x, 0.02, 0.02);
    }
  }
  EXPECT_THAT(RunOp("QuantizeV2", {x, One(2), One(1)}, Attrs().Set("T", DT_QINT8)), StatusIs(kInvalid));
  EXPECT_THAT(RunOp("QuantizeV2", {x, AsTensor<float>({1, 2}), One(1)}, Attrs().Set("T", DT_QINT8)),
              StatusIs(kInvalid));
}

TEST_F(RareTest, ZeroKeepsItsPlaceInUnsignedBytes) {
  const Tensor sums = Tensor(DT_QINT32, TensorShape({3}));
  int32_t* const x = static_cast<int32_t*>(sums.raw_data());
  std::tie(x[0], x[1], x[2]) = std::tuple(-5000, 3000, 1 << 30);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("Requantize", {sums, One(-10), One(10), One(-1), One(1)},
                                                      Attrs().Set("out_type", DT_QUINT8)));
  const uint8_t* const bytes = static_cast<const uint8_t*>(out[0].raw_data());
  EXPECT_EQ(bytes[0], 127);
  EXPECT_EQ(bytes[1], 128);
  EXPECT_EQ(bytes[2], 255);
  const Tensor matrix(DT_QUINT8, TensorShape({1, 1}));
  std::memset(matrix.raw_data(), 0, 1);
  EXPECT_THAT(
      RunOp("QuantizedMatMul", {matrix, matrix, One(1), One(1), One(0), One(1)}, Attrs().Set("Toutput", DT_QINT32)),
      StatusIs(kInvalid, HasSubstr("max_a must be larger than min_a")));
}

TEST_F(RareTest, SobolPoints) {
  const auto sample = [&](int32_t dim, int32_t count, int32_t skip) {
    return RunOp1("SobolSample", {AsScalar<int32_t>(dim), AsScalar<int32_t>(count), AsScalar<int32_t>(skip)});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor points, sample(5, 4, 0));
  ExpectTensorEqual(points, F({0.5f,  0.5f,  0.5f,  0.5f,  0.5f,  0.75f,  0.25f,  0.25f,  0.25f,  0.75f,
                               0.25f, 0.75f, 0.75f, 0.75f, 0.25f, 0.375f, 0.375f, 0.625f, 0.875f, 0.375f},
                              {4, 5}));
  // In each dimension the first 2^k points, with the origin, fall into 2^k different intervals.
  ASSERT_OK_AND_ASSIGN(const Tensor many, sample(1111, 1023, 0));
  for (int d = 0; d < 1111; ++d) {
    std::vector<bool> taken(1024, false);
    for (int i = 0; i < 1023; ++i) taken[static_cast<int>(many.data<float>()[i * 1111 + d] * 1024)] = true;
    ASSERT_EQ(std::count(taken.begin() + 1, taken.end(), true), 1023) << d;
  }
  EXPECT_THAT(sample(1112, 1, 0), StatusIs(kInvalid, HasSubstr("at most 1111")));
  EXPECT_THAT(sample(1, 0, 0), StatusIs(kInvalid, HasSubstr("num_results")));
  EXPECT_THAT(sample(1, 1, -1), StatusIs(kInvalid, HasSubstr("skip")));
}

TEST_F(RareTest, FractionsAreRoundedByChance) {
  const std::vector<double> x = {-2.7, -0.5, 0.25, 1.5, 2.75, 3, -126.9, 1e9, NAN, 0.5, 1.25};
  const Tensor doubles = AsTensor<double>(x), floats = AsTensor<float>(std::vector<float>(x.begin(), x.end()));
  const auto cast = [&](const Tensor& numbers, DataType type, int32_t algorithm) {
    return RunOp1("StochasticCastToInt",
                  {numbers, AsTensor<uint64_t>({5}), AsTensor<uint64_t>({9, 1}), AsScalar<int32_t>(algorithm)},
                  Attrs().Set("Tout", type));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, cast(floats, DT_INT8, 1));
  ExpectTensorEqual(bytes, AsTensor<int8_t>({-3, -1, 0, 1, 3, 3, -127, 127, 0, 0, 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor words, cast(floats, DT_INT32, 1));
  ExpectTensorEqual(words, AsTensor<int32_t>({-3, -1, 0, 2, 3, 3, -127, 1000000000, 0, 1, 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor exact, cast(doubles, DT_INT32, 3));
  ExpectTensorEqual(exact, AsTensor<int32_t>({-3, 0, 1, 1, 3, 3, -127, 1000000000, 0, 0, 1}));
  EXPECT_THAT(cast(floats, DT_INT8, 9), StatusIs(kInvalid, HasSubstr("Unsupported algorithm id: 9")));
}

TEST_F(RareTest, MatrixFunctions) {
  const Tensor a = F({4, 1, 2, 3}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor root, RunOp1("MatrixSquareRoot", {a}));
  ASSERT_OK_AND_ASSIGN(Tensor square, RunOp1("MatMul", {root, root}));
  ExpectTensorNear(square, a, 1e-5, 1e-5);
  ASSERT_OK_AND_ASSIGN(root, RunOp1("MatrixSquareRoot", {F({-4, 0, 0, 9}, {2, 2})}));  // no real matrix
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(root.data<float>()[i]));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> lu, RunOp("Lu", {a}));
  ExpectTensorNear(lu[0], F({4, 1, 0.5f, 2.5f}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> eig, RunOp("Eig", {a}, Attrs().Set("Tout", DT_COMPLEX64)));
  const complex64* const e = eig[0].data<complex64>();
  EXPECT_NEAR(e[0].real(), 5, 1e-5);
  EXPECT_NEAR((e[0] + e[1]).real(), 7, 1e-5);
  EXPECT_NEAR((e[0] * e[1]).real(), 10, 1e-4);
  EXPECT_THAT(RunOp("Lu", {F({0, 0, 0, 0}, {2, 2})}), StatusIs(kInvalid, HasSubstr("not invertible")));
  EXPECT_THAT(RunOp("Eig", {F({NAN, 0, 0, 0}, {2, 2})}, Attrs().Set("Tout", DT_COMPLEX64)), StatusIs(kInvalid));
  const Tensor diagonals = F({1, 1, 0, 4, 4, 4, 0, 1, 1}, {3, 3}), right = F({1, 2, 3}, {3, 1});
  ASSERT_OK_AND_ASSIGN(Tensor x, RunOp1("TridiagonalSolve", {diagonals, right}));
  const auto row = [&](std::vector<float> values) { return F(std::move(values), {1, 3}); };
  ASSERT_OK_AND_ASSIGN(Tensor product,
                       RunOp1("TridiagonalMatMul", {row({1, 1, 0}), row({4, 4, 4}), row({0, 1, 1}), x}));
  ExpectTensorNear(product, right, 1e-5, 1e-5);
  const Tensor singular = F({1, 0, 1, 1, 0, 1}, {3, 2}), sides = F({1, 2}, {2, 1});
  ASSERT_OK_AND_ASSIGN(x, RunOp1("TridiagonalSolve", {singular, sides}));
  EXPECT_TRUE(std::isnan(x.data<float>()[0]) && std::isnan(x.data<float>()[1]));
  ASSERT_OK_AND_ASSIGN(x, RunOp1("TridiagonalSolve", {singular, sides}, Attrs().Set("perturb_singular", true)));
  EXPECT_TRUE(std::isfinite(x.data<float>()[0]) && std::isfinite(x.data<float>()[1]));
  EXPECT_THAT(RunOp("TridiagonalSolve", {singular, right}), StatusIs(kInvalid));
}

TEST_F(RareTest, BeamsFindWhatGreedySearchMisses) {
  // Each moment favours the blank, but the label over both moments is more probable.
  const auto logs = [](std::vector<float> p) {
    for (float& x : p) x = std::log(x);
    return p;
  };
  const Tensor inputs = F(logs({0.4f, 0.6f, 0.4f, 0.6f}), {2, 1, 2});
  const Attrs attrs = Attrs().Set("beam_width", int64_t{4}).Set("top_paths", int64_t{1});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("CTCBeamSearchDecoder", {inputs, AsTensor<int32_t>({2})}, attrs));
  ExpectTensorEqual(out[1], AsTensor<int64_t>({0}));
  EXPECT_NEAR(out[3].data<float>()[0], std::log(0.64f), 1e-5);
  EXPECT_THAT(RunOp("CTCBeamSearchDecoder", {inputs, AsTensor<int32_t>({9})}, attrs),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(
      RunOp("CTCBeamSearchDecoder", {inputs, AsTensor<int32_t>({0})}, Attrs(attrs).Set("top_paths", int64_t{3})),
      StatusIs(kInvalid, HasSubstr("Less leaves")));
}

TEST_F(RareTest, SamplersKeepToTheirRange) {
  const Tensor classes = AsTensor<int64_t>({0}, {1, 1});
  const Attrs common = Attrs()
                           .Set("num_true", int64_t{1})
                           .Set("num_sampled", int64_t{2})
                           .Set("unique", true)
                           .Set("range_max", int64_t{3});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> learned, RunOp("LearnedUnigramCandidateSampler", {classes}, common));
  for (int64_t value : learned[0].flat<int64_t>()) EXPECT_TRUE(value >= 0 && value < 3);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> fixed, RunOp("FixedUnigramCandidateSampler", {classes},
                                                        Attrs(common).Set("unigrams", std::vector<float>{0, 1, 1})));
  for (int64_t value : fixed[0].flat<int64_t>()) EXPECT_TRUE(value == 1 || value == 2);
  // Two distinct values of which only one can be drawn would never be found.
  EXPECT_THAT(
      RunOp("FixedUnigramCandidateSampler", {classes}, Attrs(common).Set("unigrams", std::vector<float>{0, 0, 1})),
      StatusIs(kInvalid, HasSubstr("too small")));
}

TEST_F(RareTest, StubsAndLabels) {
  const Attrs name = Attrs().Set("shared_name", std::string("stub"));
  ASSERT_OK_AND_ASSIGN(Tensor handle, RunOp1("StubResourceHandleOp", {}, name));
  ASSERT_OK_AND_ASSIGN(Tensor before, RunOp1("ResourceInitializedOp", {handle}));
  ExpectTensorEqual(before, AsScalar<bool>(false));
  EXPECT_THAT(RunOp("ResourceUsingOp", {handle}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(RunOp("ResourceCreateOp", {handle}).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor after, RunOp1("ResourceInitializedOp", {handle}));
  ExpectTensorEqual(after, AsScalar<bool>(true));
  EXPECT_THAT(RunOp("ConstructionFails", {}), StatusIs(kInvalid, HasSubstr("Failure during construction")));
  EXPECT_THAT(RunOp("PyFunc", {},
                    Attrs().Set("token", std::string("f")).Set("Tin", DataTypeVector()).Set("Tout", DataTypeVector())),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace weir
