// The element-wise ops of fused expressions: names, operands and types. scalar_ops.inc has their formulas.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/types.h"

namespace weir {

enum class ScalarRule {
  kBroadcast,  // operands are broadcast
  kPairwise,   // operands have the same number of elements; the result has the first one's shape
  kSameShape,
};

struct ScalarOp {
  absl::string_view name;  // TensorFlow's
  int operands = 0;
  ScalarRule rule = ScalarRule::kBroadcast;
  bool gives_bool = false;
  // Operand types: any of these, the same for all operands.
  bool floats = false, ints = false, bools = false;

  bool Takes(DataType type) const;
  DataType Gives(DataType type) const { return gives_bool ? DT_BOOL : type; }
};

absl::Span<const ScalarOp> ScalarOps();
// nullptr if there is none.
const ScalarOp* FindScalarOp(absl::string_view name);

// Whether fused expressions support the type: float, double, half, bfloat16, int32, int64 and bool.
bool IsFusedType(DataType type);
bool IsFusedFloat(DataType type);

}  // namespace weir
