// Analytic gradients against central differences.
#pragma once

#include <vector>

#include "client/scope.h"
#include "core/tensor/tensor.h"
#include "graph/output.h"

namespace weir {

struct NumericOptions {
  double step = 1e-5;
  double tolerance = 2e-6;  // absolute, and relative to the numeric gradient
};
// For single precision.
inline constexpr NumericOptions kSinglePrecision = {.step = 1e-2, .tolerance = 1e-2};

// Adds the gradients of sum(w * y), for random weights w, with respect to `xs` (Arguments 0, 1, …, whose values are
// `values`), evaluates them there, and fails the test where they differ from central differences. Complex numbers count
// as pairs of real ones. Returns the gradients, invalid where there is none; sparse ones are made dense.
std::vector<Output> CheckGradients(const Scope& scope, const std::vector<Output>& xs, const std::vector<Tensor>& values,
                                   const std::vector<Output>& ys, const NumericOptions& options = {});

// Values between `low` and `high`, apart from each other and from the integers, so that comparisons and roundings do
// not turn over within a step. DT_FLOAT, DT_DOUBLE or complex.
Tensor RandomTensor(DataType type, const TensorShape& shape, double low, double high, int seed);

}  // namespace weir
