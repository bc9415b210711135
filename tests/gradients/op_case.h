// Ops whose gradients are checked: one line of a family's table each.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/op_kernel_testing.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {

// One argument of an op: a list of values, each differentiated or constant.
struct OpArgument {
  struct Value {
    Tensor constant;  // for a value that is not differentiated
    TensorShape shape;
    double low = -2, high = 2;
    bool differentiable = false;
  };
  std::vector<Value> values;
};

// A random argument of `shape` between `low` and `high`.
OpArgument X(const TensorShape& shape, double low = -1.9, double high = 1.9);
// A constant one.
OpArgument C(const Tensor& value);
inline OpArgument Ints(std::vector<int32_t> values) { return C(Tensor::Vector<int32_t>(values)); }
inline OpArgument Longs(std::vector<int64_t> values) { return C(Tensor::Vector<int64_t>(values)); }
// Matrices: of so many rows, and of rows of so many columns.
OpArgument IntRows(std::vector<int32_t> values, int64_t rows);
OpArgument LongRows(std::vector<int64_t> values, int64_t columns);
inline OpArgument Int(int32_t value) { return C(Tensor::Scalar<int32_t>(value)); }
// A list of values as one argument.
OpArgument List(const std::vector<OpArgument>& parts);

using Ints64 = std::vector<int64_t>;
// Attributes of what slides over an image.
Attrs WindowAttrs(const Ints64& strides, const std::string& padding, const std::string& format = "NHWC");

struct OpCase {
  std::string op;
  std::vector<OpArgument> arguments;
  Attrs attrs;
  bool second_order = false;
  DataType type = DT_DOUBLE;
  std::vector<int> outputs = {};  // which are differentiated; none: all that are floating or complex
};

inline OpCase Twice(OpCase op_case) {
  op_case.second_order = true;
  return op_case;
}
inline OpCase Single(OpCase op_case) {
  op_case.type = DT_FLOAT;
  return op_case;
}
inline OpCase Complex(OpCase op_case) {
  op_case.type = DT_COMPLEX128;
  return op_case;
}
inline OpCase Outputs(std::vector<int> which, OpCase op_case) {
  op_case.outputs = std::move(which);
  return op_case;
}
inline OpCase FirstOutput(OpCase op_case) { return Outputs({0}, std::move(op_case)); }

std::vector<OpCase> Joined(const std::vector<std::vector<OpCase>>& tables);

// The gradients of each case agree with numeric ones; so do the gradients' gradients where asked for.
void CheckCases(const std::vector<OpCase>& cases);

}  // namespace weir
