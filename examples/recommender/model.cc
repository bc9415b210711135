#include "examples/recommender/model.h"

#include <algorithm>

#include "weir/gradients.h"
#include "weir/initializers.h"
#include "weir/ops.h"
#include "weir/optimizer.h"

namespace weir::recommender {
namespace {

// Per embedding, if they can move.
constexpr int64_t kParts = 64;

Output SumOver(const Scope& scope, const Output& x, int32_t axis) {
  return ops::Sum(scope, x, Tensor::Vector<int32_t>({axis}));
}

Replica MakeReplica(const Scope& scope) {
  return {ops::Placeholder(scope.WithName("users"), DT_INT64), ops::Placeholder(scope.WithName("items"), DT_INT64),
          ops::Placeholder(scope.WithName("ratings"), DT_FLOAT)};
}

EmbeddingVariable MakeEmbedding(const Scope& scope, const std::string& name, const ModelOptions& options,
                                int64_t seed) {
  EmbeddingVariableOptions embedding;
  embedding.width = options.width;
  embedding.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = options.learning_rate};
  embedding.initializer_params = {0, 0.3f};
  embedding.seed = seed;
  if (options.spare_ps > 0) {
    embedding.parts = kParts;
    embedding.initial_devices = options.ps;
  }
  if (options.synchronous) embedding.synchronous_workers = options.workers;
  for (int i = 0; i < options.ps + options.spare_ps; ++i) embedding.devices.push_back(absl::StrCat("/job:ps/task:", i));
  return EmbeddingVariable::Make(scope.WithName(name), embedding);
}

struct Forward {
  EmbeddingPull users, items;
  Output error;  // per rating
};

Forward Predict(const Scope& scope, const Model& model, const Output& constant, const Replica& replica) {
  Forward forward{model.users.Pull(scope, replica.users), model.items.Pull(scope, replica.items), {}};
  const Output product =
      ops::Mul(scope, model.users.Embed(scope, forward.users), model.items.Embed(scope, forward.items));
  const Output prediction = ops::AddV2(scope, SumOver(scope, product, 1), constant);
  forward.error = ops::Sub(scope, prediction, replica.ratings);
  return forward;
}

Output MeanSquare(const Scope& scope, const Output& error) {
  return ops::Mean(scope, ops::Square(scope, error), Tensor::Vector<int32_t>({0}));
}

}  // namespace

Model BuildModel(const Scope& scope, const ModelOptions& options) {
  Model model;
  const Scope on_ps = options.ps > 0 ? scope.WithDevice("/job:ps/task:0") : scope;
  model.global_step = GlobalStep(on_ps);
  const ResourceVariable constant =
      ResourceVariable::Make(on_ps.WithName("constant"), TensorShape(), DT_FLOAT, initializers::Zeros());
  model.users = MakeEmbedding(scope, "users", options, 1);
  model.items = MakeEmbedding(scope, "items", options, 2);

  const auto optimizer = GradientDescentOptimizer(0.1);
  std::vector<std::vector<GradientAndVariable>> gradients;
  std::vector<Operation> pushes;
  InputList losses;
  for (int i = 0; i < std::max(1, options.workers); ++i) {
    const Scope worker = options.workers == 0 ? scope : scope.WithDevice(absl::StrCat("/job:worker/task:", i));
    const Scope inner = worker.SubScope(absl::StrCat("replica_", i));
    model.replicas.push_back(MakeReplica(inner));
    const Forward forward = Predict(inner, model, constant.value(), model.replicas.back());
    const Output loss = MeanSquare(inner, forward.error);
    losses.emplace_back(loss);
    gradients.push_back(optimizer->ComputeGradients(inner, loss, {constant}));
    // Rows get the sum over their ratings, not divided by the batch size.
    const Output square = SumOver(inner, ops::Square(inner, forward.error), 0);
    const std::vector<Gradient> of_rows = Gradients(inner, {square}, {forward.users.unique, forward.items.unique});
    if (of_rows.size() != 2) return model;  // the error is in the scope
    const int number = options.synchronous ? i : 0;
    pushes.push_back(model.users.Push(inner, forward.users, of_rows[0], model.global_step.value(), number));
    pushes.push_back(model.items.Push(inner, forward.items, of_rows[1], model.global_step.value(), number));
  }
  const double share = 1.0 / static_cast<double>(losses.size());
  model.loss = ops::Mul(scope.WithName("loss"), ops::AddN(scope, losses), share);
  model.train = optimizer->ApplyGradients(scope.WithControlDependencies(pushes), AverageGradients(scope, gradients),
                                          model.global_step);

  const Scope test = (options.workers == 0 ? scope : scope.WithDevice("/job:worker/task:0")).SubScope("test");
  model.test = MakeReplica(test);
  model.test_error = MeanSquare(test, Predict(test, model, constant.value(), model.test).error);
  return model;
}

}  // namespace weir::recommender
