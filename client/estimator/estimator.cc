#include "client/estimator/estimator.h"

#include <algorithm>
#include <utility>

#include "client/estimator/metric_means.h"
#include "client/estimator/saved_model.h"
#include "client/estimator/training_graph.h"
#include "client/lookup/static_hash_table.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/task_loss.h"
#include "client/training/hooks.h"
#include "client/training_loop.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/device/device_name.h"
#include "core/files/file_system.h"
#include "core/logging.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

// A session on this process's devices, those of the strategy among them.
absl::StatusOr<std::unique_ptr<Session>> OpenLocalSession(const Scope& scope, const Strategy* strategy) {
  SessionOptions options;
  int cpus = 1;
  if (strategy != nullptr) {
    options.config->set_allow_soft_placement(true);  // for ops without a GPU kernel
    for (const std::string& name : strategy->replica_devices()) {
      ASSIGN_OR_RETURN(const DeviceName device, DeviceName::Parse(name));
      if (device.type == "CPU") cpus = std::max(cpus, device.id.value_or(0) + 1);
    }
  }
  (*options.config->mutable_device_count())["CPU"] = cpus;
  return Session::Local(scope, std::move(options));
}

// In a cluster the master is this process's own task.
absl::StatusOr<std::unique_ptr<Session>> OpenTrainingSession(const RunConfig& config, TrainingMode mode,
                                                             const TrainingGraph& graph) {
  if (mode == TrainingMode::kAlone) return OpenLocalSession(graph.root, graph.strategy.get());
  const TfConfig& task = config.task;
  SessionOptions options;
  options.config->set_allow_soft_placement(true);
  if (mode == TrainingMode::kIndependent) {
    // Training processes are independent of each other, so one may join or leave without an effect on the others.
    options.config->add_device_filters("/job:ps");
    options.config->add_device_filters(DeviceOf(task));
  }
  ASSIGN_OR_RETURN(const std::string address, task.cluster.AddressOf(task.task_type, task.task_index));
  return Session::Connect(absl::StrCat("grpc://", address), graph.root, std::move(options));
}

TrainingRole RoleOf(const RunConfig& config, TrainingMode mode) {
  if (mode == TrainingMode::kIndependent) {
    return config.task.IsChief() ? TrainingRole::kChief : TrainingRole::kWorker;
  }
  return mode == TrainingMode::kSynchronised && !config.task.IsChief() ? TrainingRole::kReplica : TrainingRole::kOnly;
}

// The loop options that the configuration determines.
TrainingLoopOptions LoopOptions(const RunConfig& config, TrainingMode mode) {
  TrainingLoopOptions options;
  options.checkpoint_dir = config.model_dir;
  options.checkpoint_steps = config.checkpoint_steps;
  options.checkpoint_interval = config.checkpoint_interval;
  options.max_to_keep = config.max_to_keep;
  options.keep_every = config.keep_every;
  options.recovery_timeout = config.recovery_timeout;
  if (mode == TrainingMode::kAlone) return options;
  options.role = RoleOf(config, mode);
  // With a strategy, a step that fails has taken its examples, and may have been made by some of the replicas.
  options.restore_after_failure = mode != TrainingMode::kIndependent;
  options.task_name = absl::StrCat(config.task.task_type, "-", config.task.task_index);
  return options;
}

// Hooks that write the events and profiles of a training for TensorBoard.
void AddBoardHooks(const RunConfig& config, const TrainingGraph& graph,
                   std::vector<std::shared_ptr<TrainingHook>>* hooks) {
  const std::string& directory = config.log_directory();
  if (directory.empty()) return;
  if (config.profile_steps > 0) hooks->push_back(ProfileHook({.directory = directory, .every = config.profile_steps}));
  if (config.summary_steps == 0) return;
  hooks->push_back(SummaryHook({.directory = directory,
                                .every = config.summary_steps,
                                .scalars = {{.tag = "loss", .fetch = 0}},
                                .summaries = graph.spec.summaries,
                                .graph = graph.root}));
}

}  // namespace

absl::StatusOr<std::string> Estimator::LatestCheckpoint() const {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(config_.model_dir));
  return weir::LatestCheckpoint(files, config_.model_dir);
}

absl::StatusOr<int64_t> Estimator::SavedStep() const {
  const absl::StatusOr<std::string> latest = LatestCheckpoint();
  if (absl::IsNotFound(latest.status())) return -1;
  RETURN_IF_ERROR(latest.status());
  const auto split = SplitCheckpointStep(*latest);
  return split ? split->second : -1;
}

// Each worker needs the others until the last step is saved: if that step fails for one of them, all repeat it.
absl::StatusOr<int64_t> Estimator::RunTogether(TrainingLoop& loop, Session& session, const Output& everyone,
                                               int64_t max_steps) const {
  while (true) {
    ASSIGN_OR_RETURN(const int64_t reached, loop.Run(session));
    // The others may have more input, and then wait for this worker in a step.
    const bool is_early = max_steps == 0 || reached < max_steps;
    RunOptions options;
    if (is_early) options->set_timeout_in_ms(std::max(int64_t{1}, absl::ToInt64Milliseconds(config_.recovery_timeout)));
    const absl::Status met = session.Run({}, {everyone}, {}, options).status();
    const bool is_late = is_early && absl::IsDeadlineExceeded(met);
    // The chief's steps are saved.
    if (met.ok() || (config_.task.IsChief() && !is_late)) return reached;
    ASSIGN_OR_RETURN(const int64_t saved, SavedStep());
    if (saved >= reached && !(is_late && config_.task.IsChief())) return reached;
    if (is_late) {
      return errors::FailedPrecondition("The training of ", DeviceOf(config_.task), " ended at step ", reached,
                                        ", but other workers did not end within ",
                                        absl::FormatDuration(config_.recovery_timeout),
                                        ": their inputs need the same number of batches");
    }
    if (!IsTaskLoss(met)) return met;
    WEIR_LOG(WARNING) << "The steps from " << saved << " to " << reached << " are not saved: " << met.message();
  }
}

absl::StatusOr<int64_t> Estimator::Train(const InputFunction& input, const TrainOptions& options) const {
  ASSIGN_OR_RETURN(const TrainingMode mode, TrainingModeOf(config_));
  if (mode == TrainingMode::kDrivenByChief && !config_.task.IsChief()) {
    return errors::FailedPrecondition("With this strategy the chief trains; ", DeviceOf(config_.task), " only serves");
  }
  if (config_.train_distribute && config_.is_distributed() && options.max_steps > 0) {
    // A task that starts again after the end of the training would wait for the others.
    ASSIGN_OR_RETURN(const int64_t saved, SavedStep());
    if (saved >= options.max_steps) return saved;
  }
  ASSIGN_OR_RETURN(const TrainingGraph graph, BuildTrainingGraph(config_, mode, model_, input));
  TrainingLoopOptions loop_options = LoopOptions(config_, mode);
  loop_options.train = graph.train;
  loop_options.global_step = graph.global_step;
  loop_options.fetches = {graph.spec.loss};
  if (options.fetches) {
    for (const Output& fetch : options.fetches(graph.spec)) loop_options.fetches.push_back(fetch);
  }
  loop_options.hooks = options.hooks;
  AddBoardHooks(config_, graph, &loop_options.hooks);
  loop_options.max_steps = options.max_steps;
  loop_options.saveables = graph.positions;
  if (graph.strategy != nullptr) loop_options.resume = graph.strategy->Resume();
  TrainingLoop loop(graph.root, loop_options);
  RETURN_IF_ERROR(graph.root.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, OpenTrainingSession(config_, mode, graph));
  return graph.everyone.valid() ? RunTogether(loop, *session, graph.everyone, options.max_steps) : loop.Run(*session);
}

absl::StatusOr<Evaluation> Estimator::Evaluate(const InputFunction& input, const EvaluateOptions& options) const {
  std::string checkpoint = options.checkpoint;
  if (checkpoint.empty()) {
    ASSIGN_OR_RETURN(checkpoint, LatestCheckpoint());
  }
  StrategyFactory factory = config_.eval_distribute;
  if (!factory) factory = [](const Scope& root, const TfConfig&) { return OneDeviceStrategy(root, ""); };
  ASSIGN_OR_RETURN(const ReplicatedModel model,
                   BuildReplicatedModel(factory, TfConfig(), model_, input, ModelUse::kEvaluate, /*in_turn=*/false));
  const Scope& scope = model.strategy->Scope();
  MetricMeans means(scope, model.replicas);
  const Saver saver(scope);
  const Operation tables = InitializeTables(scope);
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(means.Check());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, OpenLocalSession(scope, model.strategy.get()));
  RETURN_IF_ERROR(saver.Restore(*session, checkpoint));
  if (tables.valid()) RETURN_IF_ERROR(session->RunTargets({tables}));
  for (const DataIterator& iterator : model.inputs) RETURN_IF_ERROR(session->RunTargets({iterator.initializer()}));
  RETURN_IF_ERROR(means.AddBatches(*session, options.steps));
  ASSIGN_OR_RETURN(const std::vector<Tensor> step, session->Run({model.global_step.value()}));
  return Evaluation{.global_step = step[0].scalar<int64_t>(), .values = means.Means()};
}

absl::StatusOr<std::string> Estimator::ExportSavedModel(const std::string& base, const ServingInputFunction& serving,
                                                        const std::string& checkpoint) const {
  std::string from = checkpoint;
  if (from.empty()) {
    ASSIGN_OR_RETURN(from, LatestCheckpoint());
  }
  const Scope scope = Scope::NewRoot();
  const ModelContext context = MakeModelContext(config_, scope, ModelUse::kPredict);
  const ServingInput input = serving(scope);
  const ModelSpec spec = model_(scope, input.features, context);
  RETURN_IF_ERROR(scope.status());
  if (spec.predictions.empty()) return errors::InvalidArgument("The model function returned no predictions to export");
  return WriteSavedModel(scope, {.inputs = input.receivers, .outputs = spec.predictions}, from, base);
}

}  // namespace weir
