#include "client/ops/operators.h"

#include <optional>

#include "client/scope.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

Output Operate(const char* op, const std::vector<InputList>& inputs, const Output& beside, const SourceLine& at) {
  // The error that kept an invalid operand from being built is in its scope.
  const std::optional<Scope> scope = Scope::Of(beside);
  if (!scope.has_value()) return Output();
  tensorflow::NodeDef def;
  def.set_op(op);
  const Operation operation = scope->AddOp(std::move(def), inputs, at);
  return operation.valid() ? Output(operation, 0) : Output();
}

}  // namespace

Output BinaryOperation(const char* op, const Input& x, const Input& y, const Output& beside, const SourceLine& at) {
  return Operate(op, {{x}, {y}}, beside, at);
}

Output operator-(const LocatedOutput& x) { return Operate("Neg", {{x.output()}}, x.output(), x.line()); }

}  // namespace weir
