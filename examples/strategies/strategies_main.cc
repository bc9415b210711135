// Trains a classifier of handwritten digits under a given strategy:
// strategies --strategy mirrored --data digits.csv
// strategies --strategy parameter_server --data digits.csv --weir weir      starts a cluster on this machine
// strategies --strategy mirrored --data digits.csv --gpus 2                 on this machine's GPUs
// strategies --strategy mirrored --data digits.csv --weir weir --simulated-gpus 2     on a server's simulated GPUs

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "absl/strings/str_format.h"
#include "examples/digits/dataset.h"
#include "weir/core/device/cpu_info.h"
#include "weir/distribute/cluster/process_cluster.h"
#include "weir/layers.h"
#include "weir/ops.h"
#include "weir/strategy/central_storage_strategy.h"
#include "weir/strategy/mirrored_strategy.h"
#include "weir/strategy/multi_worker_mirrored_strategy.h"
#include "weir/strategy/parameter_server_strategy.h"
#include "weir/strategy/per_replica_feeds.h"
#include "weir/training_loop.h"

namespace weir::digits {
namespace {

constexpr int kReplicas = 2;
constexpr int kGlobalBatch = 64;
constexpr double kExpectedAccuracy = 0.95;

struct Flags {
  std::string strategy, data, weir;
  int64_t steps = 300;
  int gpus = 0, simulated_gpus = 0;
};

// The replicas' devices: of this process, or of a cluster.
struct Runtime {
  std::unique_ptr<ProcessCluster> cluster;

  absl::StatusOr<std::unique_ptr<Session>> Open(const Scope& scope) const {
    SessionOptions options;
    // Soft placement is for ops without a GPU kernel.
    RETURN_IF_ERROR(options.config.MergeText("allow_soft_placement: true"));
    if (cluster != nullptr) return Session::Connect(cluster->Target("worker", 0), scope, options);
    RETURN_IF_ERROR(options.config.MergeText(absl::StrCat("device_count { key: 'CPU' value: ", kReplicas, " }")));
    return Session::Local(scope, options);
  }
};

absl::StatusOr<std::unique_ptr<ProcessCluster>> StartCluster(const Flags& flags, std::map<std::string, int> jobs,
                                                             std::vector<std::string> server_flags = {}) {
  if (flags.weir.empty()) return errors::InvalidArgument(flags.strategy, " needs --weir, to start a cluster with");
  return ProcessCluster::Start({.program = flags.weir, .jobs = std::move(jobs), .flags = std::move(server_flags)});
}

std::vector<std::string> Devices(absl::string_view prefix, int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back(absl::StrCat(prefix, i));
  return devices;
}

// Devices of one task: this process, or a server with simulated GPUs.
absl::StatusOr<std::vector<std::string>> MakeDevices(const Flags& flags, Runtime& runtime) {
  if (flags.simulated_gpus > 0) {
    ASSIGN_OR_RETURN(runtime.cluster,
                     StartCluster(flags, {{"worker", 1}}, {"--simulated-gpus", absl::StrCat(flags.simulated_gpus)}));
    return Devices("/job:worker/replica:0/task:0/device:GPU:", flags.simulated_gpus);
  }
  if (flags.gpus > 0) return Devices("/job:localhost/replica:0/task:0/device:GPU:", flags.gpus);
  return Devices("/device:CPU:", kReplicas);
}

absl::StatusOr<std::unique_ptr<Strategy>> MakeStrategy(const Scope& root, const Flags& flags, Runtime& runtime) {
  if (flags.strategy == "one_device" || flags.strategy == "mirrored" || flags.strategy == "central_storage") {
    ASSIGN_OR_RETURN(const std::vector<std::string> devices, MakeDevices(flags, runtime));
    if (flags.strategy == "one_device") return OneDeviceStrategy(root, devices[0]);
    if (flags.strategy == "mirrored") return MirroredStrategy(root, {.devices = devices});
    return CentralStorageStrategy(root, {.devices = devices});
  }
  if (flags.strategy == "parameter_server") {
    ASSIGN_OR_RETURN(runtime.cluster, StartCluster(flags, {{"ps", 2}, {"worker", kReplicas}}));
    return ParameterServerStrategy::Create(root, {.cluster = runtime.cluster->spec()});
  }
  ASSIGN_OR_RETURN(runtime.cluster, StartCluster(flags, {{"worker", kReplicas}}));
  return MultiWorkerMirroredStrategy(root, {.cluster = runtime.cluster->spec()});
}

// 64 → dense 64 → dense 10. Its variables belong to the strategy if it is created with the strategy's scope.
class Network {
 public:
  explicit Network(const Scope& scope)
      : hidden_(scope.WithName("hidden"), kPixels, 64, layers::Activation::kRelu, Seeded(1)),
        logits_(scope.WithName("logits"), 64, kClasses, layers::Activation::kNone, Seeded(2)) {}
  Output operator()(const Scope& scope, const Output& images) const { return logits_(scope, hidden_(scope, images)); }

 private:
  static layers::LayerOptions Seeded(int64_t seed) {
    layers::LayerOptions options;
    options.weights = initializers::GlorotUniform(seed);
    return options;
  }
  const layers::Dense hidden_, logits_;
};

absl::Status Train(const Flags& flags) {
  ASSIGN_OR_RETURN(const Dataset data, Dataset::Load(flags.data));
  Runtime runtime;
  ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy, MakeStrategy(Scope::NewRoot(), flags, runtime));
  const Scope& scope = strategy->Scope();

  const Network network(scope);
  const PerReplica images = Placeholders(*strategy, DT_FLOAT), labels = Placeholders(*strategy, DT_INT32);
  const auto loss_of_replica = [&](const ReplicaContext& replica, const OutputList& batch) {
    const Output logits = network(replica.scope(), batch[0]);
    return OutputList{layers::SparseSoftmaxLoss(replica.scope(), logits, batch[1])};
  };
  const auto results = strategy->Run(loss_of_replica, {images, labels});
  RETURN_IF_ERROR(scope.status());
  const PerReplica& loss = results[0];
  const auto optimizer = AdamOptimizer(2e-3);

  TrainingLoopOptions options;
  options.global_step = GlobalStep(scope);
  options.train = strategy->Minimize(*optimizer, loss, options.global_step);
  options.fetches = {strategy->Reduce(ReduceOp::kMean, loss)};
  options.feeds = [&](int64_t step) -> absl::StatusOr<FeedList> {
    const Batch batch = data.TrainingBatch(step, /*replica=*/0, /*replicas=*/1, kGlobalBatch);
    ASSIGN_OR_RETURN(FeedList feeds, SplitBatch(images, batch.images));
    ASSIGN_OR_RETURN(const FeedList label_feeds, SplitBatch(labels, batch.labels));
    feeds.insert(feeds.end(), label_feeds.begin(), label_feeds.end());
    return feeds;
  };
  options.hooks = {StopAtStepHook(flags.steps), NanHook(0), LogHook(100, 0, [](int64_t step, double value) {
                     absl::PrintF("step %4d   loss %.5f\n", step, value);
                   })};
  const Scope test = scope.WithDevice(strategy->replica_devices()[0]).SubScope("test");
  const Batch test_set = data.TestSet();
  const Output test_images = ops::Placeholder(test, DT_FLOAT), test_labels = ops::Placeholder(test, DT_INT32);
  const Output accuracy = layers::Accuracy(test, network(test, test_images), test_labels);

  TrainingLoop loop(scope, options);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runtime.Open(scope));
  RETURN_IF_ERROR(loop.Run(*session).status());
  ASSIGN_OR_RETURN(const std::vector<Tensor> tested,
                   session->Run({{test_images, test_set.images}, {test_labels, test_set.labels}}, {accuracy}));
  absl::PrintF("%s, %d replicas: test accuracy %.2f %%\n", strategy->name(), strategy->num_replicas_in_sync(),
               tested[0].scalar<float>() * 100);
  if (tested[0].scalar<float>() < kExpectedAccuracy) return errors::Internal("The accuracy is below 95 %");
  return session->Close();
}

}  // namespace
}  // namespace weir::digits

int main(int argc, char** argv) {
  if (absl::Status cpu = weir::CheckCpuBaseline(); !cpu.ok()) {
    std::fprintf(stderr, "strategies: %s\n", std::string(cpu.message()).c_str());
    return 1;
  }
  weir::digits::Flags flags;
  CLI::App app("Trains a classifier of handwritten digits under a strategy.");
  app.add_option("--strategy", flags.strategy, "how the model is replicated")
      ->required()
      ->check(
          CLI::IsMember({"one_device", "mirrored", "central_storage", "parameter_server", "multi_worker_mirrored"}));
  app.add_option("--data", flags.data, "digits.csv")->required();
  app.add_option("--weir", flags.weir, "path of the weir program, for strategies on a cluster");
  app.add_option("--steps", flags.steps, "steps to train")->check(CLI::Range(1, 1000000));
  app.add_option("--gpus", flags.gpus, "number of replicas in one task, each on a GPU of this machine")
      ->check(CLI::Range(1, 64));
  app.add_option("--simulated-gpus", flags.simulated_gpus, "the same, on simulated GPUs of a server: slow")
      ->check(CLI::Range(1, 16))
      ->excludes("--gpus");
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = weir::digits::Train(flags); !status.ok()) {
    std::fprintf(stderr, "strategies: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
    return 1;
  }
  return 0;
}
