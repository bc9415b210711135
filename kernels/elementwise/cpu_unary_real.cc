// Unary functions of floating-point elements, and predicates on them.
#include "kernels/device/target_clones.h"
#include "kernels/device/vector_math.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/special/special_functions.h"
#include "kernels/elementwise/unary_functors.h"

namespace weir {
namespace {

#define WEIR_VECTOR_LOOP(Name)                                                 \
  WEIR_TARGET_CLONES void Name##Floats(const void* in, void* out, int64_t n) { \
    const auto* x = static_cast<const float*>(in);                             \
    auto* z = static_cast<float*>(out);                                        \
    WEIR_INDEPENDENT_ITERATIONS                                                \
    for (int64_t i = 0; i < n; ++i) z[i] = vector_math::Name(x[i]);            \
  }
WEIR_VECTOR_LOOP(Exp)
WEIR_VECTOR_LOOP(Log)
WEIR_VECTOR_LOOP(Tanh)
WEIR_VECTOR_LOOP(Sigmoid)
WEIR_VECTOR_LOOP(Expm1)
WEIR_VECTOR_LOOP(Log1p)
WEIR_VECTOR_LOOP(Erf)
WEIR_VECTOR_LOOP(Erfc)
#undef WEIR_VECTOR_LOOP

// Straight-line code for blocks of which all elements allow it.
#define WEIR_PERIODIC_LOOP(Name, library)                                                                \
  WEIR_TARGET_CLONES void Name##Floats(const void* in, void* out, int64_t n) {                           \
    constexpr int64_t kBlock = 512;                                                                      \
    for (int64_t first = 0; first < n; first += kBlock) {                                                \
      const int64_t count = std::min(kBlock, n - first);                                                 \
      const float* const x = static_cast<const float*>(in) + first;                                      \
      float* const z = static_cast<float*>(out) + first;                                                 \
      int32_t far = 0;                                                                                   \
      for (int64_t i = 0; i < count; ++i) far |= !(std::fabs(x[i]) <= vector_math::kTrigonometricLimit); \
      if (far == 0) {                                                                                    \
        WEIR_INDEPENDENT_ITERATIONS                                                                      \
        for (int64_t i = 0; i < count; ++i) z[i] = vector_math::Name(x[i]);                              \
      } else {                                                                                           \
        for (int64_t i = 0; i < count; ++i) z[i] = library(x[i]);                                        \
      }                                                                                                  \
    }                                                                                                    \
  }
WEIR_PERIODIC_LOOP(Sin, std::sin)
WEIR_PERIODIC_LOOP(Cos, std::cos)
#undef WEIR_PERIODIC_LOOP

#define WEIR_FUNCTOR_LOOP(Name) constexpr UnaryLoop Name##Floats = &UnaryLoopOf<functor::Name, float, float>;
#define WEIR_SLOW_FUNCTORS(M) M(Tan) M(Asin) M(Acos) M(Atan) M(Sinh) M(Cosh) M(Asinh) M(Acosh) M(Atanh)
#define WEIR_FAST_FUNCTORS(M) M(Neg) M(Abs) M(Sign) M(Square) M(Sqrt) M(Rsqrt) M(Reciprocal) M(Floor) M(Ceil)
WEIR_SLOW_FUNCTORS(WEIR_FUNCTOR_LOOP)
WEIR_FAST_FUNCTORS(WEIR_FUNCTOR_LOOP)
WEIR_FUNCTOR_LOOP(RoundHalfToEven)
WEIR_FUNCTOR_LOOP(Lgamma)
WEIR_FUNCTOR_LOOP(Digamma)
WEIR_FUNCTOR_LOOP(Erfinv)
WEIR_FUNCTOR_LOOP(Ndtri)
#undef WEIR_FUNCTOR_LOOP

// A function for float (the loop), double (the functor) and the 16-bit floats (the loop on converted blocks).
#define WEIR_FLOAT_AND_DOUBLE(op, Name, picoseconds)     \
  {op, DT_FLOAT, &MakeUnary<Name##Floats, picoseconds>}, \
      {op, DT_DOUBLE, &MakeUnary<&UnaryLoopOf<functor::Name, double, double>, 2 * picoseconds>},
#define WEIR_SIXTEEN_BITS(op, type, Enum, Name, picoseconds) \
  {op, Enum, &MakeUnary<&UnaryLoop16<type, type, Name##Floats>, picoseconds + 200>},
#define WEIR_ALL_FLOATS(op, Name, picoseconds)            \
  WEIR_FLOAT_AND_DOUBLE(op, Name, picoseconds)            \
  WEIR_SIXTEEN_BITS(op, half, DT_HALF, Name, picoseconds) \
  WEIR_SIXTEEN_BITS(op, bfloat16, DT_BFLOAT16, Name, picoseconds)

#define WEIR_PREDICATE(Name)                                                                                 \
  {#Name, DT_FLOAT, &MakeUnary<&UnaryLoopOf<functor::Name, float, bool>, 300>},                              \
      {#Name, DT_DOUBLE, &MakeUnary<&UnaryLoopOf<functor::Name, double, bool>, 400>},                        \
      {#Name, DT_HALF, &MakeUnary<&UnaryLoop16<half, bool, &UnaryLoopOf<functor::Name, float, bool>>, 500>}, \
      {#Name, DT_BFLOAT16, &MakeUnary<&UnaryLoop16<bfloat16, bool, &UnaryLoopOf<functor::Name, float, bool>>, 500>},

#define WEIR_SLOW_ENTRY(Name) WEIR_ALL_FLOATS(#Name, Name, 10000)
#define WEIR_FAST_ENTRY(Name) WEIR_ALL_FLOATS(#Name, Name, 300)

}  // namespace

absl::Status RegisterRealUnaryKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr UnaryEntry kEntries[] = {
      WEIR_FAST_FUNCTORS(WEIR_FAST_ENTRY)
      WEIR_SLOW_FUNCTORS(WEIR_SLOW_ENTRY)
      WEIR_ALL_FLOATS("Inv", Reciprocal, 300)
      WEIR_ALL_FLOATS("Round", RoundHalfToEven, 300)
      WEIR_FLOAT_AND_DOUBLE("Rint", RoundHalfToEven, 300)
      WEIR_ALL_FLOATS("Exp", Exp, 1000)
      WEIR_ALL_FLOATS("Log", Log, 1000)
      WEIR_ALL_FLOATS("Tanh", Tanh, 1000)
      WEIR_ALL_FLOATS("Sigmoid", Sigmoid, 1200)
      WEIR_ALL_FLOATS("Expm1", Expm1, 1500)
      WEIR_ALL_FLOATS("Log1p", Log1p, 2000)
      WEIR_ALL_FLOATS("Erf", Erf, 2000)
      WEIR_ALL_FLOATS("Erfc", Erfc, 3000)
      WEIR_ALL_FLOATS("Sin", Sin, 2000)
      WEIR_ALL_FLOATS("Cos", Cos, 2000)
      WEIR_FLOAT_AND_DOUBLE("Lgamma", Lgamma, 20000)
      WEIR_SIXTEEN_BITS("Lgamma", half, DT_HALF, Lgamma, 20000)
      WEIR_FLOAT_AND_DOUBLE("Digamma", Digamma, 20000)
      WEIR_SIXTEEN_BITS("Digamma", half, DT_HALF, Digamma, 20000)
      WEIR_FLOAT_AND_DOUBLE("Erfinv", Erfinv, 20000)
      WEIR_FLOAT_AND_DOUBLE("Ndtri", Ndtri, 20000)
      WEIR_PREDICATE(IsNan)
      WEIR_PREDICATE(IsInf)
      WEIR_PREDICATE(IsFinite)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
