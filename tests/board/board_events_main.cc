// Trains a line, and writes all that TensorBoard shows: board_events DIRECTORY values|tensors
#include <cstdio>
#include <string>

#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/session.h"
#include "client/training/hooks.h"
#include "client/training_loop.h"

namespace weir {
namespace {

absl::Status Fit(const std::string& directory, SummaryFormat format) {
  const Scope scope = Scope::NewRoot();
  const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT), y = ops::Placeholder(scope.WithName("y"), DT_FLOAT);
  // Comes close to 2 from below: the test looks at the last weight.
  const layers::LayerOptions from_below{.weights = initializers::Constant(-1)};
  const layers::Dense line(scope.WithName("line"), /*inputs=*/1, /*outputs=*/1, layers::Activation::kNone, from_below);
  const Output loss =
      ops::Mean(scope, ops::SquaredDifference(scope, line(scope, x), y), Tensor::Vector<int32_t>({0, 1}));
  TrainingLoopOptions options;
  options.global_step = GlobalStep(scope);
  options.train = GradientDescentOptimizer(0.1)->Minimize(scope, loss, options.global_step);
  options.fetches = {loss};
  options.max_steps = 20;
  options.feeds = [&](int64_t) -> absl::StatusOr<FeedList> {
    Tensor xs(DT_FLOAT, TensorShape({4, 1})), ys(DT_FLOAT, TensorShape({4, 1}));
    for (int i = 0; i < 4; ++i) ys.data<float>()[i] = 2 * (xs.data<float>()[i] = static_cast<float>(i)) + 1;
    return FeedList{{x, xs}, {y, ys}};
  };
  const Output bias = ops::Sum(scope, line.bias().value(), Tensor::Scalar<int32_t>(0));
  const Output pictures = ops::Reshape(scope, x, Tensor::Vector<int32_t>({2, 2, 1, 1}));
  options.hooks = {SummaryHook({.directory = directory,
                                .every = 5,
                                .scalars = {{.tag = "loss", .fetch = 0}},
                                .histograms = {{.tag = "weights", .value = line.weights().value()}},
                                .images = {{.tag = "inputs", .value = pictures, .max_images = 2}},
                                .summaries = {ops::ScalarSummary(scope, "bias", bias)},
                                .graph = scope,
                                .hyper_parameters = {{"rate", 0.1}},
                                .format = format}),
                   ProfileHook({.directory = directory, .every = 10})};
  TrainingLoop loop(scope, options);
  ASSIGN_OR_RETURN(const auto session, Session::Local(scope));
  return loop.Run(*session).status();
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool as_tensors = std::string(argv[2]) == "tensors";
  const absl::Status status =
      weir::Fit(argv[1], as_tensors ? weir::SummaryFormat::kTensors : weir::SummaryFormat::kValues);
  if (!status.ok()) std::fprintf(stderr, "board_events: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
