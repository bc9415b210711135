// Kernels that work in blocks, vectors and threads, beside plain loops: sizes that are no multiple of any of them, NaN,
// infinities, zeros of either sign and denormals.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numeric>

#include "core/numeric_types.h"
#include "core/op_kernel_testing.h"
#include "kernels/library.h"
#include "kernels/random/philox_block.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class VectorKernelsTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }

  uint32_t Draw() { return seed_ = seed_ * 1664525 + 1013904223; }
  float Uniform(float least, float most) { return least + (most - least) * static_cast<float>(Draw() >> 8) * 0x1p-24f; }
  Tensor Floats(const TensorShape& shape, float least = -1, float most = 1) {
    Tensor tensor(DT_FLOAT, shape);
    for (float& x : tensor.flat<float>()) x = Uniform(least, most);
    return tensor;
  }
  Tensor Integers(int64_t n, uint32_t limit) {
    Tensor tensor(DT_INT32, TensorShape({n}));
    for (int32_t& x : tensor.flat<int32_t>()) x = static_cast<int32_t>((Draw() >> 8) % limit);
    return tensor;
  }

 private:
  uint32_t seed_ = 1;
};

// Units in the last place between a result and the true value.
double Ulps(float actual, double expected) {
  const float rounded = static_cast<float>(expected);
  if (std::isnan(rounded)) return std::isnan(actual) ? 0 : 1e9;
  if (rounded == actual) return std::signbit(rounded) == std::signbit(actual) ? 0 : 1e9;
  const double unit = std::nextafter(std::abs(rounded), kInfinity) - std::abs(rounded);
  return std::abs(static_cast<double>(actual) - expected) / unit;
}

TEST_F(VectorKernelsTest, Activations) {
  std::vector<float> x = {0.0f, -0.0f, kNaN, kInfinity, -kInfinity, 1e-42f, -1e-42f, 1e-20f, -1e-20f, 14, -14, 90, -90};
  for (float v = -30; v < 30; v += 0.0037f) x.push_back(v);
  constexpr double kScale = 1.0507009873554804934, kScaleAlpha = 1.7580993408473768600;
  struct Case {
    const char* op;
    double (*function)(double);
  };
  for (const Case& c : {Case{"Elu", [](double v) { return v < 0 ? std::expm1(v) : v; }},
                        Case{"Selu", [](double v) { return v < 0 ? kScaleAlpha * std::expm1(v) : kScale * v; }},
                        Case{"Softplus", [](double v) { return v > 40 ? v : std::log1p(std::exp(v)); }}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(c.op, {AsTensor<float>(x)}));
    for (size_t i = 0; i < x.size(); ++i) {
      // Softplus of large numbers is taken for the number itself.
      const double expected = c.function(x[i]);
      if (std::string(c.op) == "Softplus" && std::abs(x[i]) > 10 && std::isfinite(x[i])) {
        EXPECT_NEAR(out.data<float>()[i], static_cast<float>(expected), std::abs(expected) * 1e-6) << x[i];
      } else {
        EXPECT_LE(Ulps(out.data<float>()[i], expected), 3) << c.op << " of " << x[i];
      }
    }
  }
}

TEST_F(VectorKernelsTest, SineOfBlocksWithDistantNumbers) {
  Tensor x = Floats({5000}, -10000, 10000);
  x.data<float>()[600] = 1e20f;
  x.data<float>()[601] = kNaN;
  for (const auto& [op, function] : {std::pair{"Sin", static_cast<double (*)(double)>(std::sin)},
                                     std::pair{"Cos", static_cast<double (*)(double)>(std::cos)}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(op, {x}));
    for (int64_t i = 0; i < 5000; ++i) {
      EXPECT_LE(Ulps(out.data<float>()[i], function(x.data<float>()[i])), 2) << op << " of " << x.data<float>()[i];
    }
  }
}

TEST_F(VectorKernelsTest, Atan2OfAllQuadrants) {
  const std::vector<float> edges = {0.0f,   -0.0f, 1,      -1,        1e-45f,     -1e-45f,
                                    1e-38f, 3e38f, -3e38f, kInfinity, -kInfinity, kNaN};
  std::vector<float> y, x;
  for (float a : edges) {
    for (float b : edges) {
      y.push_back(a);
      x.push_back(b);
    }
  }
  for (int i = 0; i < 3001; ++i) {
    y.push_back(Uniform(-3, 3));
    x.push_back(Uniform(-3, 3));
  }
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Atan2", {AsTensor<float>(y), AsTensor<float>(x)}));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(Ulps(out.data<float>()[i], std::atan2(static_cast<double>(y[i]), static_cast<double>(x[i]))), 2)
        << y[i] << ", " << x[i];
  }
  ASSERT_OK_AND_ASSIGN(Tensor row, RunOp1("Atan2", {AsTensor<float>({1, 2}, {2, 1}), AsTensor<float>({1, -1})}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(Ulps(row.data<float>()[i], std::atan2(i < 2 ? 1.0 : 2.0, i % 2 == 0 ? 1.0 : -1.0)), 2);
  }
}

TEST_F(VectorKernelsTest, PaddedElementsComeFromWhereTheyShould) {
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

TEST_F(VectorKernelsTest, SelectsElementByElement) {
  const int64_t n = 100'003;
  const Tensor a = Floats({n}), b = Floats({n});
  Tensor condition(DT_BOOL, TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) condition.data<bool>()[i] = (Draw() >> 30) == 0;
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("SelectV2", {condition, a, b}));
  ASSERT_OK_AND_ASSIGN(Tensor scalar, RunOp1("SelectV2", {condition, a, AsScalar<float>(3)}));
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(out.data<float>()[i], (condition.data<bool>()[i] ? a : b).data<float>()[i]);
    ASSERT_EQ(scalar.data<float>()[i], condition.data<bool>()[i] ? a.data<float>()[i] : 3);
  }
}

TEST_F(VectorKernelsTest, WhereFindsAllCoordinatesInOrder) {
  Tensor x = Floats({61, 7, 331});
  for (float& v : x.flat<float>()) v = v < 0 ? -0.0f : v < 0.1f ? kNaN : v;
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Where", {x}));
  int64_t row = 0;
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    if (x.data<float>()[i] == 0) continue;
    ASSERT_LT(row, out.dim_size(0));
    const int64_t* const at = out.data<int64_t>() + 3 * row++;
    ASSERT_EQ((at[0] * 7 + at[1]) * 331 + at[2], i);
    ASSERT_LT(at[1], 7);
    ASSERT_LT(at[2], 331);
  }
  EXPECT_EQ(row, out.dim_size(0));
}

TEST_F(VectorKernelsTest, BincountInParts) {
  const int64_t n = 200'001;
  const Tensor x = Integers(n, 1500), none(DT_INT32, TensorShape({0}));
  std::vector<int32_t> expected(1000), present(1000);
  for (int32_t v : x.flat<int32_t>()) {
    if (v < 1000) ++expected[v], present[v] = 1;
  }
  ASSERT_OK_AND_ASSIGN(Tensor counts, RunOp1("DenseBincount", {x, AsScalar<int32_t>(1000), none}));
  ExpectTensorEqual(counts, AsTensor<int32_t>(expected));
  ASSERT_OK_AND_ASSIGN(counts,
                       RunOp1("DenseBincount", {x, AsScalar<int32_t>(1000), none}, Attrs().Set("binary_output", true)));
  ExpectTensorEqual(counts, AsTensor<int32_t>(present));
  Tensor negative = x;
  negative.data<int32_t>()[n - 1] = -1;
  EXPECT_THAT(RunOp1("DenseBincount", {negative, AsScalar<int32_t>(1000), none}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("non-negative")));
}

TEST_F(VectorKernelsTest, UniqueOfManyIntegers) {
  const int64_t n = 50'021;
  const Tensor x = Integers(n, 9000);
  std::map<int32_t, int32_t> number;
  std::vector<int32_t> values, indices, counts;
  for (int32_t v : x.flat<int32_t>()) {
    const auto [entry, added] = number.try_emplace(v, static_cast<int32_t>(values.size()));
    if (added) values.push_back(v), counts.push_back(0);
    ++counts[entry->second];
    indices.push_back(entry->second);
  }
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("UniqueWithCounts", {x}));
  ExpectTensorEqual(out[0], AsTensor<int32_t>(values));
  ExpectTensorEqual(out[1], AsTensor<int32_t>(indices));
  ExpectTensorEqual(out[2], AsTensor<int32_t>(counts));
  ASSERT_OK_AND_ASSIGN(out, RunOp("Unique", {Tensor(DT_INT64, TensorShape({0}))}, Attrs().Set("out_idx", DT_INT64)));
  EXPECT_EQ(out[0].NumElements() + out[1].NumElements(), 0);
}

TEST_F(VectorKernelsTest, ArgMaxOfRows) {
  const int64_t n = 1003;
  Tensor x = Floats({6, n});
  float* const rows = x.data<float>();
  std::fill_n(rows + 1 * n, n, kNaN);
  std::fill_n(rows + 2 * n, n, -kInfinity);
  std::fill_n(rows + 3 * n, 700, kNaN);
  std::fill_n(rows + 3 * n + 700, 303, -kInfinity);
  rows[4 * n + 900] = rows[4 * n + 901] = 2;
  rows[5 * n] = kNaN;
  rows[5 * n + n - 1] = kInfinity;
  ASSERT_OK_AND_ASSIGN(Tensor most, RunOp1("ArgMax", {x, AsScalar<int32_t>(1)}));
  EXPECT_EQ(most.data<int64_t>()[0], std::max_element(rows, rows + n) - rows);
  const std::vector<int64_t> rest(most.data<int64_t>() + 1, most.data<int64_t>() + 6);
  EXPECT_EQ(rest, (std::vector<int64_t>{0, 0, 700, 900, n - 1}));
  ASSERT_OK_AND_ASSIGN(Tensor least, RunOp1("ArgMin", {x, AsScalar<int32_t>(1)}));
  EXPECT_EQ(least.data<int64_t>()[0], std::min_element(rows, rows + n) - rows);
}

TEST_F(VectorKernelsTest, LargestOfRowsWithTies) {
  const int64_t n = 517;
  Tensor x = Floats({3, n});
  for (float& v : x.flat<float>()) v = std::round(v * 20);  // ties, and zeros of both signs
  x.data<float>()[40] = kNaN;
  x.data<float>()[41] = -kInfinity;
  x.data<float>()[400] = kNaN;
  for (int32_t k : {2, 32, 33, 517}) {
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("TopKV2", {x, AsScalar<int32_t>(k)}));
    for (int64_t row = 0; row < 3; ++row) {
      const float* const v = x.data<float>() + row * n;
      std::vector<int32_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [v](int32_t a, int32_t b) { return v[a] > v[b] || (std::isnan(v[a]) && !std::isnan(v[b])); });
      order.resize(k);
      const int32_t* const indices = out[1].data<int32_t>() + row * k;
      ASSERT_EQ(std::vector<int32_t>(indices, indices + k), order) << k;
    }
  }
}

TEST_F(VectorKernelsTest, LocalResponsesOfWideRows) {
  const int64_t n = 41;
  const Tensor x = Floats({1, 2, 3, n}, -2, 2);
  for (const float beta : {0.5f, 1.0f, 0.3f}) {
    for (const int64_t radius : {int64_t{0}, int64_t{3}, int64_t{1} << 40}) {
      const Attrs attrs = Attrs().Set("depth_radius", radius).Set("bias", 0.5f).Set("alpha", 0.7f).Set("beta", beta);
      ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("LRN", {x}, attrs));
      for (int64_t i = 0; i < x.NumElements(); ++i) {
        double sum = 0;
        for (int64_t j = i / n * n; j < i / n * n + n; ++j) {
          if (std::abs(i - j) <= radius) sum += std::pow(static_cast<double>(x.data<float>()[j]), 2);
        }
        const double expected = x.data<float>()[i] * std::pow(0.5 + 0.7 * sum, -beta);
        ASSERT_NEAR(out.data<float>()[i], expected, 2e-6 * std::abs(expected) + 1e-30) << beta << " " << radius;
      }
    }
  }
}

TEST_F(VectorKernelsTest, StatisticsOfManyRows) {
  const int64_t rows = 10 * 13 * 7, channels = 37;
  Tensor x = Floats({10, 13, 7, channels});
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<float>()[i] += static_cast<float>(i % channels * 100);
  const Tensor ones = Floats({channels}, 1, 1), none(DT_FLOAT, TensorShape({0}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("FusedBatchNormV3", {x, ones, ones, none, none}));
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < rows; ++i) mean += x.data<float>()[i * channels + c] / static_cast<double>(rows);
    for (int64_t i = 0; i < rows; ++i) variance += std::pow(x.data<float>()[i * channels + c] - mean, 2);
    EXPECT_NEAR(out[1].data<float>()[c], mean, 1e-6 * std::abs(mean) + 1e-6);
    EXPECT_NEAR(out[2].data<float>()[c], variance / static_cast<double>(rows - 1), 1e-4) << c;
  }
}

TEST_F(VectorKernelsTest, DepthwiseConvolutionOfOddWidths) {
  for (const int64_t channels : {1, 32, 45}) {
    const Tensor x = Floats({2, 6, 5, channels}), filter = Floats({3, 2, channels, 1});
    const Attrs attrs = Attrs().Set("strides", std::vector<int64_t>{1, 2, 2, 1}).Set("padding", std::string("SAME"));
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("DepthwiseConv2dNative", {x, filter}, attrs));
    ASSERT_EQ(out.shape(), TensorShape({2, 3, 3, channels}));
    for (int64_t i = 0; i < out.NumElements(); ++i) {
      const int64_t c = i % channels, column = i / channels % 3, row = i / channels / 3 % 3, image = i / channels / 9;
      double sum = 0;
      for (int64_t a = 0; a < 3; ++a) {
        for (int64_t b = 0; b < 2; ++b) {
          const int64_t y = 2 * row + a, z = 2 * column + b;  // one row and column of padding, behind
          if (y >= 6 || z >= 5) continue;
          sum += static_cast<double>(x.data<float>()[((image * 6 + y) * 5 + z) * channels + c]) *
                 filter.data<float>()[(a * 2 + b) * channels + c];
        }
      }
      ASSERT_NEAR(out.data<float>()[i], sum, 1e-5) << channels;
    }
  }
}

TEST_F(VectorKernelsTest, ProductsThatUnderflowAreZero) {
  Tensor x(DT_FLOAT, TensorShape({3, 1000}));
  std::fill_n(x.data<float>(), 3000, 0.5f);
  ASSERT_OK_AND_ASSIGN(Tensor product, RunOp1("Prod", {x, AsScalar<int32_t>(1)}));
  ExpectTensorEqual(product, AsTensor<float>({0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor columns, RunOp1("Prod", {x, AsScalar<int32_t>(0)}));
  EXPECT_EQ(columns.data<float>()[999], 0.125f);
  // Whoever computes on this thread next has denormals.
  ASSERT_OK_AND_ASSIGN(Tensor half, RunOp1("Mul", {AsScalar<float>(1e-38f), AsScalar<float>(0.5f)}));
  EXPECT_GT(half.scalar<float>(), 0);
}

TEST_F(VectorKernelsTest, ExtremesOfOddSizes) {
  Tensor x = Floats({1'000'003});
  ASSERT_OK_AND_ASSIGN(Tensor most, RunOp1("Max", {x, AsScalar<int32_t>(0)}));
  EXPECT_EQ(most.scalar<float>(), *std::max_element(x.data<float>(), x.data<float>() + x.NumElements()));
  x.data<float>()[777'777] = kNaN;
  ASSERT_OK_AND_ASSIGN(most, RunOp1("Max", {x, AsScalar<int32_t>(0)}));
  EXPECT_TRUE(std::isnan(most.scalar<float>()));
  Tensor flags(DT_BOOL, TensorShape({100'003}));
  std::fill_n(flags.data<bool>(), 100'003, true);
  ASSERT_OK_AND_ASSIGN(Tensor all, RunOp1("All", {flags, AsScalar<int32_t>(0)}));
  EXPECT_TRUE(all.scalar<bool>());
  flags.data<bool>()[100'002] = false;
  ASSERT_OK_AND_ASSIGN(all, RunOp1("All", {flags, AsScalar<int32_t>(0)}));
  EXPECT_FALSE(all.scalar<bool>());
}

TEST_F(VectorKernelsTest, RealTransformsOfManyRows) {
  for (const int n : {1, 2, 4, 8, 31, 64, 100, 256}) {
    const int64_t rows = 19, half = n / 2 + 1;
    Tensor x = Floats({rows, n});
    x.data<float>()[3 * n] = kInfinity;  // stays in its row
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("RFFT", {x, AsTensor<int32_t>({n})}));
    ASSERT_EQ(out.shape(), TensorShape({rows, half}));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < half && row != 3; ++k) {
        std::complex<double> sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          sum += static_cast<double>(x.data<float>()[row * n + j]) *
                 std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % n) / n);
        }
        const std::complex<float> actual = out.data<complex64>()[row * half + k];
        ASSERT_LT(std::abs(std::complex<double>(actual) - sum), 1e-5) << n << " " << row << " " << k;
      }
    }
    if (n == 1) continue;
    x.data<float>()[3 * n] = 1;
    ASSERT_OK_AND_ASSIGN(out, RunOp1("RFFT", {x, AsTensor<int32_t>({n})}));
    ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("IRFFT", {out, AsTensor<int32_t>({n})}));
    ExpectTensorNear(back, x, 1e-5, 1e-5);
  }
}

TEST_F(VectorKernelsTest, TransformsAlongOuterDimensions) {
  Tensor x(DT_COMPLEX64, TensorShape({2, 32, 24}));
  for (complex64& z : x.flat<complex64>()) z = {Uniform(-1, 1), Uniform(-1, 1)};
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("FFT2D", {x}));
  std::complex<double> sum = 0;
  for (int64_t i = 0; i < 32 * 24; ++i) {
    const double angle = -2 * M_PI * (3.0 * static_cast<double>(i / 24) / 32 + 5.0 * static_cast<double>(i % 24) / 24);
    sum += std::complex<double>(x.data<complex64>()[32 * 24 + i]) * std::polar(1.0, angle);
  }
  EXPECT_LT(std::abs(std::complex<double>(y.data<complex64>()[(32 + 3) * 24 + 5]) - sum), 1e-4);
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("IFFT2D", {y}));
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    ASSERT_LT(std::abs(back.data<complex64>()[i] - x.data<complex64>()[i]), 1e-5);
  }
}

TEST_F(VectorKernelsTest, ManyGroupsAreThoseOfOneByOne) {
  for (const Philox& start :
       {Philox(1, 2), Philox({0xfffffff0, 0xffffffff, 7, 8}, {3, 4}), Philox({0xfffffff8, 1, 0, 0}, {5, 6})}) {
    Philox one = start, many = start;
    std::vector<uint32_t> words(4 * 53);
    NextGroups(&many, 53, words.data());
    for (int i = 0; i < 53; ++i) {
      const Philox::Group group = one.Next();
      ASSERT_TRUE(std::equal(group.begin(), group.end(), words.begin() + 4 * i)) << i;
    }
    EXPECT_EQ(one.Next(), many.Next());
  }
}

TEST_F(VectorKernelsTest, ShufflesAsFisherAndYates) {
  const int64_t n = 1000;
  Tensor x(DT_INT32, TensorShape({n}));
  std::iota(x.data<int32_t>(), x.data<int32_t>() + n, 0);
  std::vector<int32_t> expected(x.data<int32_t>(), x.data<int32_t>() + n);
  Philox stream(1, 2);
  Philox::Group group{};
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (i % 4 == 0) group = stream.Next();
    std::swap(expected[i], expected[i + group[i % 4] % static_cast<uint32_t>(n - i)]);
  }
  const Attrs seeds = Attrs().Set("seed", int64_t{1}).Set("seed2", int64_t{2});
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("RandomShuffle", {x}, seeds));
  ExpectTensorEqual(out, AsTensor<int32_t>(expected));
  Tensor pairs(DT_INT32, TensorShape({n, 2}));
  for (int64_t i = 0; i < 2 * n; ++i) pairs.data<int32_t>()[i] = static_cast<int32_t>(i / 2);
  ASSERT_OK_AND_ASSIGN(out, RunOp1("RandomShuffle", {pairs}, seeds));
  for (int64_t i = 0; i < 2 * n; ++i) ASSERT_EQ(out.data<int32_t>()[i], expected[i / 2]);
}

TEST_F(VectorKernelsTest, TheFirstErrorOfManyStrings) {
  std::vector<tstring> text(20'000, "1.5");
  text[9'001] = "first";
  text[19'000] = "second";
  EXPECT_THAT(RunOp1("StringToNumber", {AsTensor<tstring>(text)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first")));
  EXPECT_THAT(RunOp1("Substr", {AsTensor<tstring>(text), AsScalar<int32_t>(4), AsScalar<int32_t>(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("index 0")));
  ASSERT_OK_AND_ASSIGN(Tensor numbers,
                       RunOp1("AsString", {AsTensor<int64_t>({std::numeric_limits<int64_t>::min(), 0})}));
  ExpectTensorEqual(numbers, AsTensor<tstring>({"-9223372036854775808", "0"}));
}

}  // namespace
}  // namespace weir
