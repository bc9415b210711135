// Rows of training steps: the model, the gradients and the optimizer, with inputs on the device.
#include <functional>
#include <utility>

#include "bench/gpu/resnet.h"
#include "bench/gpu/rows.h"
#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "examples/gpt/model.h"
#include "graph/passes/fusion/elementwise_fusion.h"
#include "graph/passes/mixed_precision_lists.h"
#include "worker/capture/capture_segments.h"

namespace weir::bench {
namespace {

struct Step {
  Output loss;
  Operation train;
};

struct Workload {
  std::function<Step(const Scope& scope)> build;
  int64_t examples = 0;  // per step
  std::string unit;
};

// An input without a feed.
Output Constant(const Scope& scope, const std::string& name, const TensorShape& shape, DataType type,
                const Initializer& values) {
  return ResourceVariable::Make(scope.WithName(name), shape, type, values, {.trainable = false}).value();
}

// Integers below `limit`.
Initializer Indices(int64_t limit) {
  return [limit](const Scope& scope, const TensorShape& shape, DataType type) {
    return ops::RandomUniformInt(scope, Tensor::Vector<int64_t>(shape.dim_sizes()), Tensor::Scalar<int64_t>(0),
                                 Tensor::Scalar<int64_t>(limit), {.seed = 1, .seed2 = 1});
  };
}

absl::StatusOr<Figure> Train(const Machine& machine, const Workload& workload, bool is_rewritten) {
  const Scope root = Scope::NewRoot(), scope = root.WithDevice("/device:GPU:0");
  const Step step = workload.build(scope);
  const Operation initialize = InitializeAll(root);
  tensorflow::ConfigProto config;
  Enable(std::string(MixedPrecisionModeName(MixedPrecisionMode::kBfloat16OnGpu)), &config);
  if (is_rewritten) {
    Enable(kGpuFusionOptimizer, &config);
    Enable(kGpuGraphsOptimizer, &config);
  }
  ASSIGN_OR_RETURN(const LocalSession local, OpenSession(machine, root, std::move(config)));
  RETURN_IF_ERROR(local.session->RunTargets({initialize}));
  ASSIGN_OR_RETURN(const auto callable, local.session->MakeCallable({}, {}, {step.train}));
  ASSIGN_OR_RETURN(const double seconds,
                   SecondsPerStep(*callable, machine.is_small ? 3 : 40, machine.is_small ? 2 : 50));
  ASSIGN_OR_RETURN(const auto loss, local.session->Run({step.loss}));
  if (!std::isfinite(loss[0].scalar<float>())) return errors::Internal("The loss is not finite");
  return Figure{.form = is_rewritten ? "fused, replayed" : "op by op",
                .value = static_cast<double>(workload.examples) / seconds,
                .unit = workload.unit,
                .peak_bytes = PeakBytes(*local.runtime)};
}

absl::StatusOr<std::vector<Figure>> TrainBothWays(const Machine& machine, const Workload& workload) {
  ASSIGN_OR_RETURN(Figure plain, Train(machine, workload, /*is_rewritten=*/false));
  ASSIGN_OR_RETURN(Figure rewritten, Train(machine, workload, /*is_rewritten=*/true));
  return std::vector<Figure>{std::move(plain), std::move(rewritten)};
}

}  // namespace

absl::StatusOr<std::vector<Figure>> ResNet50(const Machine& machine) {
  ResNetOptions options;
  int64_t batch = 256, side = 224;
  if (machine.is_small) {
    options = {.blocks = {1, 1}, .width = 4, .classes = 10};
    batch = 2, side = 16;
  }
  const auto build = [=](const Scope& scope) {
    const Output images =
        Constant(scope, "images", TensorShape({batch, side, side, 3}), DT_FLOAT, initializers::RandomNormal(0, 1, 1));
    const Output labels = Constant(scope, "labels", TensorShape({batch}), DT_INT64, Indices(options.classes));
    const ResNet model = BuildResNet(scope, options, images);
    const Output loss = layers::SparseSoftmaxLoss(scope, model.logits, labels);
    std::vector<Operation> all = model.updates;
    all.push_back(MomentumOptimizer(0.1, 0.9)->Minimize(scope, loss));
    return Step{loss, ops::NoOp(scope.WithControlDependencies(all))};
  };
  return TrainBothWays(machine, {build, batch, "images/s"});
}

absl::StatusOr<std::vector<Figure>> Gpt2(const Machine& machine) {
  gpt::ModelOptions options{
      .vocabulary = 50257, .context = 1024, .width = 768, .heads = 12, .blocks = 12, .has_tied_head = true};
  int64_t batch = 8;
  if (machine.is_small) {
    options = {.vocabulary = 50, .context = 16, .width = 16, .heads = 2, .blocks = 2, .has_tied_head = true};
    batch = 2;
  }
  const auto build = [=](const Scope& scope) {
    const TensorShape shape({batch, options.context});
    const Output tokens = Constant(scope, "tokens", shape, DT_INT64, Indices(options.vocabulary));
    const Output labels = Constant(scope, "labels", shape, DT_INT64, Indices(options.vocabulary));
    const Output loss = BuildChain(scope, gpt::Model(options), tokens, labels);
    return Step{loss, AdamOptimizer(3e-4)->Minimize(scope, loss)};
  };
  return TrainBothWays(machine, {build, batch * options.context, "tokens/s"});
}

}  // namespace weir::bench
