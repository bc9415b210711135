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

}  // namespace
}  // namespace weir
