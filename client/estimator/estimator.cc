#include "client/estimator/estimator.h"

#include "client/estimator/saved_model.h"
#include "client/lookup/static_hash_table.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/training_loop.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/files/file_system.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

constexpr char kParameterServers[] = "ps";

int TasksOf(const ClusterSpec& cluster, const std::string& job) {
  const auto found = cluster.jobs().find(job);
  return found == cluster.jobs().end() ? 0 : static_cast<int>(found->second.size());
}

std::string DeviceOf(const TfConfig& task) { return absl::StrCat("/job:", task.task_type, "/task:", task.task_index); }

// The chief first, then the workers: each reads one shard of the input.
InputContext InputOf(const RunConfig& config) {
  if (!config.is_distributed()) return {};
  const TfConfig& task = config.task;
  const int chiefs = TasksOf(task.cluster, "chief") + TasksOf(task.cluster, "master");
  return {.num_input_pipelines = chiefs + TasksOf(task.cluster, "worker"),
          .input_pipeline_id = task.task_type == "worker" ? chiefs + task.task_index : 0};
}

// In a cluster the master is this process's own task. Training processes are independent of each other, so one may join
// or leave without an effect on the others.
absl::StatusOr<std::unique_ptr<Session>> OpenTrainingSession(const RunConfig& config, const Scope& scope) {
  if (!config.is_distributed()) return Session::Local(scope);
  const TfConfig& task = config.task;
  SessionOptions options;
  options.config->add_device_filters(absl::StrCat("/job:", kParameterServers));
  options.config->add_device_filters(DeviceOf(task));
  ASSIGN_OR_RETURN(const std::string address, task.cluster.AddressOf(task.task_type, task.task_index));
  return Session::Connect(absl::StrCat("grpc://", address), scope, std::move(options));
}

// The loop options that the configuration determines.
TrainingLoopOptions LoopOptions(const RunConfig& config) {
  TrainingLoopOptions options;
  options.checkpoint_dir = config.model_dir;
  options.checkpoint_steps = config.checkpoint_steps;
  options.checkpoint_interval = config.checkpoint_interval;
  options.max_to_keep = config.max_to_keep;
  options.keep_every = config.keep_every;
  options.recovery_timeout = config.recovery_timeout;
  if (!config.is_distributed()) return options;
  options.role = config.task.IsChief() ? TrainingRole::kChief : TrainingRole::kWorker;
  options.task_name = absl::StrCat(config.task.task_type, "-", config.task.task_index);
  return options;
}

absl::Status CheckScalar(const Output& output, const std::string& name) {
  if (output.valid() && output.type() == DT_FLOAT) return absl::OkStatus();
  return errors::InvalidArgument("The model's ", name, " is ", output.valid() ? DataTypeName(output.type()) : "missing",
                                 "; a float is needed");
}

absl::StatusOr<double> ScalarOf(const Tensor& value, const std::string& name) {
  if (value.dtype() == DT_FLOAT && value.NumElements() == 1) return value.data<float>()[0];
  return errors::InvalidArgument("'", name, "' is ", value.DebugString(), "; a float scalar is needed");
}

// Weighted means over batches.
class MetricMeans {
 public:
  MetricMeans(const Scope& scope, const ModelSpec& spec) {
    Add("loss", {.value = spec.loss}, scope);
    for (const auto& [name, metric] : spec.metrics) Add(name, metric, scope);
  }

  absl::Status Check() const {
    for (size_t i = 0; i < names_.size(); ++i) {
      RETURN_IF_ERROR(CheckScalar(fetches_[2 * i], names_[i]));
      RETURN_IF_ERROR(CheckScalar(fetches_[2 * i + 1], "weight of " + names_[i]));
    }
    return absl::OkStatus();
  }

  const std::vector<Output>& fetches() const { return fetches_; }

  absl::Status AddBatch(const std::vector<Tensor>& values) {
    for (size_t i = 0; i < names_.size(); ++i) {
      ASSIGN_OR_RETURN(const double value, ScalarOf(values[2 * i], names_[i]));
      ASSIGN_OR_RETURN(const double weight, ScalarOf(values[2 * i + 1], names_[i]));
      sums_[i] += value * weight;
      weights_[i] += weight;
    }
    return absl::OkStatus();
  }

  std::map<std::string, double> Means() const {
    std::map<std::string, double> means;
    for (size_t i = 0; i < names_.size(); ++i) means[names_[i]] = weights_[i] == 0 ? 0 : sums_[i] / weights_[i];
    return means;
  }

 private:
  void Add(const std::string& name, const Metric& metric, const Scope& scope) {
    names_.push_back(name);
    fetches_.push_back(metric.value);
    fetches_.push_back(metric.weight.valid() ? metric.weight : scope.Constant(1.0f));
    sums_.push_back(0);
    weights_.push_back(0);
  }

  std::vector<std::string> names_;
  std::vector<Output> fetches_;
  std::vector<double> sums_, weights_;
};

}  // namespace

absl::StatusOr<std::string> Estimator::LatestCheckpoint() const {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(config_.model_dir));
  return weir::LatestCheckpoint(files, config_.model_dir);
}

ModelContext Estimator::ContextFor(const Scope& scope, ModelUse use) const {
  ModelContext context{.use = use};
  const int servers = use == ModelUse::kTrain ? TasksOf(config_.task.cluster, kParameterServers) : 0;
  if (servers == 0) {
    context.global_step = GlobalStep(scope.Root());
    context.next_variable_device = [] { return std::string(); };
    return context;
  }
  const auto devices = std::make_shared<RoundRobinDevices>(kParameterServers, servers);
  context.global_step = GlobalStep(scope.Root().WithDevice(devices->Next()));
  context.next_variable_device = [devices] { return devices->Next(); };
  return context;
}

absl::StatusOr<int64_t> Estimator::Train(const InputFunction& input, const TrainOptions& options) const {
  const TfConfig& task = config_.task;
  if (config_.is_distributed() && TasksOf(task.cluster, kParameterServers) == 0) {
    return errors::Unimplemented("An estimator on a cluster keeps its variables on job ps; this cluster has none");
  }
  const Scope root = Scope::NewRoot();
  const Scope scope = config_.is_distributed() ? root.WithDevice(DeviceOf(task)) : root;
  const ModelContext context = ContextFor(scope, ModelUse::kTrain);
  const DataIterator iterator = input(scope.SubScope("input"), InputOf(config_)).MakeIterator();
  const ModelSpec spec = model_(scope, iterator.GetNext(scope), context);
  RETURN_IF_ERROR(root.status());
  RETURN_IF_ERROR(CheckScalar(spec.loss, "loss"));
  if (!spec.train.valid()) return errors::InvalidArgument("The model function returned no training operation");

  TrainingLoopOptions loop_options = LoopOptions(config_);
  loop_options.train = spec.train;
  loop_options.global_step = context.global_step;
  loop_options.fetches = {spec.loss};
  if (options.fetches) {
    for (const Output& fetch : options.fetches(spec)) loop_options.fetches.push_back(fetch);
  }
  loop_options.hooks = options.hooks;
  loop_options.max_steps = options.max_steps;
  loop_options.saveables = {iterator.Position()};
  TrainingLoop loop(root, loop_options);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, OpenTrainingSession(config_, root));
  return loop.Run(*session);
}

absl::StatusOr<Evaluation> Estimator::Evaluate(const InputFunction& input, const EvaluateOptions& options) const {
  std::string checkpoint = options.checkpoint;
  if (checkpoint.empty()) {
    ASSIGN_OR_RETURN(checkpoint, LatestCheckpoint());
  }
  const Scope scope = Scope::NewRoot();
  const ModelContext context = ContextFor(scope, ModelUse::kEvaluate);
  const DataIterator iterator = input(scope.SubScope("input"), {}).MakeIterator();
  const ModelSpec spec = model_(scope, iterator.GetNext(scope), context);
  MetricMeans means(scope, spec);
  const Saver saver(scope);
  const Operation tables = InitializeTables(scope);
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(means.Check());

  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope));
  RETURN_IF_ERROR(saver.Restore(*session, checkpoint));
  if (tables.valid()) RETURN_IF_ERROR(session->RunTargets({tables}));
  RETURN_IF_ERROR(session->RunTargets({iterator.initializer()}));
  int64_t batches = 0;
  for (; options.steps == 0 || batches < options.steps; ++batches) {
    const auto values = session->Run(means.fetches());
    if (absl::IsOutOfRange(values.status())) break;
    RETURN_IF_ERROR(values.status());
    RETURN_IF_ERROR(means.AddBatch(*values));
  }
  if (batches == 0) return errors::InvalidArgument("The input of an evaluation has no batch");
  ASSIGN_OR_RETURN(const std::vector<Tensor> step, session->Run({context.global_step.value()}));
  return Evaluation{.global_step = step[0].scalar<int64_t>(), .values = means.Means()};
}

absl::StatusOr<std::string> Estimator::ExportSavedModel(const std::string& base, const ServingInputFunction& serving,
                                                        const std::string& checkpoint) const {
  std::string from = checkpoint;
  if (from.empty()) {
    ASSIGN_OR_RETURN(from, LatestCheckpoint());
  }
  const Scope scope = Scope::NewRoot();
  const ModelContext context = ContextFor(scope, ModelUse::kPredict);
  const ServingInput input = serving(scope);
  const ModelSpec spec = model_(scope, input.features, context);
  RETURN_IF_ERROR(scope.status());
  if (spec.predictions.empty()) return errors::InvalidArgument("The model function returned no predictions to export");
  return WriteSavedModel(scope, {.inputs = input.receivers, .outputs = spec.predictions}, from, base);
}

}  // namespace weir
