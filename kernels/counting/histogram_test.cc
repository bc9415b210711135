#include "kernels/op_testing.h"

namespace weir {
namespace {

class HistogramTest : public OpTest {};

TEST_F(HistogramTest, CountingIgnoresWhatIsTooLargeAndRefusesWhatIsNegative) {
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

}  // namespace
}  // namespace weir
