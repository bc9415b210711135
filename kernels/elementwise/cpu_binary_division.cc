#include <cmath>

#include "kernels/device/target_clones.h"
#include "kernels/elementwise/binary_families.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

template <BinaryLoop kLoop, const char* kError>
std::unique_ptr<OpKernel> MakeFailing() {
  return std::make_unique<BinaryKernel>(kLoop, 3000, kError);
}
#define WEIR_FAILING(op, Name, T, error) \
  {op, DataTypeOf<T>(), &MakeFailing<&BinaryLoopOf<functor::Name, T, T>, functor::error>},
#define WEIR_DIV(T) WEIR_FAILING("Div", IntegerDivide, T, kDivisionByZero)
#define WEIR_TRUNCATE_DIV(T) WEIR_FAILING("TruncateDiv", IntegerDivide, T, kDivisionByZero)
#define WEIR_FOR_OTHER_INTEGERS(M) M(int8_t) M(int16_t) M(int64_t) WEIR_FOR_UNSIGNED_INTEGERS(M)
#define WEIR_FLOOR_DIV(T) WEIR_FAILING("FloorDiv", IntegerFloorDivide, T, kDivisionByZero)
#define WEIR_FLOOR_MOD(T) WEIR_FAILING("FloorMod", IntegerFloorRemainder, T, kDivisionByZero)
#define WEIR_POW(T) WEIR_FAILING("Pow", IntegerPow, T, kNegativePower)

// The quotient rounded down, or the remainder. A double represents the quotient of two such integers precisely enough
// to round down correctly. Divisors -1 (the least number overflows) and 0 take other paths.
template <bool kRemainder>
inline __attribute__((always_inline)) int32_t FloorInt32(int32_t x, int32_t y, int32_t* zeros) {
  *zeros |= y == 0;
  const double quotient = std::floor(static_cast<double>(x) / static_cast<double>(y == 0 || y == -1 ? 1 : y));
  const uint32_t down = y == -1 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(static_cast<int32_t>(quotient));
  const uint32_t result = kRemainder ? static_cast<uint32_t>(x) - down * static_cast<uint32_t>(y) : down;
  return y == 0 ? 0 : static_cast<int32_t>(result);
}

template <bool kRemainder>
inline __attribute__((always_inline)) bool FloorInt32s(const int32_t* x, int64_t x_step, const int32_t* y,
                                                       int64_t y_step, int32_t* z, int64_t n) {
  int32_t zeros = 0;
  if (x_step == 1 && y_step == 1) {
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = FloorInt32<kRemainder>(x[i], y[i], &zeros);
  } else if (x_step == 1) {
    const int32_t b = *y;
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = FloorInt32<kRemainder>(x[i], b, &zeros);
  } else {
    const int32_t a = *x;
    for (int64_t i = 0; i < n; ++i) z[i] = FloorInt32<kRemainder>(a, y[i * y_step], &zeros);
  }
  return zeros == 0;
}

#define WEIR_FLOOR_INT32(Name, kRemainder)                                                                           \
  WEIR_TARGET_CLONES bool Name(const void* x, int64_t x_step, const void* y, int64_t y_step, void* out, int64_t n) { \
    return FloorInt32s<kRemainder>(static_cast<const int32_t*>(x), x_step, static_cast<const int32_t*>(y), y_step,   \
                                   static_cast<int32_t*>(out), n);                                                   \
  }
WEIR_FLOOR_INT32(FloorDivInt32, false)
WEIR_FLOOR_INT32(FloorModInt32, true)
#undef WEIR_FLOOR_INT32

std::unique_ptr<OpKernel> MakeFloorDivInt32() {
  return std::make_unique<BinaryKernel>(&FloorDivInt32, 1000, functor::kDivisionByZero);
}
std::unique_ptr<OpKernel> MakeFloorModInt32() {
  return std::make_unique<BinaryKernel>(&FloorModInt32, 1000, functor::kDivisionByZero);
}

// The quotient of 16-bit floats is rounded to 16 bits before it is rounded to a whole number.
template <typename T, UnaryLoop kRound>
bool DivideAndRound16(const void* x, int64_t x_step, const void* y, int64_t y_step, void* out, int64_t n) {
  BinaryLoop16<T, T, &BinaryLoopOf<functor::Divide, float, float>>(x, x_step, y, y_step, out, n);
  UnaryLoop16<T, T, kRound>(out, out, n);
  return true;
}
void FloorFloats(const void* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = std::floor(static_cast<const float*>(in)[i]);
}
void TruncateFloats(const void* in, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = std::trunc(static_cast<const float*>(in)[i]);
}
#define WEIR_ROUNDED_DIV(op, Functor, Round)                                                               \
  WEIR_BINARY(op, Functor, float, 500)                                                                     \
  WEIR_BINARY(op, Functor, double, 1000){op, DT_HALF, &MakeBinary<&DivideAndRound16<half, &Round>, 2000>}, \
      {op, DT_BFLOAT16, &MakeBinary<&DivideAndRound16<bfloat16, &Round>, 2000>},

}  // namespace

absl::Status RegisterDivisionKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr BinaryEntry kEntries[] = {
      WEIR_BINARY_FLOATS("Div", Divide, 500)
      WEIR_BINARY_COMPLEX("Div", Divide, 5000)
      WEIR_FOR_INTEGERS(WEIR_DIV)
      WEIR_BINARY_FLOATS("RealDiv", Divide, 500)
      WEIR_BINARY_COMPLEX("RealDiv", Divide, 5000)
      WEIR_ROUNDED_DIV("TruncateDiv", TruncateDivide, TruncateFloats)
      WEIR_FOR_INTEGERS(WEIR_TRUNCATE_DIV)
      WEIR_ROUNDED_DIV("FloorDiv", FloorDivide, FloorFloats)
      {"FloorDiv", DT_INT32, &MakeFloorDivInt32},
      WEIR_FOR_OTHER_INTEGERS(WEIR_FLOOR_DIV)
      WEIR_BINARY_FLOATS("FloorMod", FloorRemainder, 8000)
      {"FloorMod", DT_INT32, &MakeFloorModInt32},
      WEIR_FOR_OTHER_INTEGERS(WEIR_FLOOR_MOD)
      WEIR_BINARY("Mod", Remainder, float, 8000)
      WEIR_BINARY("Mod", Remainder, double, 8000)
      WEIR_FAILING("Mod", IntegerRemainder, int32_t, kDivisionByZero)
      WEIR_FAILING("Mod", IntegerRemainder, int64_t, kDivisionByZero)
      WEIR_BINARY("TruncateMod", Remainder, float, 8000)
      WEIR_BINARY("TruncateMod", Remainder, double, 8000)
      WEIR_FAILING("TruncateMod", IntegerRemainder, int32_t, kDivisionByZero)
      WEIR_FAILING("TruncateMod", IntegerRemainder, int64_t, kDivisionByZero)
      WEIR_FOR_SIGNED_INTEGERS(WEIR_POW)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
