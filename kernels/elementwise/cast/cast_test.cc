#include <cmath>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using CastTest = KernelInputsTest;

TEST_F(CastTest, FractionsAreRoundedByChance) {
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

TEST_F(CastTest, FloatsBeyondAnIntegersRangeSaturateOnlyInWholeVectors) {
  const auto cast = [&](const Tensor& numbers, DataType type) {
    return RunOp1("Cast", {numbers}, Attrs().Set("DstT", type));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, cast(AsTensor<float>(std::vector<float>(33, 300)), DT_INT8));
  std::vector<int8_t> saturated(33, 127);
  saturated[32] = 44;  // 300 - 256
  ExpectTensorEqual(bytes, AsTensor<int8_t>(saturated));
  ASSERT_OK_AND_ASSIGN(const Tensor words, cast(AsTensor<double>(std::vector<double>(17, -3e9)), DT_UINT32));
  std::vector<uint32_t> halved(17, 1u << 31);
  halved[16] = 1294967296;  // 2^32 - 3e9
  ExpectTensorEqual(words, AsTensor<uint32_t>(halved));
  ASSERT_OK_AND_ASSIGN(const Tensor longs, cast(AsTensor<float>({NAN, INFINITY, -1, 1e19f}), DT_UINT64));
  ExpectTensorEqual(longs,
                    AsTensor<uint64_t>({uint64_t{1} << 63, uint64_t{1} << 63, UINT64_MAX, 9999999980506447872u}));
}

}  // namespace
}  // namespace weir
