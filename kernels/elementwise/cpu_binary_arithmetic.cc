#include "kernels/elementwise/binary_families.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

#define WEIR_ADD(T) WEIR_BINARY_SIGNLESS("Add", Add, T)
#define WEIR_ADD_V2(T) WEIR_BINARY_SIGNLESS("AddV2", Add, T)
#define WEIR_SUB(T) WEIR_BINARY_SIGNLESS("Sub", Sub, T)
#define WEIR_MUL(T) WEIR_BINARY_SIGNLESS("Mul", Mul, T)
#define WEIR_MAXIMUM(T) WEIR_BINARY("Maximum", Maximum, T, 300)
#define WEIR_MINIMUM(T) WEIR_BINARY("Minimum", Minimum, T, 300)

}  // namespace

absl::Status RegisterArithmeticKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr BinaryEntry kEntries[] = {
      WEIR_BINARY_FLOATS("Add", Add, 300)
      WEIR_BINARY_COMPLEX("Add", Add, 600)
      WEIR_FOR_SIGNED_INTEGERS(WEIR_ADD)
      WEIR_ADD(uint8_t)
      {"Add", DT_STRING, &MakeBinary<&BinaryLoopOf<functor::Concatenate, tstring, tstring>, 50000>},
      WEIR_BINARY_FLOATS("AddV2", Add, 300)
      WEIR_BINARY_COMPLEX("AddV2", Add, 600)
      WEIR_FOR_INTEGERS(WEIR_ADD_V2)
      WEIR_BINARY_FLOATS("Sub", Sub, 300)
      WEIR_BINARY_COMPLEX("Sub", Sub, 600)
      WEIR_FOR_INTEGERS(WEIR_SUB)
      WEIR_BINARY_FLOATS("Mul", Mul, 300)
      WEIR_BINARY_COMPLEX("Mul", Mul, 2000)
      WEIR_FOR_INTEGERS(WEIR_MUL)
      WEIR_BINARY_FLOATS("SquaredDifference", SquaredDifference, 300)
      WEIR_BINARY_COMPLEX("SquaredDifference", SquaredDifference, 2000)
      WEIR_BINARY_SIGNLESS("SquaredDifference", SquaredDifference, int32_t)
      WEIR_BINARY_SIGNLESS("SquaredDifference", SquaredDifference, int64_t)
      WEIR_BINARY_FLOATS("Maximum", Maximum, 300)
      WEIR_FOR_INTEGERS(WEIR_MAXIMUM)
      WEIR_BINARY_FLOATS("Minimum", Minimum, 300)
      WEIR_FOR_INTEGERS(WEIR_MINIMUM)
  };
  // clang-format on
  return RegisterEntries(kernels, kEntries);
}

}  // namespace weir
