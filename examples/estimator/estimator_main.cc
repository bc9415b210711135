// Trains a classifier of handwritten digits as an estimator: the same program for all roles.
// estimator --data digits.csv --model-dir DIR                       all in this process
// weir launch -n 2 --ps 2 --chief --evaluator -- estimator …        six processes, configured by TF_CONFIG

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

namespace weir {
namespace {

constexpr int kPixels = 64, kClasses = 10;
constexpr float kBrightest = 16;
constexpr int64_t kBatch = 32;
constexpr double kExpectedAccuracy = 0.95;

struct Flags {
  std::string data, model_dir;
  int64_t steps = 1200;  // of all workers together
  int64_t checkpoint_steps = 100;
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

InputFunction TrainingInput(const std::string& path) {
  return [path](const Scope& scope, const InputContext& context) {
    return Lines(scope, path, false)
        .Shard(context.num_input_pipelines, context.input_pipeline_id)
        .Cache()
        .Shuffle(2000, {.seed = 1 + context.input_pipeline_id})
        .Repeat()
        .Batch(kBatch, {.drop_remainder = true})
        .Prefetch(2);
  };
}

InputFunction EvaluationInput(const std::string& path) {
  return [path](const Scope& scope, const InputContext&) { return Lines(scope, path, true).Batch(100); };
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
    spec.train = AdamOptimizer(2e-3)->Minimize(scope, spec.loss, context.global_step);
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

absl::StatusOr<std::shared_ptr<void>> StartServer(const TfConfig& task) {
  ASSIGN_OR_RETURN(std::shared_ptr<Server> server,
                   Server::Start({.cluster = task.cluster, .job = task.task_type, .index = task.task_index}));
  return std::shared_ptr<void>(std::move(server));
}

absl::StatusOr<TfConfig> Task() {
  absl::StatusOr<ResolvedCluster> resolved = ResolveCluster(Environment::OfThisProcess());
  if (absl::IsNotFound(resolved.status())) return TfConfig();
  RETURN_IF_ERROR(resolved.status());
  return std::move(resolved->task);
}

absl::Status Run(const Flags& flags) {
  RunConfig config;
  config.model_dir = flags.model_dir;
  ASSIGN_OR_RETURN(config.task, Task());
  config.checkpoint_steps = flags.checkpoint_steps;
  config.start_server = StartServer;
  config.await_stop = AwaitStopSignal;
  config.evaluator_poll = absl::Milliseconds(100);
  if (config.task.task_type == "ps") {
    const sigset_t signals = StopSignals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  const Estimator estimator(BuildModel, config);

  TrainSpec train{.input = TrainingInput(flags.data), .options = {.max_steps = flags.steps}};
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
  if (config.is_distributed() && config.task.task_type != "evaluator") return absl::OkStatus();
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
  CLI::App app("Trains a classifier of handwritten digits, as the task in TF_CONFIG.");
  app.add_option("--data", flags.data, "digits.csv")->required();
  app.add_option("--model-dir", flags.model_dir, "for checkpoints, events and exports; shared by all tasks")
      ->required();
  app.add_option("--steps", flags.steps, "steps to train, over all workers")->check(CLI::Range(1, 1000000));
  app.add_option("--checkpoint-steps", flags.checkpoint_steps, "between checkpoints")->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = weir::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "estimator: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  return 1;
}
