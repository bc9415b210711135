// Element-wise reductions.
#pragma once

#include <cstdint>

#include "core/rendezvous/collective.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace weir {

// out[i] = a[i] combined with b[i]. `out` may be `a`; `b` need not be aligned.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, int64_t count);
// values[i] /= divisor, as TensorFlow's Div: integers are truncated.
using DivideFunction = void (*)(void* values, int64_t divisor, int64_t count);

// Unimplemented, with the type's name, for types other than half, bfloat16, float, double, int32 and int64.
absl::StatusOr<ReduceFunction> ReduceFunctionFor(DataType dtype, Reduction reduction);
absl::StatusOr<DivideFunction> DivideFunctionFor(DataType dtype);

const char* Name(Reduction reduction);

}  // namespace weir
