// Element-wise updates in place, by operation and type: what AssignAdd and the scatter ops do to each row.
#pragma once

#include <cstdint>

#include "core/tensor/types.h"

namespace weir {

enum class UpdateOp { kAssign, kAdd, kSub, kMul, kDiv, kMin, kMax };

// target[i] = op(target[i], update[i * step]) for i < n; step is 0 or 1. Integers wrap; an integer divisor of zero is
// for the caller to refuse.
using UpdateLoop = void (*)(void* target, const void* update, int64_t step, int64_t n);

// nullptr where the operation is not defined for the type. kAssign is defined for every type.
UpdateLoop FindUpdateLoop(UpdateOp op, DataType type);

// Whether any of the n elements is an integer zero.
bool HasIntegerZero(DataType type, const void* values, int64_t n);

}  // namespace weir
