// Gradients, optimizers, layers and the training loop, with the variables on one device and the work on the other.

#include "client/checkpoint/recoverable_state.h"
#include "client/gradients.h"
#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/training_loop.h"
#include "client/variables.h"
#include "core/files/scratch_directory_testing.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

class TrainingTest : public SessionSuite {
 protected:
  ResourceVariable Variable(const std::string& name, Tensor value) {
    const TensorShape shape = value.shape();
    return ResourceVariable::Make(On(1).WithName(name), shape, DT_FLOAT, initializers::Value(std::move(value)));
  }
  // y = 3 x, from x and y that are fed, with w on the other device.
  struct Line {
    Output x, y, loss;
    ResourceVariable w;
  };
  Line MakeLine() {
    Line line;
    line.w = Variable("w", AsScalar<float>(0));
    line.x = ops::Placeholder(On(0).WithName("x"), DT_FLOAT);
    line.y = ops::Placeholder(On(0).WithName("y"), DT_FLOAT);
    const Output error = ops::SquaredDifference(On(0), ops::Mul(On(0), line.x, line.w.value()), line.y);
    line.loss = ops::Mean(On(0), error, Tensor::Vector<int32_t>({0}));
    return line;
  }
  static FeedList Feeds(const Line& line) {
    return {{line.x, AsTensor<float>({1, 2, 3})}, {line.y, AsTensor<float>({3, 6, 9})}};
  }
};
WEIR_SESSION_SUITE(TrainingTest);

TEST_P(TrainingTest, EveryOptimizerFitsALine) {
  const Line line = MakeLine();
  std::vector<std::pair<std::string, std::unique_ptr<Optimizer>>> optimizers;
  optimizers.emplace_back("sgd", GradientDescentOptimizer(0.05));
  optimizers.emplace_back("momentum", MomentumOptimizer(0.02, 0.5));
  optimizers.emplace_back("nesterov", MomentumOptimizer(0.02, 0.5, true));
  optimizers.emplace_back("adagrad", AdagradOptimizer(1.0));
  optimizers.emplace_back("adam", AdamOptimizer(0.2));
  optimizers.emplace_back("rmsprop", RMSPropOptimizer(0.05));
  std::vector<Operation> train;
  for (const auto& [name, optimizer] : optimizers)
    train.push_back(optimizer->Minimize(On(0).SubScope(name), line.loss));
  const Operation reset = line.w.Assign(On(1), 0.0f);
  for (size_t i = 0; i < train.size(); ++i) {
    RunOp(reset);
    for (int step = 0; step < 150; ++step) Run(Feeds(line), {}, {train[i]});
    EXPECT_NEAR(Fetch(line.w.value()).scalar<float>(), 3, 0.1) << optimizers[i].first;
  }
}

TEST_P(TrainingTest, TheGlobalStepCountsSteps) {
  const Line line = MakeLine();
  const ResourceVariable step = GlobalStep(On(1));
  const Operation train = GradientDescentOptimizer(0.05)->Minimize(On(0), line.loss, step);
  for (int i = 0; i < 100; ++i) Run(Feeds(line), {}, {train});
  ExpectTensorEqual(Fetch(step.value()), AsScalar<int64_t>(100));
  EXPECT_NEAR(Fetch(line.w.value()).scalar<float>(), 3, 1e-4);
}

TEST_P(TrainingTest, ReplicasAverageTheirGradients) {
  const ResourceVariable w = Variable("w", AsTensor<float>({1, 1}));
  std::vector<Output> xs;
  std::vector<std::vector<GradientAndVariable>> replicas;
  const auto optimizer = GradientDescentOptimizer(1.0);
  for (int i = 0; i < 2; ++i) {
    xs.push_back(ops::Placeholder(On(i), DT_FLOAT));
    const Output loss = ops::Sum(On(i), ops::Mul(On(i), xs[i], w.value()), Tensor::Vector<int32_t>({0}));
    replicas.push_back(optimizer->ComputeGradients(On(i), loss));
  }
  const Operation train = optimizer->ApplyGradients(scope_, AverageGradients(scope_, replicas));
  Run({{xs[0], AsTensor<float>({1, 2})}, {xs[1], AsTensor<float>({3, 6})}}, {}, {train});
  ExpectTensorEqual(Fetch(w.value()), AsTensor<float>({-1, -3}));
}

// d f/d v for a variable that `assign` gives the value of `feed`: what Gradients gives against central differences.
void ExpectGradientOfVariable(Session& session, const Output& feed, const Operation& assign, const Output& f,
                              const Output& gradient, const Tensor& at) {
  const auto evaluate = [&](const Tensor& value, const Output& fetch) {
    EXPECT_THAT(session.Run({{feed, value}}, {}, {assign}), IsOk());
    auto result = session.Run({fetch});
    EXPECT_THAT(result, IsOk());
    return (*result)[0];
  };
  const Tensor analytic = evaluate(at, gradient);
  ASSERT_EQ(analytic.NumElements(), at.NumElements());
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < at.NumElements(); ++i) {
    double values[2];
    for (int side = 0; side < 2; ++side) {
      Tensor moved(DT_DOUBLE, at.shape());
      for (int64_t j = 0; j < at.NumElements(); ++j) moved.data<double>()[j] = at.data<double>()[j];
      moved.data<double>()[i] += side == 0 ? -kStep : kStep;
      values[side] = evaluate(moved, f).scalar<double>();
    }
    EXPECT_NEAR(analytic.data<double>()[i], (values[1] - values[0]) / (2 * kStep), 1e-6) << "element " << i;
  }
}

TEST_P(TrainingTest, GradientsOfVariablesThatAreReadAndGatheredAreTheNumericOnes) {
  if (IsOnGpus(GetParam())) {
    GTEST_SKIP() << "ResourceGatherNd has no kernel for GPUs, where the variable already is when the op is added";
  }
  const Tensor at = AsTensor<double>({0.5, -1, 2, 0.25, 1.5, -0.75, 1, 3}, {4, 2});
  const auto v = ResourceVariable::Make(On(1).WithName("v"), at.shape(), DT_DOUBLE, initializers::Value(at));
  const Output feed = ops::Placeholder(On(0), DT_DOUBLE);
  const Operation assign = v.Assign(On(1), feed);
  const Output all = scope_.Constant(Tensor::Vector<int32_t>({0, 1}));
  // Whole reads, in two places.
  const Output cubes = ops::Mul(On(0), ops::Square(On(0), v.value()), v.Read(On(1)));
  const Output read = ops::Sum(On(0), cubes, all);
  const auto of_read = Gradients(scope_, {read}, {v.handle()});
  ASSERT_THAT(scope_.status(), IsOk());
  ASSERT_TRUE(of_read[0].values.valid());
  ExpectGradientOfVariable(session(), feed, assign, read, of_read[0].values, at);
  // Rows, one of them twice, one never; the gradient is sparse.
  const Output ids = On(0).Constant(Tensor::Vector<int32_t>({3, 0, 3}));
  const Output rows = ops::ResourceGather(On(1), v.handle(), ids, DT_DOUBLE);
  const Output gathered = ops::Sum(On(0), ops::Exp(On(0), rows), all);
  const auto of_rows = Gradients(scope_, {gathered}, {v.handle()});
  ASSERT_THAT(scope_.status(), IsOk());
  ASSERT_TRUE(of_rows[0].is_sparse());
  const Output dense =
      ops::UnsortedSegmentSum(On(0), of_rows[0].values, of_rows[0].indices, scope_.Constant(int32_t{4}));
  ExpectGradientOfVariable(session(), feed, assign, gathered, dense, at);
  // Single elements, one of them twice.
  const Output places = On(0).Constant(AsTensor<int32_t>({1, 0, 3, 1, 1, 0}, {3, 2}));
  const Output elements = ops::ResourceGatherNd(On(1), v.handle(), places, DT_DOUBLE);
  const Output picked = ops::Sum(On(0), ops::Exp(On(0), elements), scope_.Constant(Tensor::Vector<int32_t>({0})));
  const auto of_elements = Gradients(scope_, {picked}, {v.handle()});
  ASSERT_THAT(scope_.status(), IsOk());
  ExpectGradientOfVariable(session(), feed, assign, picked, of_elements[0].values, at);
}

TEST_P(TrainingTest, AnEmbeddingLearnsOnlyTheRowsItSaw) {
  layers::LayerOptions options;
  options.variable_device = device_name(1);
  options.weights = initializers::Zeros();
  const layers::Embedding table(On(0).WithName("table"), 5, 2, options);
  const Output ids = ops::Placeholder(On(0), DT_INT32);
  const Output loss =
      ops::Sum(On(0), ops::SquaredDifference(On(0), table(On(0), ids), 1.0f), Tensor::Vector<int32_t>({0, 1}));
  const Operation train = AdamOptimizer(0.1)->Minimize(On(0), loss);
  for (int i = 0; i < 100; ++i) Run({{ids, AsTensor<int32_t>({1, 3, 1})}}, {}, {train});
  const Tensor rows = Fetch(table.table().value());
  for (int row = 0; row < 5; ++row) {
    EXPECT_NEAR(rows.data<float>()[row * 2], row == 1 || row == 3 ? 1 : 0, 0.05) << "row " << row;
  }
}

TEST_P(TrainingTest, AConvolutionalNetworkLearns) {
  layers::LayerOptions options;
  options.variable_device = device_name(1);
  options.weights = initializers::GlorotUniform(7);
  const Output images = ops::Placeholder(On(0), DT_FLOAT), labels = ops::Placeholder(On(0), DT_INT32);
  const layers::Conv2D conv(On(0).WithName("conv"), 1, 4, 3, 1, "SAME", layers::Activation::kRelu, options);
  const layers::Dense dense(On(0).WithName("dense"), 4 * 4 * 4, 2, layers::Activation::kNone, options);
  const Output pooled = layers::MaxPool2D(On(0), conv(On(0), images), 2, 2);
  const Output logits = dense(On(0), layers::Flatten(On(0), pooled, 4 * 4 * 4));
  const Output loss = layers::SparseSoftmaxLoss(On(0), logits, labels);
  const Output accuracy = layers::Accuracy(On(0), logits, labels);
  const Operation train = MomentumOptimizer(0.05, 0.9)->Minimize(On(0), loss);
  // Class 0: the upper half is bright; class 1: the lower.
  Tensor pictures(DT_FLOAT, TensorShape({8, 8, 8, 1})), classes(DT_INT32, TensorShape({8}));
  for (int i = 0; i < 8; ++i) {
    classes.data<int32_t>()[i] = i % 2;
    for (int j = 0; j < 64; ++j) {
      pictures.data<float>()[i * 64 + j] =
          (j / 32 == i % 2 ? 1.0f : 0.0f) + 0.1f * static_cast<float>((i * 7 + j * 3) % 5);
    }
  }
  const FeedList feeds = {{images, pictures}, {labels, classes}};
  const float before = Run(feeds, {loss})[0].scalar<float>();
  for (int i = 0; i < 60; ++i) Run(feeds, {}, {train});
  const auto after = Run(feeds, {loss, accuracy});
  EXPECT_LT(after[0].scalar<float>(), before / 4);
  ExpectTensorEqual(after[1], AsScalar<float>(1));
}

TEST_P(TrainingTest, TheLoopStopsSavesAndResumes) {
  const ScratchDirectory directory;
  const Line line = MakeLine();
  const ResourceVariable step = GlobalStep(On(1));
  TrainingLoopOptions options;
  options.train = GradientDescentOptimizer(0.05)->Minimize(On(0), line.loss, step);
  options.global_step = step;
  options.fetches = {line.loss};
  options.feeds = [&](int64_t) { return Feeds(line); };
  options.checkpoint_dir = directory.path();
  options.checkpoint_steps = 10;
  for (const int64_t last : {25, 60}) {
    // The first session starts from nothing; the second finds what the first has left.
    options.hooks = {StopAtStepHook(last)};
    TrainingLoop loop(scope_, options);
    ASSERT_OK_AND_ASSIGN(auto session, Connect());
    ASSERT_OK_AND_ASSIGN(const int64_t reached, loop.Run(*session));
    EXPECT_EQ(reached, last);
    ASSERT_OK_AND_ASSIGN(auto result, session->Run({line.w.value(), step.value()}));
    EXPECT_NEAR(result[0].scalar<float>(), 3, 0.1);
    ExpectTensorEqual(result[1], AsScalar<int64_t>(last));
  }
}

// As two chiefs leave them that restored at once.
TEST_P(TrainingTest, VariablesOfDifferentRestoresAreRestoredAgain) {
  const ScratchDirectory directory;
  const auto task = [&](int device) { return device_name(device).substr(0, device_name(device).find("/device:")); };
  if (task(0) == task(1)) GTEST_SKIP() << "one task";
  const ResourceVariable step = GlobalStep(On(1));
  const ResourceVariable second = ResourceVariable::Make(On(0).WithName("second"), TensorShape(), DT_FLOAT,
                                                         initializers::Value(AsScalar<float>(2)));
  RecoverableState state(
      scope_,
      {.role = TrainingRole::kChief, .checkpoint_dir = directory.path(), .name = "chief-0", .global_step = step});
  ASSERT_OK_AND_ASSIGN(auto session, Connect());
  std::string from;
  ASSERT_THAT(state.TakeLease(), IsOk());
  ASSERT_THAT(state.Establish(*session, &from), IsOk());
  ASSERT_THAT(state.Save(*session, 3), IsOk());
  EXPECT_TRUE(state.IsWhole(*session).value());
  ASSERT_THAT(session->RunTargets({second.Assign(On(0), 5.0f)}), IsOk());
  ASSERT_THAT(session->RunNamed({{"restore_mark/value:0", Tensor::Scalar<tstring>("x 9 model.ckpt-9")}}, {},
                                {"restore_mark/name"}, {}, nullptr),
              IsOk());
  EXPECT_FALSE(state.IsWhole(*session).value());
  ASSERT_THAT(state.Establish(*session, &from), IsOk());
  EXPECT_THAT(from, ::testing::HasSubstr("model.ckpt-3"));
  ASSERT_OK_AND_ASSIGN(const auto values, session->Run({second.value()}));
  EXPECT_EQ(values[0].scalar<float>(), 2);
  EXPECT_TRUE(state.IsWhole(*session).value());
}

}  // namespace
}  // namespace weir
