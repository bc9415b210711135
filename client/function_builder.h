// Functions of a graph's library, built as ops are: by calls with a Scope.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "core/tensor_shape.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {

// Builds a function's results from its arguments, with the scope that it is given.
using FunctionBuilder = std::function<OutputList(const Scope& scope, const OutputList& arguments)>;

// Values that are known by their types and shapes alone.
struct TensorSpecs {
  DataTypeVector types;
  std::vector<PartialTensorShape> shapes;
};

struct BuiltFunction {
  tensorflow::NameAttrList function;
  InputList captured;  // what it uses of the graph around it: arguments that a call adds to those of `arguments`
  TensorSpecs results;
};

// Calls `build` once and makes what it adds to the graph a function of the graph's library; the ops themselves go from
// the graph. Stateful ops run with each call whether or not a result needs them. Functions nest. `name` becomes part of
// the function's. InvalidArgument where the body makes a variable, or is ordered after ops around it.
absl::StatusOr<BuiltFunction> BuildFunction(const Scope& scope, const std::string& name, const TensorSpecs& arguments,
                                            const FunctionBuilder& build);

// A function without arguments that computes `results` as the graph does: with copies of all that leads to them.
absl::StatusOr<BuiltFunction> CopyToFunction(const Scope& scope, const std::string& name, const OutputList& results);

}  // namespace weir
