// The element-wise ops that fused expressions are made of: names, operands and types. What they compute is in
// scalar_ops.inc.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/types.h"

namespace weir {

enum class ScalarRule {
  kBroadcast,  // operands are broadcast against each other
  kPairwise,   // they have as many elements; the result has the first one's shape
  kSameShape,
};

struct ScalarOp {
  absl::string_view name;  // TensorFlow's
  int operands = 0;
  ScalarRule rule = ScalarRule::kBroadcast;
  bool gives_bool = false;
  // Types of operands: each of these, all alike.
  bool floats = false, ints = false, bools = false;

  bool Takes(DataType type) const;
  DataType Gives(DataType type) const { return gives_bool ? DT_BOOL : type; }
};

absl::Span<const ScalarOp> ScalarOps();
// nullptr where there is none.
const ScalarOp* FindScalarOp(absl::string_view name);

// The types of values of fused expressions: float, double, half, bfloat16, int32, int64 and bool.
bool IsFusedType(DataType type);
bool IsFusedFloat(DataType type);

}  // namespace weir
