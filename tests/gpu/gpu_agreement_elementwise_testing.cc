// Element-wise ops of one and two operands.
#include "kernels/elementwise/device.h"
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

// Divisors of any integer type, none of them zero.
Tensor Divisors(DataType type) {
  switch (type) {
    case DT_INT8:
      return AsTensor<int8_t>({3, -2, -1, 7, 4});
    case DT_UINT8:
      return AsTensor<uint8_t>({3, 2, 255, 7, 4});
    case DT_INT16:
      return AsTensor<int16_t>({3, -2, -1, 7, 4});
    case DT_UINT16:
      return AsTensor<uint16_t>({3, 2, 65535, 7, 4});
    case DT_UINT32:
      return AsTensor<uint32_t>({3, 2, UINT32_MAX, 7, 4});
    case DT_UINT64:
      return AsTensor<uint64_t>({3, 2, UINT64_MAX, 7, 4});
    default:
      return AsTensor<int64_t>({3, -2, -1, 7, 4});
  }
}

}  // namespace

void GpuAgreementTest::AddElementwise() {
  for (const ElementwiseTables& tables : kElementwiseTables) {
    const ElementwiseTable table = tables.simulated();
    for (int i = 0; i < table.size; ++i) {
      const std::string op = table.entries[i].op;
      const auto type = static_cast<DataType>(table.entries[i].type);
      std::vector<Tensor> inputs = {Of(type, TensorShape({3, 1, 5}))};
      if (table.entries[i].num_operands == 2) {
        const bool is_of_one_shape = op.ends_with("Grad") || op == "ApproximateEqual";
        const bool divides = IsInteger(type) && (op.ends_with("Div") || op.ends_with("Mod"));
        inputs.push_back(divides ? Divisors(type)
                                 : Of(type, is_of_one_shape ? TensorShape({3, 1, 5}) : TensorShape({2, 5})));
      }
      tensorflow::NodeDef attrs;
      if (op == "Complex") attrs = Attr("Tout", type == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64);
      const bool is_part = op == "Real" || op == "Imag" || op == "ComplexAbs" || op == "Angle";
      if (is_part) attrs = Attr("Tout", type == DT_COMPLEX128 ? DT_DOUBLE : DT_FLOAT);
      Add(op, std::move(inputs), attrs);
    }
  }
}

}  // namespace weir
