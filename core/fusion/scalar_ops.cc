#include "core/fusion/scalar_ops.h"

#include <vector>

namespace weir {
namespace {

enum class Types { Floats, Ints, Bools };

std::vector<ScalarOp> MakeScalarOps() {
  std::vector<ScalarOp> ops;
  const auto add = [&ops](absl::string_view name, int operands, Types types, ScalarRule rule, bool gives_bool) {
    if (ops.empty() || ops.back().name != name) {
      ops.push_back({.name = name, .operands = operands, .rule = rule, .gives_bool = gives_bool});
    }
    ops.back().floats |= types == Types::Floats;
    ops.back().ints |= types == Types::Ints;
    ops.back().bools |= types == Types::Bools;
  };
#define WEIR_GIVES_T false
#define WEIR_GIVES_bool true
#define WEIR_SCALAR_1(Op, types, rule, Result, ...) add(#Op, 1, Types::types, ScalarRule::rule, WEIR_GIVES_##Result);
#define WEIR_SCALAR_2(Op, types, rule, Result, ...) add(#Op, 2, Types::types, ScalarRule::rule, WEIR_GIVES_##Result);
#include "core/fusion/scalar_ops.inc"
#undef WEIR_SCALAR_1
#undef WEIR_SCALAR_2
#undef WEIR_GIVES_T
#undef WEIR_GIVES_bool
  return ops;
}

}  // namespace

bool ScalarOp::Takes(DataType type) const {
  return (floats && IsFusedFloat(type)) || (ints && type == DT_INT64) || (bools && type == DT_BOOL);
}

absl::Span<const ScalarOp> ScalarOps() {
  static const auto* const ops = new std::vector<ScalarOp>(MakeScalarOps());
  return *ops;
}

const ScalarOp* FindScalarOp(absl::string_view name) {
  for (const ScalarOp& op : ScalarOps()) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

bool IsFusedFloat(DataType type) {
  return type == DT_FLOAT || type == DT_DOUBLE || type == DT_HALF || type == DT_BFLOAT16;
}

bool IsFusedType(DataType type) {
  return IsFusedFloat(type) || type == DT_INT32 || type == DT_INT64 || type == DT_BOOL;
}

}  // namespace weir
