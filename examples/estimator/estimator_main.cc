// Trains a classifier of handwritten digits as an estimator: one program for all roles and strategies. Its environment,
// such as TF_CONFIG, says which cluster and task this process belongs to:
// estimator --data digits.csv --model-dir DIR                  none: replicas on the devices of this process (mirrored)
// weir launch -n 3 -- estimator …                              workers: multi_worker_mirrored
// weir launch -n 2 --ps 2 --chief --evaluator -- estimator …   with ps: parameter_server; the chief drives the others

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "weir/core/device/cpu_info.h"
#include "weir/distribute/cluster/cluster_resolver.h"
#include "weir/estimator/train_and_evaluate.h"
#include "weir/layers.h"
#include "weir/ops.h"
#include "weir/optimizer.h"
#include "weir/server.h"
#include "weir/strategy/strategy_choice.h"

namespace weir {
namespace {

constexpr int kPixels = 64, kClasses = 10;
constexpr float kBrightest = 16;
constexpr int64_t kBatch = 32;
constexpr double kExpectedAccuracy = 0.95;

// Each chief and worker steps at its own pace on the parameter servers' variables.
constexpr char kNoStrategy[] = "none";

struct Flags {
  std::string data, model_dir;
  std::string strategy;  // empty: what the environment suggests
  int replicas = 1;      // in each task, each on a CPU device
  int64_t steps = 1200;  // without a strategy: of all workers together
  int64_t batches = 0;   // of the input of each task; 0: without end
  int64_t checkpoint_steps = 100;
  int64_t profile_steps = 0;
  int64_t recovery_seconds = 300;
  std::string bind;  // where the server listens; empty: at the task's address
  bool insecure = false;
};

// Every fifth line is for evaluation; "p0,…,p63,label".
Dataset Lines(const Scope& scope, const std::string& path, bool evaluation) {
  std::vector<Tensor> columns(kPixels + 1, Tensor::Scalar<float>(0));
  return Dataset::Zip({Dataset::Range(scope, int64_t{1} << 62), Dataset::Csv(scope, path.c_str(), columns)})
      .Filter([=](const Scope& s, const OutputList& line) {
        const Output rest = ops::FloorMod(s, line[0], Tensor::Scalar<int64_t>(5));
        const Output chosen = ops::Equal(s, rest, Tensor::Scalar<int64_t>(0));
        return evaluation ? chosen : ops::LogicalNot(s, chosen);
      })
      .Map([](const Scope& s, const OutputList& line) {
        const Output pixels = ops::Pack(s, InputList(line.begin() + 1, line.end() - 1));
        return OutputList{ops::Div(s, pixels, kBrightest), ops::Cast(s, line.back(), DT_INT32)};
      });
}

InputFunction TrainingInput(const std::string& path, int64_t batches) {
  return [path, batches](const Scope& scope, const InputContext& context) {
    const Dataset all = Lines(scope, path, false)
                            .Shard(context.num_input_pipelines, context.input_pipeline_id)
                            .Cache()
                            .Shuffle(2000, {.seed = 1 + context.input_pipeline_id})
                            .Repeat()
                            .Batch(kBatch, {.drop_remainder = true});
    return (batches > 0 ? all.Take(batches) : all).Prefetch(2);
  };
}

InputFunction EvaluationInput(const std::string& path) {
  return [path](const Scope& scope, const InputContext&) { return Lines(scope, path, true).Batch(100); };
}

// Some digits of the batch, for TensorBoard.
Output Pictures(const Scope& scope, const Output& pixels) {
  const Output images = ops::Reshape(scope, pixels, Tensor::Vector<int32_t>({-1, 8, 8, 1}));
  return ops::ImageSummary(scope, "digits", images);
}

ModelSpec BuildModel(const Scope& scope, const OutputList& input, const ModelContext& context) {
  const auto layer = [&](int64_t seed) {
    return layers::LayerOptions{.variable_device = context.next_variable_device(),
                                .weights = initializers::GlorotUniform(seed)};
  };
  const layers::Dense hidden(scope.WithName("hidden"), kPixels, 64, layers::Activation::kRelu, layer(1));
  const layers::Dense output(scope.WithName("output"), 64, kClasses, layers::Activation::kNone, layer(2));
  const Output logits = output(scope, hidden(scope, input[0]));
  ModelSpec spec;
  if (context.use == ModelUse::kPredict) {
    spec.predictions["probabilities"] = ops::Softmax(scope, logits);
    return spec;
  }
  const Output& labels = input[1];
  spec.loss = layers::SparseSoftmaxLoss(scope, logits, labels);
  if (context.use == ModelUse::kTrain) {
    spec.optimizer = AdamOptimizer(2e-3);
    spec.summaries = {ops::HistogramSummary(scope, "logits", logits), Pictures(scope, input[0])};
  } else {
    const Output images = ops::Cast(scope, ops::Size(scope, labels), DT_FLOAT);
    spec.metrics["accuracy"] = {.value = layers::Accuracy(scope, logits, labels), .weight = images};
  }
  return spec;
}

ServingInput Serving(const Scope& scope) {
  const PartialTensorShape shape = PartialTensorShape::Build({-1, kPixels}).value();
  const Output pixels = ops::Placeholder(scope.WithName("pixels"), DT_FLOAT, {.shape = shape});
  return {.receivers = {{"pixels", pixels}}, .features = {pixels}};
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// A parameter server is ended by a signal; other roles keep the default signal handling.
void AwaitStopSignal() {
  const sigset_t signals = StopSignals();
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
}

absl::StatusOr<std::shared_ptr<void>> StartServer(const TfConfig& task, const Flags& flags) {
  ASSIGN_OR_RETURN(std::shared_ptr<Server> server, Server::Start({.cluster = task.cluster,
                                                                  .job = task.task_type,
                                                                  .index = task.task_index,
                                                                  .bind_address = flags.bind,
                                                                  .insecure = flags.insecure,
                                                                  .cpu_devices = flags.replicas}));
  return std::shared_ptr<void>(std::move(server));
}

absl::StatusOr<TfConfig> Task() {
  absl::StatusOr<ResolvedCluster> resolved = ResolveCluster(Environment::OfThisProcess());
  if (absl::IsNotFound(resolved.status())) return TfConfig();
  RETURN_IF_ERROR(resolved.status());
  return std::move(resolved->task);
}

std::vector<std::string> LocalDevices(int replicas) {
  std::vector<std::string> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back(absl::StrCat("/device:CPU:", i));
  return devices;
}

// Training under the strategy; evaluations on the devices of the process that makes them.
absl::Status Distribute(const Flags& flags, RunConfig& config) {
  if (flags.strategy == kNoStrategy) return absl::OkStatus();
  StrategyKind kind = StrategyKindFor(config.task.cluster);
  if (!flags.strategy.empty()) {
    ASSIGN_OR_RETURN(kind, ParseStrategyKind(flags.strategy));
  }
  const std::vector<std::string> devices = LocalDevices(flags.replicas);
  config.train_distribute = [kind, devices](const Scope& root, const TfConfig& task) {
    return MakeStrategy(kind, root, task, devices);
  };
  config.eval_distribute = [devices](const Scope& root, const TfConfig& task) {
    return MakeStrategy(StrategyKind::kMirrored, root, task, devices);
  };
  return absl::OkStatus();
}

absl::StatusOr<RunConfig> Configure(const Flags& flags) {
  RunConfig config;
  config.model_dir = flags.model_dir;
  const Environment environment = Environment::OfThisProcess();
  if (const std::string* const log_dir = environment.Find("WEIR_LOGDIR")) config.log_dir = *log_dir;  // weir launch
  config.profile_steps = flags.profile_steps;
  ASSIGN_OR_RETURN(config.task, Task());
  RETURN_IF_ERROR(Distribute(flags, config));
  config.checkpoint_steps = flags.checkpoint_steps;
  config.recovery_timeout = absl::Seconds(flags.recovery_seconds);
  config.start_server = [&flags](const TfConfig& task) { return StartServer(task, flags); };
  config.await_stop = AwaitStopSignal;
  config.evaluator_poll = absl::Milliseconds(100);
  return config;
}

// Of a training with a strategy, whose chief evaluates the last checkpoint too, so that it ends with an accuracy.
absl::StatusOr<double> LastAccuracy(const Estimator& estimator, const EvalSpec& eval) {
  ASSIGN_OR_RETURN(const Evaluation evaluation, estimator.Evaluate(eval.input));
  absl::PrintF("accuracy at step %d: %.2f %%\n", evaluation.global_step, evaluation.values.at("accuracy") * 100);
  return evaluation.values.at("accuracy");
}

absl::Status Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const RunConfig config, Configure(flags));
  if (config.task.task_type == "ps" && !config.train_distribute) {
    const sigset_t signals = StopSignals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  const Estimator estimator(BuildModel, config);

  TrainSpec train{.input = TrainingInput(flags.data, flags.batches), .options = {.max_steps = flags.steps}};
  train.options.hooks = {NanHook(0), LogHook(200, 0, [](int64_t step, double loss) {
                           absl::PrintF("step %d   loss %.5f\n", step, loss);
                           std::fflush(stdout);
                         })};
  double accuracy = 0;
  EvalSpec eval{.input = EvaluationInput(flags.data), .steps = 0};
  eval.exporters = {LatestExporter({.name = "latest", .serving = Serving, .exports_to_keep = 2}),
                    BestExporter({.name = "best", .serving = Serving, .exports_to_keep = 1}, LargerMetric("accuracy"))};
  eval.report = [&](const Evaluation& evaluation) {
    accuracy = evaluation.values.at("accuracy");
    absl::PrintF("evaluation of step %d: accuracy %.2f %%, loss %.5f\n", evaluation.global_step, accuracy * 100,
                 evaluation.values.at("loss"));
    std::fflush(stdout);
  };
  RETURN_IF_ERROR(TrainAndEvaluate(estimator, train, eval));
  const std::string& role = config.task.task_type;
  if (config.is_distributed() && role != "evaluator") {
    if (!config.train_distribute || !config.task.IsChief()) return absl::OkStatus();
    ASSIGN_OR_RETURN(accuracy, LastAccuracy(estimator, eval));
  }
  if (accuracy < kExpectedAccuracy) return errors::Internal("The accuracy is ", accuracy, ", below the expected");
  absl::PrintF("expected accuracy reached\n");
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (const absl::Status cpu = weir::CheckCpuBaseline(); !cpu.ok()) {
    std::fprintf(stderr, "estimator: %s\n", std::string(cpu.message()).c_str());
    return 1;
  }
  weir::Flags flags;
  CLI::App app("Trains a classifier of handwritten digits, as the task in TF_CONFIG, with the strategy that suits it.");
  app.add_option("--data", flags.data, "digits.csv")->required();
  app.add_option("--model-dir", flags.model_dir, "for checkpoints, events and exports; shared by all tasks")
      ->required();
  app.add_option("--strategy", flags.strategy,
                 "instead of the one that suits the cluster: mirrored, central_storage, one_device, "
                 "multi_worker_mirrored, parameter_server, or none")
      ->check([](const std::string& name) {
        if (name == weir::kNoStrategy) return std::string();
        return std::string(weir::ParseStrategyKind(name).status().message());
      });
  app.add_option("--replicas", flags.replicas, "replicas of the model in each task that trains")
      ->check(CLI::Range(1, 64));
  app.add_option("--profile-steps", flags.profile_steps, "between profiles of a step for TensorBoard; 0: none")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--recovery-timeout", flags.recovery_seconds, "seconds for a lost task to come back")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--bind", flags.bind, "host:port to listen on, instead of the task's address");
  app.add_flag("--insecure", flags.insecure, "listen on an address that other machines can reach: no encryption");
  app.add_option("--steps", flags.steps, "steps to train")->check(CLI::Range(1, 1000000));
  app.add_option("--batches", flags.batches, "end the input of each task after this many batches; 0: never")
      ->check(CLI::Range(0, 1000000000));
  app.add_option("--checkpoint-steps", flags.checkpoint_steps, "between checkpoints")->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = weir::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "estimator: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  return 1;
}
