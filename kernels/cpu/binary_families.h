// The parts of RegisterBinaryKernels, split so that each file compiles in seconds.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterArithmeticKernels(KernelRegistry& kernels);  // add, subtract, multiply, maximum, minimum
absl::Status RegisterDivisionKernels(KernelRegistry& kernels);    // quotients, remainders, powers
absl::Status RegisterComparisonKernels(KernelRegistry& kernels);
absl::Status RegisterBitwiseKernels(KernelRegistry& kernels);       // and logic
absl::Status RegisterRealFunctionKernels(KernelRegistry& kernels);  // the dear functions, and gradients
absl::Status RegisterComplexFunctionKernels(KernelRegistry& kernels);

// --- Entries for their tables ---

// One type; 16-bit floats go through float.
#define WEIR_BINARY(op, Name, T, picoseconds) \
  {op, DataTypeOf<T>(), &MakeBinary<&BinaryLoopOf<functor::Name, T, T>, picoseconds>},
#define WEIR_BINARY_16(op, Name, T, picoseconds) \
  {op, DataTypeOf<T>(), &MakeBinary<&BinaryLoop16<T, T, &BinaryLoopOf<functor::Name, float, float>>, picoseconds>},
#define WEIR_BINARY_FLOATS(op, Name, picoseconds) \
  WEIR_BINARY(op, Name, float, picoseconds)       \
  WEIR_BINARY(op, Name, double, 2 * picoseconds)  \
  WEIR_BINARY_16(op, Name, half, 3 * picoseconds) \
  WEIR_BINARY_16(op, Name, bfloat16, 3 * picoseconds)
// Gradients, whose two inputs have as many elements.
#define WEIR_PAIR(op, Name, T, picoseconds) \
  {op, DataTypeOf<T>(), &MakePairwise<&BinaryLoopOf<functor::Name, T, T>, picoseconds>},
#define WEIR_PAIR_16(op, Name, T, picoseconds) \
  {op, DataTypeOf<T>(), &MakePairwise<&BinaryLoop16<T, T, &BinaryLoopOf<functor::Name, float, float>>, picoseconds>},
#define WEIR_PAIR_FLOATS(op, Name, picoseconds) \
  WEIR_PAIR(op, Name, float, picoseconds)       \
  WEIR_PAIR(op, Name, double, 2 * picoseconds)  \
  WEIR_PAIR_16(op, Name, half, 3 * picoseconds) \
  WEIR_PAIR_16(op, Name, bfloat16, 3 * picoseconds)
#define WEIR_BINARY_COMPLEX(op, Name, picoseconds) \
  WEIR_BINARY(op, Name, complex64, picoseconds)    \
  WEIR_BINARY(op, Name, complex128, picoseconds)
// Functions of which the bits of the result do not depend on the sign: signed types share the unsigned loop.
#define WEIR_BINARY_SIGNLESS(op, Name, T) \
  {op, DataTypeOf<T>(),                   \
   &MakeBinary<&BinaryLoopOf<functor::Name, std::make_unsigned_t<T>, std::make_unsigned_t<T>>, 300>},

}  // namespace weir
