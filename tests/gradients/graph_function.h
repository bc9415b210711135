// A part of a graph as a function that a test can call.
#pragma once

#include <memory>
#include <vector>

#include "client/scope.h"
#include "graph/output.h"
#include "worker/executor/executor_testing.h"

namespace weir {

// The argument `index` of a GraphFunction.
Output Argument(const Scope& scope, int index, DataType type);

// From the Argument nodes of a graph to `outputs`, compiled once: later changes of the graph do not show. All kernels
// run on one CPU device, whose variables live as long as the function.
class GraphFunction {
 public:
  static absl::StatusOr<std::unique_ptr<GraphFunction>> Compile(const Graph& graph, const std::vector<Output>& outputs);
  absl::StatusOr<std::vector<Tensor>> Call(const std::vector<Tensor>& arguments);

 private:
  GraphFunction() = default;
  ExecutorHarness harness_;
  std::shared_ptr<Executor> executor_;
};

}  // namespace weir
