// Builds functions of a graph's library the way ops are built: with a Scope.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "core/api.h"
#include "core/proto_value.h"
#include "core/tensor/tensor_shape.h"

namespace WEIR_API weir {

// Builds a function's results from its arguments, with the given scope.
using FunctionBuilder = std::function<OutputList(const Scope& scope, const OutputList& arguments)>;

// Types and shapes of values.
struct TensorSpecs {
  DataTypeVector types;
  std::vector<PartialTensorShape> shapes;
};

struct BuiltFunction {
  NameAttrList function;
  InputList captured;  // used values of the surrounding graph: arguments of a call after `arguments`
  TensorSpecs results;
};

// Calls `build` once and turns the ops that it adds to the graph into a function of the graph's library. Stateful ops
// run in each call even if no result needs them. Functions nest. `name` becomes part of the function's name.
// InvalidArgument if the body creates a variable or has control inputs from outside.
absl::StatusOr<BuiltFunction> BuildFunction(const Scope& scope, const std::string& name, const TensorSpecs& arguments,
                                            const FunctionBuilder& build);

// A function without arguments that computes `results`, from copies of all ops that they depend on.
absl::StatusOr<BuiltFunction> CopyToFunction(const Scope& scope, const std::string& name, const OutputList& results);

}  // namespace weir
