// Unary functions of integers and booleans.
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/unary_functors.h"

namespace weir {
namespace {

#define WEIR_INTEGER(op, Name, T) {op, DataTypeOf<T>(), &MakeUnary<&UnaryLoopOf<functor::Name, T, T>, 300>},
// clang-format off
#define WEIR_SIGNED_INTEGERS(op, Name) \
  WEIR_INTEGER(op, Name, int8_t)       \
  WEIR_INTEGER(op, Name, int16_t)      \
  WEIR_INTEGER(op, Name, int32_t)      \
  WEIR_INTEGER(op, Name, int64_t)
#define WEIR_ALL_INTEGERS(op, Name)  \
  WEIR_SIGNED_INTEGERS(op, Name)     \
  WEIR_INTEGER(op, Name, uint8_t)    \
  WEIR_INTEGER(op, Name, uint16_t)   \
  WEIR_INTEGER(op, Name, uint32_t)   \
  WEIR_INTEGER(op, Name, uint64_t)
// clang-format on
#define WEIR_COUNT(T) \
  {"PopulationCount", DataTypeOf<T>(), &MakeUnary<&UnaryLoopOf<functor::PopulationCount, T, uint8_t>, 700>},

}  // namespace

absl::Status RegisterUnaryKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr UnaryEntry kEntries[] = {
      WEIR_SIGNED_INTEGERS("Neg", Neg)
      WEIR_SIGNED_INTEGERS("Abs", Abs)
      WEIR_SIGNED_INTEGERS("Sign", Sign)
      WEIR_ALL_INTEGERS("Square", Square)
      WEIR_ALL_INTEGERS("Invert", Invert)
      WEIR_INTEGER("Round", RoundHalfToEven, int32_t)
      WEIR_INTEGER("Round", RoundHalfToEven, int64_t)
      WEIR_FOR_INTEGERS(WEIR_COUNT)
      {"LogicalNot", DT_INVALID, &MakeUnary<&UnaryLoopOf<functor::LogicalNot, bool, bool>, 200>},
  };
  // clang-format on
  RETURN_IF_ERROR(RegisterEntries(kernels, kEntries));
  return absl::OkStatus();
}

}  // namespace weir
