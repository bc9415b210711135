// Tests how samples move with their distributions' parameters. One sampler's random numbers are not a smooth function
// of them, so the test differentiates the sample that keeps the probability below it: dx = -(dF/dp) / (dF/dx) for the
// distribution function F.
#include <cmath>
#include <functional>

#include "core/kernel/op_kernel_testing.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/gradients/gradient_builder.h"
#include "tests/gradients/graph_function.h"

namespace weir {
namespace {

// Of a sample, given the values of all parameters and then the sample.
using Distribution = std::function<double(const std::vector<double>& at)>;

double Slope(const Distribution& f, std::vector<double> at, size_t i) {
  const double step = 1e-5 * std::max(1.0, std::abs(at[i])), middle = at[i];
  at[i] = middle + step;
  const double after = f(at);
  at[i] = middle - step;
  return (after - f(at)) / (2 * step);
}

// The sum of all samples by each parameter, `last` of the op's inputs, of shape [n], for samples [m, n].
void CheckSamples(const std::string& op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& parameters,
                  const Attrs& attrs, const Distribution& distribution) {
  SCOPED_TRACE(op);
  const Scope scope = Scope::NewRoot();
  std::vector<InputList> arguments;
  std::vector<Output> xs;
  for (const Tensor& input : inputs) arguments.push_back({input});
  for (size_t i = 0; i < parameters.size(); ++i) {
    xs.push_back(Argument(scope, static_cast<int>(i), DT_DOUBLE));
    arguments.push_back({xs.back()});
  }
  tensorflow::NodeDef def = attrs.node();
  def.set_op(op);
  const Output samples(scope.AddOp(std::move(def), arguments), 0);
  ASSERT_THAT(scope.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Gradient> gradients, AddGradients({samples}, xs, {}, scope.graph()));
  std::vector<Output> fetches = {samples};
  for (const Gradient& gradient : gradients) fetches.push_back(gradient.values);
  ASSERT_OK_AND_ASSIGN(auto function, GraphFunction::Compile(*scope.graph(), fetches));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, function->Call(parameters));
  const int64_t columns = parameters[0].NumElements(), rows = values[0].NumElements() / columns;
  for (size_t p = 0; p < parameters.size(); ++p) {
    for (int64_t c = 0; c < columns; ++c) {
      double expected = 0;
      for (int64_t r = 0; r < rows; ++r) {
        std::vector<double> at;
        for (const Tensor& parameter : parameters) at.push_back(parameter.data<double>()[c]);
        at.push_back(values[0].data<double>()[r * columns + c]);
        expected -= Slope(distribution, at, p) / Slope(distribution, at, parameters.size());
      }
      EXPECT_NEAR(values[p + 1].data<double>()[c], expected, 1e-4 * (1 + std::abs(expected)))
          << "parameter " << p << ", element " << c;
    }
  }
}

// The regularised lower incomplete gamma function, by its series.
double LowerGamma(const std::vector<double>& at) {
  const double a = at[0], x = at[1];
  double term = 1 / a, sum = term;
  for (int n = 1; n < 500; ++n) sum += term *= x / (a + n);
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

TEST(RandomGradients, Gamma) {
  const Tensor alpha = Tensor::Vector<double>({0.7, 1.8, 6.5});
  const Tensor two = Tensor::Vector<int32_t>({2}), shape = Tensor::Vector<int32_t>({2, 3});
  const Attrs seeds = Attrs().Set("seed", int64_t{3}).Set("seed2", int64_t{5});
  CheckSamples("RandomGamma", {two}, {alpha}, seeds, LowerGamma);
  const Tensor seed = Tensor::Vector<int64_t>({7, 11});
  CheckSamples("StatelessRandomGammaV2", {shape, seed}, {alpha}, {}, LowerGamma);
  const Tensor key = Tensor::Vector<uint64_t>({7}), counter = Tensor::Vector<uint64_t>({11, 13});
  CheckSamples("StatelessRandomGammaV3", {shape, key, counter, Tensor::Scalar<int32_t>(1)}, {alpha}, {}, LowerGamma);
}

double BelowNormal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(RandomGradients, TruncatedNormal) {
  const Distribution distribution = [](const std::vector<double>& at) {
    const auto below = [&](double x) { return BelowNormal((x - at[0]) / at[1]); };
    return (below(at[4]) - below(at[2])) / (below(at[3]) - below(at[2]));
  };
  CheckSamples("StatelessParameterizedTruncatedNormal",
               {Tensor::Vector<int32_t>({4, 3}), Tensor::Vector<int64_t>({7, 11})},
               {Tensor::Vector<double>({0, 1, -2}), Tensor::Vector<double>({1, 2, 0.5}),
                Tensor::Vector<double>({-1, 0.5, -3}), Tensor::Vector<double>({1.5, 4, -1.8})},
               {}, distribution);
}

}  // namespace
}  // namespace weir
