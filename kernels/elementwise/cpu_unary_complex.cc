// Unary functions of complex elements.
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/unary_functors.h"

namespace weir {
namespace {

// clang-format off
#define WEIR_COMPLEX(op, Name)                                                              \
  {op, DT_COMPLEX64, &MakeUnary<&UnaryLoopOf<functor::Name, complex64, complex64>, 10000>}, \
  {op, DT_COMPLEX128, &MakeUnary<&UnaryLoopOf<functor::Name, complex128, complex128>, 15000>},
#define WEIR_COMPLEX_ENTRY(Name) WEIR_COMPLEX(#Name, Name)
#define WEIR_COMPLEX_FUNCTORS(M)                                                                             \
  M(Neg) M(Sign) M(Square) M(Sqrt) M(Rsqrt) M(Reciprocal) M(Exp) M(Log) M(Log1p) M(Expm1) M(Tanh) M(Sigmoid) \
  M(Sin) M(Cos) M(Tan) M(Asin) M(Acos) M(Atan) M(Sinh) M(Cosh) M(Asinh) M(Acosh) M(Atanh) M(Conj)
#define WEIR_COMPLEX_PART(Name)                                                           \
  {#Name, DT_COMPLEX64, &MakeUnary<&UnaryLoopOf<functor::Name, complex64, float>, 2000>}, \
  {#Name, DT_COMPLEX128, &MakeUnary<&UnaryLoopOf<functor::Name, complex128, double>, 3000>},
// clang-format on

}  // namespace

absl::Status RegisterComplexUnaryKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr UnaryEntry kEntries[] = {
      WEIR_COMPLEX_FUNCTORS(WEIR_COMPLEX_ENTRY)
      WEIR_COMPLEX("Inv", Reciprocal)
      WEIR_COMPLEX_PART(Real)
      WEIR_COMPLEX_PART(Imag)
      WEIR_COMPLEX_PART(ComplexAbs)
      WEIR_COMPLEX_PART(Angle)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
