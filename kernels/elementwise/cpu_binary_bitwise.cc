#include "kernels/elementwise/binary_families.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

#define WEIR_AND(T) WEIR_BINARY_SIGNLESS("BitwiseAnd", And, T)
#define WEIR_OR(T) WEIR_BINARY_SIGNLESS("BitwiseOr", Or, T)
#define WEIR_XOR(T) WEIR_BINARY_SIGNLESS("BitwiseXor", Xor, T)
#define WEIR_LEFT(T) WEIR_BINARY("LeftShift", LeftShift, T, 300)
#define WEIR_RIGHT(T) WEIR_BINARY("RightShift", RightShift, T, 300)

}  // namespace

absl::Status RegisterBitwiseKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr BinaryEntry kEntries[] = {
      WEIR_FOR_INTEGERS(WEIR_AND)
      WEIR_FOR_INTEGERS(WEIR_OR)
      WEIR_FOR_INTEGERS(WEIR_XOR)
      WEIR_FOR_INTEGERS(WEIR_LEFT)
      WEIR_FOR_INTEGERS(WEIR_RIGHT)
      {"LogicalAnd", DT_INVALID, &MakeBinary<&BinaryLoopOf<functor::And, bool, bool>, 100>},
      {"LogicalOr", DT_INVALID, &MakeBinary<&BinaryLoopOf<functor::Or, bool, bool>, 100>},
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
