// Parts of recurrent layers. Sequences are [steps, batch, …].
#pragma once

#include "client/scope.h"
#include "graph/output.h"

namespace weir {
namespace layers {

// [a, b, …] → [b, a, …], of rank 3.
Output SwapSteps(const Scope& scope, const Output& sequence);
// [batch, units]; `batch` is an int32 scalar.
Output ZerosFor(const Scope& scope, const Output& batch, int64_t units, DataType dtype);
// Zeros in place of an example's steps from its length on.
Output ZeroAfter(const Scope& scope, const Output& sequence, const Output& lengths);
// Each example's last step; where its length is 0, its row of `none`.
Output StepOf(const Scope& scope, const Output& sequence, const Output& lengths, const Output& none);

}  // namespace layers
}  // namespace weir
