// Host functions for the single steps of fused expressions.
#pragma once

#include "core/fusion/fused_expression.h"
#include "kernels/fusion/fused_program.h"

namespace weir {

// What computes `step`, of operands of type `operand` (of the second, for a choice); AddN's adds two. The result is
// rounded as if it had been stored. Not null for what CheckFusedExpression accepts.
void (*CodeOfStep(const FusedStep& step, DataType operand))(const FusedValue* operands, FusedValue* result);

}  // namespace weir
