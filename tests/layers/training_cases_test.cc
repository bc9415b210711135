// Losses, metrics, optimizers and activations against Keras.
#include <functional>

#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/session.h"
#include "client/training/losses.h"
#include "client/training/metrics.h"
#include "core/testing.h"
#include "tests/layers/keras_values.h"

namespace weir {
namespace {

Tensor Value(const std::string& name) { return KerasValue("training", name); }

class TrainingOracleTest : public ::testing::Test {
 protected:
  Output Constant(const std::string& name) { return scope_.Constant(Value(name)); }
  Tensor Compute(const Output& output) {
    EXPECT_THAT(scope_.status(), IsOk());
    return Session::Local(scope_).value()->Run({output}).value()[0];
  }

  Scope scope_ = Scope::NewRoot();
};

using Loss = Output (*)(const OpScope&, const Output&, const Output&, const LossOptions&);

TEST_F(TrainingOracleTest, Losses) {
  struct Case {
    std::string name;
    Loss loss;
    LossOptions options = {};
  };
  const std::vector<Case> cases = {
      {"mean_squared_error", MeanSquaredError},
      {"mean_absolute_error", MeanAbsoluteError},
      {"huber", Huber, {.delta = 0.7}},
      {"hinge", Hinge},
      {"hinge_bits", Hinge},
      {"binary", BinaryCrossentropy},
      {"binary_logits", BinaryCrossentropy, {.from_logits = true, .label_smoothing = 0.2}},
      {"categorical", CategoricalCrossentropy, {.label_smoothing = 0.1}},
      {"categorical_logits", CategoricalCrossentropy, {.from_logits = true}},
      {"sparse", SparseCategoricalCrossentropy},
      {"sparse_logits", SparseCategoricalCrossentropy, {.from_logits = true}},
      {"kl_divergence", KLDivergence},
      {"cosine", CosineSimilarity},
  };
  const std::vector<std::pair<std::string, LossReduction>> reductions = {
      {"none", LossReduction::kNone}, {"sum", LossReduction::kSum}, {"sum_over_batch_size", LossReduction::kMean}};
  std::vector<std::string> names;
  OutputList outputs;
  for (const Case& c : cases) {
    const std::string prefix = "losses/" + c.name + "/";
    for (const auto& [name, reduction] : reductions) {
      LossOptions options = c.options;
      options.weights = Constant(prefix + "weights");
      options.reduction = reduction;
      names.push_back(prefix + name);
      outputs.push_back(c.loss(scope_, Constant(prefix + "predictions"), Constant(prefix + "labels"), options));
    }
  }
  ASSERT_THAT(scope_.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, Session::Local(scope_).value()->Run(outputs));
  for (size_t i = 0; i < values.size(); ++i) ExpectClose(values[i], Value(names[i]), names[i]);
}

TEST_F(TrainingOracleTest, Metrics) {
  metrics::Accuracy accuracy(scope_);
  metrics::TopKAccuracy top_k(scope_, 2);
  metrics::Precision precision(scope_, 0.4);
  metrics::Recall recall(scope_);
  metrics::Auc auc(scope_, 50);
  metrics::MeanSquaredError error(scope_);
  const auto at = [&](const std::string& name, int i) { return Constant(absl::StrCat("metrics/", name, i)); };
  std::vector<std::vector<Operation>> updates(2);
  for (int i = 0; i < 2; ++i) {
    const Output chances = at("chances", i), bits = at("bits", i);
    updates[i] = {accuracy.Update(scope_, at("scores", i), at("classes", i), at("weights", i)),
                  top_k.Update(scope_, at("scores", i), at("classes", i), at("weights", i)),
                  precision.Update(scope_, chances, bits),
                  recall.Update(scope_, chances, bits),
                  auc.Update(scope_, chances, bits),
                  error.Update(scope_, chances, bits)};
  }
  const std::vector<std::pair<std::string, metrics::Metric*>> all = {
      {"accuracy", &accuracy}, {"top_k", &top_k}, {"precision", &precision},
      {"recall", &recall},     {"auc", &auc},     {"mean_squared_error", &error}};
  OutputList values;
  std::vector<Operation> resets;
  for (const auto& [name, metric] : all) {
    values.push_back(metric->Value(scope_));
    resets.push_back(metric->Reset(scope_));
  }
  const Operation initialize = InitializeAll(scope_);
  ASSERT_THAT(scope_.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());
  for (int round = 0; round < 2; ++round) {
    for (const auto& update : updates) ASSERT_THAT(session->RunTargets(update), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, session->Run(values));
    for (size_t i = 0; i < all.size(); ++i) ExpectClose(results[i], Value("metrics/" + all[i].first), all[i].first);
    ASSERT_THAT(session->RunTargets(resets), IsOk());
  }
}

struct OptimizerCase {
  std::string name;
  std::function<std::unique_ptr<Optimizer>()> make;
  bool is_sparse = false;
};

std::vector<OptimizerCase> OptimizerCases() {
  const std::vector<std::pair<std::string, std::function<std::unique_ptr<Optimizer>()>>> all = {
      {"adam_w",
       [] { return AdamWOptimizer({.learning_rate = 0.1, .weight_decay = {.rate = 0.05, .exclude = {"bias"}}}); }},
      {"adamax", [] { return AdamaxOptimizer({.learning_rate = 0.1}); }},
      {"nadam", [] { return NadamOptimizer({.learning_rate = 0.1}); }},
      {"adadelta", [] { return AdadeltaOptimizer({.learning_rate = 0.5, .rho = 0.9}); }},
      {"ftrl", [] { return FtrlOptimizer({.learning_rate = 0.2, .l1 = 0.01, .l2 = 0.02, .l2_shrinkage = 0.03}); }},
      {"adam", [] { return AdamOptimizer({.learning_rate = 0.1}); }},
  };
  std::vector<OptimizerCase> cases = {{"lamb", [] { return LambOptimizer({.learning_rate = 0.1}); }}};
  for (const auto& [name, make] : all) {
    for (const bool is_sparse : {false, true}) cases.push_back({name, make, is_sparse});
  }
  return cases;
}

class OptimizerOracleTest : public ::testing::TestWithParam<OptimizerCase> {};

TEST_P(OptimizerOracleTest, StepsAsKerasDoes) {
  const Scope scope = Scope::NewRoot();
  const auto variable = [&](const std::string& name) {
    const Tensor initial = Value("optimizers/initial/" + name);
    return ResourceVariable::Make(scope.WithName(name), initial.shape(), DT_FLOAT, initializers::Value(initial));
  };
  const ResourceVariable kernel = variable("kernel"), bias = variable("bias");
  const Output values = ops::Placeholder(scope, DT_FLOAT), of_bias = ops::Placeholder(scope, DT_FLOAT);
  const Gradient of_kernel = GetParam().is_sparse ? Gradient(values, scope.Constant(Value("optimizers/indices")),
                                                             scope.Constant(Tensor::Vector<int32_t>({5, 3})))
                                                  : Gradient(values);
  const auto optimizer = GetParam().make();
  const Operation train = optimizer->ApplyGradients(scope, {{of_kernel, kernel}, {of_bias, bias}});
  const Operation initialize = InitializeAll(scope);
  ASSERT_THAT(scope.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());

  const std::string prefix =
      absl::StrCat("optimizers/", GetParam().name, GetParam().is_sparse ? "/sparse/" : "/dense/");
  const Tensor kernels = Value(prefix + "kernel"), biases = Value(prefix + "bias");
  const Tensor gradients = Value(GetParam().is_sparse ? "optimizers/gradient/rows" : "optimizers/gradient/kernel");
  const Tensor bias_gradients = Value("optimizers/gradient/bias");
  for (int64_t step = 0; step < kernels.dim_size(0); ++step) {
    const FeedList feeds = {{values, gradients.SubSlice(step)}, {of_bias, bias_gradients.SubSlice(step)}};
    ASSERT_THAT(session->Run(feeds, {}, {train}), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> now, session->Run({kernel.value(), bias.value()}));
    ExpectClose(now[0], kernels.SubSlice(step), absl::StrCat("kernel after step ", step + 1));
    ExpectClose(now[1], biases.SubSlice(step), absl::StrCat("bias after step ", step + 1));
  }
}
INSTANTIATE_TEST_SUITE_P(All, OptimizerOracleTest, ::testing::ValuesIn(OptimizerCases()), [](const auto& info) {
  return info.param.name + (info.param.is_sparse ? "_sparse" : "_dense");
});

TEST_F(TrainingOracleTest, ActivationsByName) {
  const Output x = Constant("activations/x");
  for (const char* name :
       {"elu", "exponential", "gelu", "gelu_tanh", "hard_sigmoid", "leaky_relu", "linear", "mish", "relu", "relu6",
        "selu", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish", "tanh"}) {
    ASSERT_OK_AND_ASSIGN(const layers::Activation activation, layers::ActivationByName(name));
    ExpectClose(Compute(layers::Activate(scope_, x, activation)), Value(absl::StrCat("activations/", name)), name);
  }
  EXPECT_THAT(layers::ActivationByName("rely"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("sigmoid")));
}

}  // namespace
}  // namespace weir
