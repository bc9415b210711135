#include <cstring>
#include <tuple>

#include "kernels/op_testing.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class QuantizedTest : public OpTest {};

TEST_F(QuantizedTest, QuantizedValuesComeBack) {
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
  EXPECT_THAT(RunOp("QuantizeV2", {x, One(2), One(1)}, Attrs().Set("T", DT_QINT8)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunOp("QuantizeV2", {x, AsTensor<float>({1, 2}), One(1)}, Attrs().Set("T", DT_QINT8)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(QuantizedTest, ZeroKeepsItsPlaceInUnsignedBytes) {
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
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_a must be larger than min_a")));
}

}  // namespace
}  // namespace weir
