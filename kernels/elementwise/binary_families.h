// Table entries of the cpu_binary_*.cc files, which are split so that each compiles in seconds.
#pragma once

#include "core/kernel/kernel_registry.h"
#include "core/status.h"

namespace weir {

// --- Entries for their tables ---

// One type; 16-bit floats go through float. `Make` makes the kernel: MakeBinary broadcasts.
#define WEIR_LOOP(Make, op, Name, T, picoseconds) \
  {op, DataTypeOf<T>(), &Make<&BinaryLoopOf<functor::Name, T, T>, picoseconds>},
#define WEIR_LOOP_16(Make, op, Name, T, picoseconds) \
  {op, DataTypeOf<T>(), &Make<&BinaryLoop16<T, T, &BinaryLoopOf<functor::Name, float, float>>, picoseconds>},
#define WEIR_LOOP_FLOATS(Make, op, Name, picoseconds) \
  WEIR_LOOP(Make, op, Name, float, picoseconds)       \
  WEIR_LOOP(Make, op, Name, double, 2 * picoseconds)  \
  WEIR_LOOP_16(Make, op, Name, half, 3 * picoseconds) \
  WEIR_LOOP_16(Make, op, Name, bfloat16, 3 * picoseconds)
#define WEIR_BINARY(op, Name, T, picoseconds) WEIR_LOOP(MakeBinary, op, Name, T, picoseconds)
#define WEIR_BINARY_FLOATS(op, Name, picoseconds) WEIR_LOOP_FLOATS(MakeBinary, op, Name, picoseconds)
// Gradients, whose two inputs have as many elements.
#define WEIR_PAIR_FLOATS(op, Name, picoseconds) WEIR_LOOP_FLOATS(MakePairwise, op, Name, picoseconds)
#define WEIR_BINARY_COMPLEX(op, Name, picoseconds) \
  WEIR_BINARY(op, Name, complex64, picoseconds)    \
  WEIR_BINARY(op, Name, complex128, picoseconds)
// Functions of which the bits of the result do not depend on the sign: signed types share the unsigned loop.
#define WEIR_BINARY_SIGNLESS(op, Name, T) \
  {op, DataTypeOf<T>(),                   \
   &MakeBinary<&BinaryLoopOf<functor::Name, std::make_unsigned_t<T>, std::make_unsigned_t<T>>, 300>},

}  // namespace weir
