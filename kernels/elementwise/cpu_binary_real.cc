#include "kernels/device/target_clones.h"
#include "kernels/device/vector_math.h"
#include "kernels/elementwise/binary_families.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

WEIR_TARGET_CLONES bool Atan2Floats(const void* y_data, int64_t y_step, const void* x_data, int64_t x_step, void* out,
                                    int64_t n) {
  const auto* y = static_cast<const float*>(y_data);
  const auto* x = static_cast<const float*>(x_data);
  auto* z = static_cast<float*>(out);
  if (y_step == 1 && x_step == 1) {
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = vector_math::Atan2(y[i], x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) z[i] = vector_math::Atan2(y[i * y_step], x[i * x_step]);
  }
  return true;
}

#define WEIR_SLOW(op, Name, T) {op, DataTypeOf<T>(), &MakeBinary<&ScalarBinaryLoopOf<functor::Name, T, T>, 15000>},
#define WEIR_SLOW_16(op, Name, T) \
  {op, DataTypeOf<T>(), &MakeBinary<&BinaryLoop16<T, T, &ScalarBinaryLoopOf<functor::Name, float, float>>, 15000>},
#define WEIR_SLOW_FLOATS(Name)  \
  WEIR_SLOW(#Name, Name, float) \
  WEIR_SLOW(#Name, Name, double) WEIR_SLOW_16(#Name, Name, half) WEIR_SLOW_16(#Name, Name, bfloat16)
#define WEIR_MAKE_COMPLEX(T, picoseconds) \
  {"Complex", DataTypeOf<T>(), &MakeBinary<&BinaryLoopOf<functor::MakeComplex, T, std::complex<T>>, picoseconds>},

}  // namespace

absl::Status RegisterRealFunctionKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr BinaryEntry kEntries[] = {
      WEIR_BINARY_FLOATS("DivNoNan", DivNoNan, 500)
      WEIR_BINARY_FLOATS("MulNoNan", MulNoNan, 300)
      WEIR_BINARY_FLOATS("Xdivy", Xdivy, 500)
      WEIR_SLOW_FLOATS(Pow)
      WEIR_SLOW_FLOATS(Xlogy)
      WEIR_SLOW_FLOATS(Xlog1py)
      {"Atan2", DT_FLOAT, &MakeBinary<&Atan2Floats, 1000>},
      WEIR_SLOW("Atan2", Atan2, double)
      {"Atan2", DT_HALF, &MakeBinary<&BinaryLoop16<half, half, &Atan2Floats>, 1500>},
      {"Atan2", DT_BFLOAT16, &MakeBinary<&BinaryLoop16<bfloat16, bfloat16, &Atan2Floats>, 1500>},
      WEIR_SLOW("NextAfter", NextAfter, float)
      WEIR_SLOW("NextAfter", NextAfter, double)
      WEIR_MAKE_COMPLEX(float, 800)
      WEIR_MAKE_COMPLEX(double, 1600)
      WEIR_PAIR_FLOATS("TanhGrad", TanhGrad, 300)
      WEIR_PAIR_FLOATS("SigmoidGrad", SigmoidGrad, 300)
      WEIR_PAIR_FLOATS("SqrtGrad", SqrtGrad, 500)
      WEIR_PAIR_FLOATS("RsqrtGrad", RsqrtGrad, 300)
      WEIR_PAIR_FLOATS("ReciprocalGrad", ReciprocalGrad, 300)
      WEIR_PAIR_FLOATS("InvGrad", ReciprocalGrad, 300)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
