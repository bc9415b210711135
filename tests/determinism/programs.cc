#include "tests/determinism/programs.h"

#include <utility>

#include "client/data/dataset.h"
#include "client/data/iterator.h"
#include "client/gradients.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/while_loop.h"

namespace weir {
namespace {

Tensor Dims(const std::vector<int32_t>& dims) { return Tensor::Vector<int32_t>(dims); }

Output Noise(const Scope& scope, const std::vector<int32_t>& dims, int64_t seed) {
  return ops::RandomStandardNormal(scope, Dims(dims), DT_FLOAT, {.seed = seed, .seed2 = 1});
}

layers::LayerOptions Seeded(int64_t seed) {
  layers::LayerOptions options;
  options.weights = initializers::GlorotUniform(seed);
  return options;
}

ResourceVariable Weights(const Scope& scope, const TensorShape& shape, int64_t seed) {
  return ResourceVariable::Make(scope, shape, DT_FLOAT, initializers::RandomNormal(0, 0.1, seed));
}

// Trains all variables of the scope.
Program Training(const Scope& scope, Optimizer& optimizer, const Output& loss, std::vector<Operation> beside = {}) {
  Program program;
  const Operation update = optimizer.Minimize(scope, loss);
  beside.push_back(update);
  program.train = ops::NoOp(scope.WithControlDependencies(beside));
  program.initialize = {InitializeAll(scope)};
  for (const ResourceVariable& variable : scope.variables()) program.results.push_back(variable.Read(scope));
  return program;
}

Output MeanSquares(const Scope& scope, const Output& x) {
  return ops::Mean(scope, ops::Square(scope, x), Dims({0, 1}));
}

}  // namespace

Program Convnet(const Scope& scope) {
  const Output images = Noise(scope, {32, 24, 24, 8}, 11);
  const Output labels = ops::RandomUniformInt(scope, Dims({32}), 0, 10, {.seed = 12, .seed2 = 1});
  const layers::Conv2D first(scope.WithName("first"), 8, 16, 3, 1, "SAME", layers::Activation::kNone, Seeded(13));
  const layers::Conv2D second(scope.WithName("second"), 16, 32, 3, 2, "SAME", layers::Activation::kRelu, Seeded(14));
  layers::BatchNorm normalise(scope.WithName("normalise"), 16);
  const layers::Dense dense(scope.WithName("dense"), 6 * 6 * 32, 256, layers::Activation::kTanh, Seeded(15));
  const layers::Dense out(scope.WithName("out"), 256, 10, layers::Activation::kNone, Seeded(16));
  Output x = ops::Relu(scope, normalise(scope, first(scope, images), true));
  x = layers::MaxPool2D(scope, second(scope, x), 2, 2);
  x = layers::Dropout(scope, dense(scope, layers::Flatten(scope, x, 6 * 6 * 32)), 0.3, 17);
  const auto adam = AdamOptimizer(0.001);
  return Training(scope, *adam, layers::SparseSoftmaxLoss(scope, out(scope, x), labels), normalise.updates());
}

Program Lstm(const Scope& scope) {
  constexpr int32_t kSteps = 12, kBatch = 32, kWidth = 64;
  const Output x = Noise(scope, {kSteps, kBatch, kWidth}, 21);
  const ResourceVariable w = Weights(scope.WithName("w"), TensorShape({2 * kWidth, 4 * kWidth}), 22);
  const ResourceVariable b = Weights(scope.WithName("b"), TensorShape({4 * kWidth}), 23);
  Tensor peephole(DT_FLOAT, TensorShape({kWidth}));
  std::fill_n(peephole.data<float>(), kWidth, 0.0F);
  const Output state = ops::Fill(scope, Dims({kBatch, kWidth}), 0.0F);
  const auto cell = ops::BlockLSTMV2(scope, Tensor::Scalar<int64_t>(kSteps), x, state, state, w.value(), peephole,
                                     peephole, peephole, b.value());
  const Output flat = ops::Reshape(scope, cell.h, Dims({kSteps * kBatch, kWidth}));
  const auto momentum = MomentumOptimizer(0.1, 0.9);
  return Training(scope, *momentum, MeanSquares(scope, ops::Sub(scope, flat, 0.25F)));
}

Program SparseEmbedding(const Scope& scope) {
  const Output ids = ops::RandomUniformInt(scope, Dims({4096}), 0, 50, {.seed = 31, .seed2 = 1});
  const layers::Embedding embedding(scope.WithName("embedding"), 50, 64, Seeded(32));
  const layers::Dense out(scope.WithName("out"), 64, 128, layers::Activation::kTanh, Seeded(33));
  const auto adam = AdamOptimizer(0.01);
  return Training(scope, *adam, MeanSquares(scope, ops::Sub(scope, out(scope, embedding(scope, ids)), 0.5F)));
}

Program Pipeline(const Scope& scope) {
  const auto tens = [](const Scope& inner, const OutputList& element) {
    const Output ten = ops::Mul(inner, element[0], Tensor::Scalar<int64_t>(10));
    return Dataset::FromTensors(inner, {ten}).Repeat(7);
  };
  const auto noisy = [](const Scope& inner, const OutputList& element) -> OutputList {
    return {ops::AddV2(inner, ops::Cast(inner, element[0], DT_FLOAT), Noise(inner, {64}, 41))};
  };
  DataIterator iterator =
      Dataset::Range(scope, 40)
          .Shuffle(16, {.seed = 42, .seed2 = 1})
          .Interleave(tens, {.cycle_length = kAutotune, .num_parallel_calls = kAutotune, .deterministic = false})
          .ParallelMap(noisy, {.num_parallel_calls = kAutotune, .deterministic = false})
          .Shuffle(8, {.seed = 43, .seed2 = 1})
          .Batch(16, {.drop_remainder = true, .num_parallel_calls = kAutotune})
          .Prefetch()
          .MakeIterator();
  const Output x = iterator.GetNext(scope)[0];
  const ResourceVariable w = Weights(scope.WithName("w"), TensorShape({64, 8}), 44);
  const auto sgd = GradientDescentOptimizer(1e-6);
  Program program = Training(scope, *sgd, MeanSquares(scope, ops::MatMul(scope, x, w.value())));
  program.initialize.push_back(iterator.initializer());
  return program;
}

Program Sums(const Scope& scope) {
  const Output wide = Noise(scope, {2000, 400}, 51), rows = ops::Reshape(scope, wide, Dims({4, 200000}));
  const Output deep = ops::Reshape(scope, wide, Dims({2, 20000, 20}));
  const Output ids = ops::RandomUniformInt(scope, Dims({2000}), 0, 5, {.seed = 52, .seed2 = 1});
  const Output bins = ops::RandomUniformInt(scope, Dims({200000}), 0, 30, {.seed = 53, .seed2 = 1});
  const Tensor none(DT_FLOAT, TensorShape({0}));
  // With their numbers of elements.
  const std::vector<std::pair<Output, int64_t>> sums = {
      {ops::Sum(scope, wide, Dims({0})), 400},
      {ops::Sum(scope, rows, Dims({1})), 4},
      {ops::Mean(scope, deep, Dims({1})), 40},
      {ops::Prod(scope, ops::AddV2(scope, ops::Mul(scope, wide, 0.01F), 1.0F), Dims({0})), 400},
      {ops::L2Loss(scope, wide), 1},
      {ops::BiasAddGrad(scope, wide), 400},
      {ops::UnsortedSegmentSum(scope, wide, ids, 5), 2000},
      {ops::ScatterNd(scope, ops::Reshape(scope, ids, Dims({2000, 1})), wide, Dims({5, 400})), 2000},
      {ops::MatMul(scope, wide, wide, {.transpose_a = true}), 160000},
      {ops::Softmax(scope, wide), 800000},
      {ops::Exp(scope, wide), 800000},
      {ops::DenseBincount(scope, bins, 30, none), 30}};
  Program program;
  std::vector<Operation> updates;
  for (const auto& [sum, size] : sums) {
    const auto total = ResourceVariable::Make(scope, TensorShape({size}), DT_FLOAT, initializers::Zeros());
    updates.push_back(total.AssignAdd(scope, ops::Reshape(scope, sum, Dims({-1}))));
    program.results.push_back(total.Read(scope));
  }
  const auto table = Weights(scope.WithName("table"), TensorShape({5, 400}), 54);
  updates.push_back(ops::ResourceScatterAdd(scope, table.handle(), ids, wide));
  program.results.push_back(table.Read(scope));
  program.train = ops::NoOp(scope.WithControlDependencies(updates));
  program.initialize = {InitializeAll(scope)};
  return program;
}

Program RandomLoop(const Scope& scope) {
  const ResourceVariable w = Weights(scope.WithName("w"), TensorShape({128, 128}), 61);
  const auto condition = [](const Scope& inner, const OutputList& values) { return ops::Less(inner, values[0], 16); };
  const auto body = [&w](const Scope& inner, const OutputList& values) -> OutputList {
    const Output input = Noise(inner, {64, 128}, 62);
    const Output product = ops::MatMul(inner, input, w.value());
    return {ops::AddV2(inner, values[0], 1), ops::AddV2(inner, ops::Mul(inner, values[1], 0.9F), product)};
  };
  const OutputList last = WhileLoop(
      scope, {ops::Const(scope, Tensor::Scalar<int32_t>(0), DT_INT32), ops::Fill(scope, Dims({64, 128}), 0.0F)},
      condition, body);
  const auto sgd = GradientDescentOptimizer(0.1);
  return Training(scope, *sgd, MeanSquares(scope, last[1]));
}

absl::StatusOr<std::string> TrainedBits(const Program& program, Session& session, int steps) {
  for (const Operation& operation : program.initialize) RETURN_IF_ERROR(session.RunTargets({operation}));
  for (int i = 0; i < steps; ++i) RETURN_IF_ERROR(session.RunTargets({program.train}));
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(program.results));
  std::string bits;
  for (const Tensor& value : values) bits.append(static_cast<const char*>(value.raw_data()), value.TotalBytes());
  return bits;
}

}  // namespace weir
