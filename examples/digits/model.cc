#include "examples/digits/model.h"

#include <algorithm>

#include "examples/digits/dataset.h"
#include "weir/layers.h"
#include "weir/ops.h"
#include "weir/optimizer.h"
#include "weir/training/loss_scaling.h"

namespace weir::digits {
namespace {

constexpr int64_t kDropoutSeed = 11;

// 8x8 → conv 3x3x32 → conv 3x3x64 → pool 2 → dense 128 → dense 10.
class Network {
 public:
  Network(const Scope& scope, const ModelOptions& options)
      : ps_("ps", std::max(1, options.ps)),
        on_ps_(options.ps > 0),
        conv1_(scope.WithName("conv1"), 1, 32, 3, 1, "SAME", layers::Activation::kRelu, Next(options.seed)),
        conv2_(scope.WithName("conv2"), 32, 64, 3, 1, "SAME", layers::Activation::kRelu, Next(options.seed + 1)),
        hidden_(scope.WithName("hidden"), 4 * 4 * 64, 128, layers::Activation::kRelu, Next(options.seed + 2)),
        logits_(scope.WithName("logits"), 128, kClasses, layers::Activation::kNone, Next(options.seed + 3)) {}

  // Training uses dropout.
  Output operator()(const Scope& scope, const Output& images, bool training) const {
    const Output grid = ops::Reshape(scope, images, Tensor::Vector<int64_t>({-1, 8, 8, 1}));
    const Output features = conv2_(scope, conv1_(scope, grid));
    const Output pooled = layers::MaxPool2D(scope, features, 2, 2);
    Output flat = layers::Flatten(scope, pooled, 4 * 4 * 64);
    if (training) flat = layers::Dropout(scope, flat, 0.25, kDropoutSeed);
    Output hidden = hidden_(scope, flat);
    if (training) hidden = layers::Dropout(scope, hidden, 0.5, kDropoutSeed + 1);
    return logits_(scope, hidden);
  }

 private:
  layers::LayerOptions Next(int64_t seed) {
    layers::LayerOptions options;
    if (on_ps_) options.variable_device = ps_.Next();
    options.weights = initializers::GlorotUniform(seed);
    return options;
  }

  RoundRobinDevices ps_;
  const bool on_ps_;
  const layers::Conv2D conv1_, conv2_;
  const layers::Dense hidden_, logits_;
};

Scope OnWorker(const Scope& scope, const ModelOptions& options, int i) {
  return options.workers == 0 ? scope : scope.WithDevice(absl::StrCat("/job:worker/task:", i));
}

}  // namespace

Model BuildModel(const Scope& scope, const ModelOptions& options) {
  Model model;
  model.global_step = GlobalStep(options.ps > 0 ? scope.WithDevice("/job:ps/task:0") : scope);
  const Network network(scope, options);
  std::unique_ptr<Optimizer> optimizer = AdamOptimizer(options.learning_rate);
  if (options.scale_loss) optimizer = LossScaleOptimizer(std::move(optimizer));

  std::vector<std::vector<GradientAndVariable>> replicas;
  InputList losses;
  for (int i = 0; i < std::max(1, options.workers); ++i) {
    const Scope replica = OnWorker(scope, options, i).SubScope(absl::StrCat("replica_", i));
    model.images.push_back(ops::Placeholder(replica.WithName("images"), DT_FLOAT));
    model.labels.push_back(ops::Placeholder(replica.WithName("labels"), DT_INT32));
    const Output loss =
        layers::SparseSoftmaxLoss(replica, network(replica, model.images[i], /*training=*/true), model.labels[i]);
    losses.push_back(loss);
    replicas.push_back(optimizer->ComputeGradients(replica, loss));
  }
  const Scope first = OnWorker(scope, options, 0);
  model.loss = ops::Mul(first, ops::AddN(first.WithName("loss"), losses), 1.0 / static_cast<double>(losses.size()));
  model.train = optimizer->ApplyGradients(scope, AverageGradients(scope, replicas), model.global_step);

  const Scope test = first.SubScope("test");
  model.test_images = ops::Placeholder(test.WithName("images"), DT_FLOAT);
  model.test_labels = ops::Placeholder(test.WithName("labels"), DT_INT32);
  model.accuracy = layers::Accuracy(test, network(test, model.test_images, /*training=*/false), model.test_labels);
  return model;
}

}  // namespace weir::digits
