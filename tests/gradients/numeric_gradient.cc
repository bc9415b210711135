#include "tests/gradients/numeric_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "core/testing.h"
#include "graph/gradients/gradient_builder.h"
#include "graph/gradients/gradient_context.h"
#include "tests/gradients/graph_function.h"

namespace weir {
namespace {

int64_t NumReals(const Tensor& tensor) { return tensor.NumElements() * (IsComplex(tensor.dtype()) ? 2 : 1); }

bool IsSingle(const Tensor& tensor) { return tensor.dtype() == DT_FLOAT || tensor.dtype() == DT_COMPLEX64; }

double GetReal(const Tensor& tensor, int64_t i) {
  return IsSingle(tensor) ? static_cast<const float*>(tensor.raw_data())[i]
                          : static_cast<const double*>(tensor.raw_data())[i];
}

void SetReal(Tensor* tensor, int64_t i, double value) {
  if (IsSingle(*tensor)) {
    static_cast<float*>(tensor->raw_data())[i] = static_cast<float>(value);
  } else {
    static_cast<double*>(tensor->raw_data())[i] = value;
  }
}

// Ops may be known to a build that cannot run them on a CPU.
bool LacksKernel(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnimplemented) return false;
  std::fprintf(stderr, "not checked: %s\n", std::string(status.message().substr(0, 100)).c_str());
  return true;
}

double Dot(const std::vector<Tensor>& weights, const std::vector<Tensor>& values) {
  double sum = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    for (int64_t i = 0; i < NumReals(values[k]); ++i) sum += GetReal(weights[k], i) * GetReal(values[k], i);
  }
  return sum;
}

std::vector<Output> AddWeightedGradients(const Scope& scope, const std::vector<Output>& xs,
                                         const std::vector<Output>& ys, const std::vector<Tensor>& weights) {
  GradientOptions options;
  for (const Tensor& weight : weights) options.grad_ys.push_back(scope.WithName("weights").Constant(weight));
  absl::StatusOr<std::vector<Gradient>> gradients = AddGradients(ys, xs, options, scope.graph());
  EXPECT_THAT(gradients.status(), IsOk());
  std::vector<Output> dense(xs.size());
  if (!gradients.ok()) return dense;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!(*gradients)[i].valid()) continue;
    GradientContext context(scope.graph(), xs[i].node(), {}, "densify");
    dense[i] = context.Densify((*gradients)[i]);
    EXPECT_THAT(context.status(), IsOk());
  }
  return dense;
}

// d(sum(weights * function(values))) / d(values[k]), by central differences.
std::vector<double> Numeric(GraphFunction& function, const std::vector<Tensor>& weights, std::vector<Tensor> values,
                            int k, double step) {
  std::vector<double> gradient;
  values[k] = *values[k].DeepCopy();
  for (int64_t i = 0; i < NumReals(values[k]); ++i) {
    const double at = GetReal(values[k], i);
    double side[2] = {};
    for (const int sign : {0, 1}) {
      SetReal(&values[k], i, sign == 0 ? at - step : at + step);
      absl::StatusOr<std::vector<Tensor>> results = function.Call(values);
      EXPECT_THAT(results.status(), IsOk());
      if (!results.ok()) return {};
      side[sign] = Dot(weights, *results);
    }
    SetReal(&values[k], i, at);
    gradient.push_back((side[1] - side[0]) / (2 * step));
  }
  return gradient;
}

}  // namespace

Tensor RandomTensor(DataType type, const TensorShape& shape, double low, double high, int seed) {
  Tensor tensor(type, shape);
  const int64_t n = NumReals(tensor);
  std::vector<int64_t> order(n);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  for (int64_t i = 0; i < n; ++i) {
    double value = low + (high - low) * (order[i] + 0.5) / n;
    const double from_integer = value - std::round(value);
    if (std::abs(from_integer) < 0.03) value += from_integer < 0 ? -0.03 : 0.03;
    SetReal(&tensor, i, value);
  }
  return tensor;
}

std::vector<Output> CheckGradients(const Scope& scope, const std::vector<Output>& xs, const std::vector<Tensor>& values,
                                   const std::vector<Output>& ys, const NumericOptions& options) {
  std::vector<Output> gradients(xs.size());
  EXPECT_THAT(scope.status(), IsOk());
  if (!scope.ok()) return gradients;
  auto forward = GraphFunction::Compile(*scope.graph(), ys);
  if (LacksKernel(forward.status())) return gradients;
  EXPECT_THAT(forward.status(), IsOk());
  if (!forward.ok()) return gradients;
  absl::StatusOr<std::vector<Tensor>> results = (*forward)->Call(values);
  EXPECT_THAT(results.status(), IsOk());
  if (!results.ok()) return gradients;
  std::vector<Tensor> weights;
  for (const Tensor& result : *results) {
    weights.push_back(RandomTensor(result.dtype(), result.shape(), -1, 1, 100 + static_cast<int>(weights.size())));
  }

  gradients = AddWeightedGradients(scope, xs, ys, weights);
  std::vector<Output> valid;
  for (const Output& gradient : gradients) {
    if (gradient.valid()) valid.push_back(gradient);
  }
  auto backward = GraphFunction::Compile(*scope.graph(), valid);
  if (LacksKernel(backward.status())) return std::vector<Output>(xs.size());
  EXPECT_THAT(backward.status(), IsOk());
  if (!backward.ok()) return gradients;
  absl::StatusOr<std::vector<Tensor>> analytic = (*backward)->Call(values);
  EXPECT_THAT(analytic.status(), IsOk());
  if (!analytic.ok()) return gradients;

  size_t next = 0;
  for (size_t k = 0; k < xs.size(); ++k) {
    const std::vector<double> numeric = Numeric(**forward, weights, values, static_cast<int>(k), options.step);
    const Tensor* found = gradients[k].valid() ? &(*analytic)[next++] : nullptr;
    if (found != nullptr) {
      EXPECT_EQ(found->shape().ToString(), values[k].shape().ToString()) << "argument " << k;
    }
    if (found != nullptr && NumReals(*found) != static_cast<int64_t>(numeric.size())) continue;
    for (size_t i = 0; i < numeric.size(); ++i) {
      EXPECT_NEAR(found == nullptr ? 0 : GetReal(*found, static_cast<int64_t>(i)), numeric[i],
                  options.tolerance * (1 + std::abs(numeric[i])))
          << "argument " << k << ", element " << i;
    }
  }
  return gradients;
}

}  // namespace weir
