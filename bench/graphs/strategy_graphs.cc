// One network on several replicas: with strategies, and replicated by hand.
#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"
#include "client/gradients.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/strategy/per_replica_feeds.h"

namespace weir::bench {
namespace {

constexpr int kBatch = 100;  // per replica
constexpr double kRate = 0.01;

using Widths = std::vector<int64_t>;

const std::vector<std::string>& Devices() {
  static const auto* devices = new std::vector<std::string>{"/device:CPU:0", "/device:CPU:1"};
  return *devices;
}

// Dense layers of these widths; the last one computes the logits.
class Network {
 public:
  Network(const Scope& scope, const Widths& widths) {
    for (size_t i = 1; i < widths.size(); ++i) {
      layers::LayerOptions options;
      options.weights = initializers::GlorotUniform(static_cast<int64_t>(i));
      const auto activation = i + 1 < widths.size() ? layers::Activation::kRelu : layers::Activation::kNone;
      layers_.emplace_back(scope.WithName(absl::StrCat("dense_", i)), widths[i - 1], widths[i], activation, options);
    }
  }

  Output Loss(const Scope& scope, const Output& images, const Output& labels) const {
    Output top = images;
    for (const layers::Dense& layer : layers_) top = layer(scope, top);
    return layers::SparseSoftmaxLoss(scope, top, labels);
  }

  std::vector<ResourceVariable> Variables() const {
    std::vector<ResourceVariable> variables;
    for (const layers::Dense& layer : layers_) {
      variables.push_back(layer.weights());
      variables.push_back(layer.bias());
    }
    return variables;
  }

 private:
  std::vector<layers::Dense> layers_;
};

// The operations of a graph of this network.
struct Training {
  OutputList images, labels;  // fed
  Output loss;
  Operation train;
  int cpu_devices = 1;
};

absl::Status WriteTraining(const std::string& path, const Scope& scope, const Training& training, int64_t features) {
  const Operation initialize = InitializeAll(scope);
  RETURN_IF_ERROR(scope.status());
  StepSpec spec;
  for (size_t i = 0; i < training.images.size(); ++i) {
    spec.feeds.push_back({training.images[i].op().name(), "float", {kBatch, features}});
    spec.feeds.push_back({training.labels[i].op().name(), "int32", {kBatch}});
  }
  spec.fetches = {training.loss.op().name()};
  spec.targets = {training.train.name()};
  spec.init = {initialize.name()};
  spec.cpu_devices = training.cpu_devices;
  return WriteGraph(path, scope.ToGraphDef(), spec);
}

absl::Status WriteMirrored(const std::string& path, const Widths& widths) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy,
                   MirroredStrategy(Scope::NewRoot(), {.devices = Devices()}));
  const Scope& scope = strategy->Scope();
  const Network network(scope, widths);
  const PerReplica images = Placeholders(*strategy, DT_FLOAT, PartialTensorShape({kBatch, widths[0]}));
  const PerReplica labels = Placeholders(*strategy, DT_INT32, PartialTensorShape({kBatch}));
  const auto results = strategy->Run(
      [&](const ReplicaContext& replica, const OutputList& batch) {
        return OutputList{network.Loss(replica.scope(), batch[0], batch[1])};
      },
      {images, labels});
  RETURN_IF_ERROR(scope.status());
  Training training{
      .images = images.values(), .labels = labels.values(), .cpu_devices = strategy->num_replicas_in_sync()};
  training.train = strategy->Minimize(*GradientDescentOptimizer(kRate), results[0], GlobalStep(scope));
  training.loss = strategy->Reduce(ReduceOp::kMean, results[0]);
  return WriteTraining(path, scope, training, widths[0]);
}

// What a user without strategies writes: one network per device, and means of the gradients, computed on the devices in
// turn.
absl::Status WriteByHand(const std::string& path, const Widths& widths) {
  const Scope root = Scope::NewRoot();
  const int num_replicas = static_cast<int>(Devices().size());
  const auto mean = [&](const Scope& scope, const InputList& values) {
    return ops::Mul(scope, ops::AddN(scope, values), 1.0 / num_replicas);
  };
  Training training{.cpu_devices = num_replicas};
  InputList losses;
  std::vector<std::vector<ResourceVariable>> variables;
  std::vector<std::vector<Gradient>> gradients;
  std::vector<Scope> towers;
  for (int i = 0; i < num_replicas; ++i) {
    const Scope tower = root.WithDevice(Devices()[i]).SubScope(absl::StrCat("tower_", i));
    const Network network(tower, widths);
    training.images.push_back(ops::Placeholder(tower.WithName("images"), DT_FLOAT));
    training.labels.push_back(ops::Placeholder(tower.WithName("labels"), DT_INT32));
    const Output loss = network.Loss(tower, training.images.back(), training.labels.back());
    variables.push_back(network.Variables());
    std::vector<Output> handles;
    for (const ResourceVariable& variable : variables.back()) handles.push_back(variable.handle());
    gradients.push_back(Gradients(tower, {loss}, handles));
    losses.push_back(loss);
    towers.push_back(tower);
  }
  RETURN_IF_ERROR(root.status());
  std::vector<std::vector<Operation>> updates(num_replicas);
  for (size_t k = 0; k < variables[0].size(); ++k) {
    InputList parts;
    for (const auto& of_tower : gradients) parts.emplace_back(of_tower[k].values);
    const Output gradient = mean(root.WithDevice(Devices()[k % num_replicas]).SubScope("mean"), parts);
    for (int i = 0; i < num_replicas; ++i) {
      updates[i].push_back(ops::ResourceApplyGradientDescent(towers[i], variables[i][k].handle(), kRate, gradient));
    }
  }
  std::vector<Operation> updated;
  for (int i = 0; i < num_replicas; ++i) updated.push_back(ops::NoOp(towers[i].WithControlDependencies(updates[i])));
  const Scope first = root.WithDevice(Devices()[0]);
  training.train = GlobalStep(first).AssignAdd(first.WithControlDependencies(updated), int64_t{1});
  training.loss = mean(first, losses);
  return WriteTraining(path, root, training, widths[0]);
}

// Weak scaling: each worker pulls the variables, computes gradients of its own batch, a constant, and pushes them; the
// parameter server makes one update from all.
absl::Status WriteScaling(const std::string& path, int workers) {
  const Widths widths = {784, 512, 512, 10};
  ParameterServerOptions options;
  RETURN_IF_ERROR(options.cluster.AddTask("ps", 0, "ps:1"));
  for (int i = 0; i < workers; ++i) {
    RETURN_IF_ERROR(options.cluster.AddTask("worker", i, absl::StrCat("worker", i, ":1")));
  }
  ASSIGN_OR_RETURN(const auto strategy, ParameterServerStrategy::Create(Scope::NewRoot(), options));
  const Scope& scope = strategy->Scope();
  const Network network(scope, widths);
  const auto results = strategy->Run([&](const ReplicaContext& replica, const OutputList&) {
    Tensor images(DT_FLOAT, TensorShape({kBatch, widths[0]})), labels(DT_INT32, TensorShape({kBatch}));
    const StepSpec::Feed pixels{"images", "float", {kBatch, widths[0]}}, digits{"labels", "int32", {kBatch}};
    std::ranges::copy(pixels.Floats(), images.data<float>());
    std::ranges::copy(digits.Ints(), labels.data<int32_t>());
    return OutputList{
        network.Loss(replica.scope(), replica.scope().Constant(images), replica.scope().Constant(labels))};
  });
  RETURN_IF_ERROR(scope.status());
  Training training;
  training.train = strategy->Minimize(*GradientDescentOptimizer(kRate), results[0], GlobalStep(scope));
  training.loss = strategy->Reduce(ReduceOp::kMean, results[0]);
  return WriteTraining(path, scope, training, widths[0]);
}

}  // namespace

absl::Status WriteStrategyGraphs(const std::string& folder) {
  const struct {
    const char* name;
    Widths widths;
  } networks[] = {{"/mirrored", {784, 512, 512, 10}}, {"/mirrored_small", {784, 64, 10}}};
  for (const auto& [name, widths] : networks) {
    RETURN_IF_ERROR(WriteMirrored(absl::StrCat(folder, name, ".weir"), widths));
    RETURN_IF_ERROR(WriteByHand(absl::StrCat(folder, name, ".by_hand"), widths));
  }
  for (const int workers : {1, 2, 4, 8}) {
    RETURN_IF_ERROR(WriteScaling(absl::StrCat(folder, "/scaling_", workers), workers));
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
