// Arithmetic on outputs without a scope: x * y + b, -x, Less(x, 0).
#pragma once

#include <concepts>

#include "client/ops/source_line.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// An operand and the line of the operator.
class LocatedOutput {
 public:
  LocatedOutput(const Output& output,  // NOLINT(google-explicit-constructor): operands read as outputs
                const SourceLine& at = SourceLine::Here())
      : output_(output), at_(at) {}
  const Output& output() const { return output_; }
  const SourceLine& line() const { return at_; }

 private:
  const Output& output_;
  const SourceLine at_;
};

// A number or tensor beside an output. A number takes the output's type; one that does not fit it is an error.
template <typename T>
concept OperandValue = !std::same_as<T, Output> && std::convertible_to<const T&, Input>;

// An operator adds one op to the graph of its operands, as its wrapper in client/ops.h does (AddV2, Sub, Mul, Div,
// Less …), and broadcasts like it. Its scope follows from an operand, the left one if both are outputs:
// - The name has that operand's prefix: "dense/Mul" beside "dense/MatMul".
// - The device is the one requested for that operand; none if it is colocated, as reads of variables are.
// - It has no control dependencies. Where these or another device matter, call ops::Mul with a scope.
// Division of integers rounds towards zero. == compares handles; Equal compares elements.
//
// Errors are recorded in the graph's scopes, with the line of the operator.
Output BinaryOperation(const char* op, const Input& x, const Input& y, const Output& beside, const SourceLine& at);
Output operator-(const LocatedOutput& x);

#define WEIR_BINARY_OPERATION(function, op)                                 \
  inline Output function(const LocatedOutput& x, const LocatedOutput& y) {  \
    const Output& beside = x.output().valid() ? x.output() : y.output();    \
    return BinaryOperation(op, x.output(), y.output(), beside, x.line());   \
  }                                                                         \
  template <OperandValue T>                                                 \
  Output function(const LocatedOutput& x, const T& y) {                     \
    return BinaryOperation(op, x.output(), Input(y), x.output(), x.line()); \
  }                                                                         \
  template <OperandValue T>                                                 \
  Output function(const T& x, const LocatedOutput& y) {                     \
    return BinaryOperation(op, Input(x), y.output(), y.output(), y.line()); \
  }
WEIR_BINARY_OPERATION(operator+, "AddV2")
WEIR_BINARY_OPERATION(operator-, "Sub")
WEIR_BINARY_OPERATION(operator*, "Mul")
WEIR_BINARY_OPERATION(operator/, "Div")
WEIR_BINARY_OPERATION(Equal, "Equal")
WEIR_BINARY_OPERATION(NotEqual, "NotEqual")
WEIR_BINARY_OPERATION(Less, "Less")
WEIR_BINARY_OPERATION(LessEqual, "LessEqual")
WEIR_BINARY_OPERATION(Greater, "Greater")
WEIR_BINARY_OPERATION(GreaterEqual, "GreaterEqual")
#undef WEIR_BINARY_OPERATION

}  // namespace weir
