#include "kernels/elementwise/binary_families.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

#define WEIR_COMPLEX_FUNCTION(op, Functor)                                                    \
  {op, DT_COMPLEX64, &MakeBinary<&ScalarBinaryLoopOf<Functor, complex64, complex64>, 20000>}, \
      {op, DT_COMPLEX128, &MakeBinary<&ScalarBinaryLoopOf<Functor, complex128, complex128>, 30000>},
#define WEIR_COMPLEX_PAIR(op, Functor)                                                          \
  {op, DT_COMPLEX64, &MakePairwise<&ScalarBinaryLoopOf<Functor, complex64, complex64>, 20000>}, \
      {op, DT_COMPLEX128, &MakePairwise<&ScalarBinaryLoopOf<Functor, complex128, complex128>, 30000>},
#define WEIR_COMPLEX_GRADIENT(op, Name) WEIR_COMPLEX_PAIR(op, functor::ConjugateFirst<functor::Name>)

}  // namespace

absl::Status RegisterComplexFunctionKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr BinaryEntry kEntries[] = {
      WEIR_COMPLEX_FUNCTION("DivNoNan", functor::DivNoNan)
      WEIR_COMPLEX_FUNCTION("MulNoNan", functor::MulNoNan)
      WEIR_COMPLEX_FUNCTION("Xdivy", functor::Xdivy)
      WEIR_COMPLEX_FUNCTION("Pow", functor::Pow)
      WEIR_COMPLEX_FUNCTION("Xlogy", functor::Xlogy)
      WEIR_COMPLEX_FUNCTION("Xlog1py", functor::Xlog1py)
      WEIR_COMPLEX_PAIR("TanhGrad", functor::TanhGrad)
      WEIR_COMPLEX_PAIR("SigmoidGrad", functor::SigmoidGrad)
      WEIR_COMPLEX_GRADIENT("SqrtGrad", SqrtGrad)
      WEIR_COMPLEX_GRADIENT("RsqrtGrad", RsqrtGrad)
      WEIR_COMPLEX_GRADIENT("ReciprocalGrad", ReciprocalGrad)
      WEIR_COMPLEX_GRADIENT("InvGrad", ReciprocalGrad)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
