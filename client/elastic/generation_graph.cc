#include "client/elastic/generation_graph.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "core/clock.h"
#include "core/device/device_name.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

// Instances of the workers' own collectives, beyond those of the strategy's reductions.
constexpr int kMeeting = 1 << 23, kSignals = kMeeting + 1, kFirstCopy = kMeeting + 16;
// Group keys of a generation: all replicas, all workers, and the source with the needy.
constexpr int kWorkersGroup = 1, kCopyGroup = 2;
constexpr int64_t kStateColumns = 4, kSignalColumns = 3;

absl::StatusOr<ClusterSpec> ClusterOfPlan(const TrainingGeneration& plan) {
  ClusterSpec cluster;
  for (const TrainingMember& member : plan.member()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(member.task()));
    if (!name.job || !name.task)
      return errors::Aborted("The plan has a member '", member.task(), "', which is no task");
    RETURN_IF_ERROR(cluster.AddTask(*name.job, *name.task, member.address()));
  }
  return cluster;
}

std::vector<std::string> JobsOf(const TrainingGeneration& plan) {
  std::vector<std::string> jobs;
  for (const TrainingMember& member : plan.member()) {
    const auto name = DeviceName::Parse(member.task());
    if (name.ok() && name->job && std::find(jobs.begin(), jobs.end(), *name->job) == jobs.end())
      jobs.push_back(*name->job);
  }
  return jobs;
}

// Steps of one kind take their ids from one count of the generation. Those of two kinds, or of two generations, may run
// side by side.
enum Count { kSteps = 1, kMeetings = 2, kCopies = 3 };
RunOptions OptionsOf(const TrainingGeneration& generation, Count count, absl::Duration timeout) {
  RunOptions options;
  options->mutable_experimental()->set_collective_graph_key(static_cast<int64_t>((generation.id() << 2) | count));
  if (timeout < absl::InfiniteDuration()) options->set_timeout_in_ms(absl::ToInt64Milliseconds(timeout));
  return options;
}

}  // namespace

GenerationGraph::GenerationGraph(const Options& options, TrainingGeneration plan, const TrainingMember& self)
    : options_(options), generation_(std::move(plan)) {
  info_.number = generation_.number();
  for (const TrainingMember& member : generation_.member()) info_.tasks.push_back(member.task());
  info_.rank = RankIn(generation_, self);
  if (options_.batch_policy == BatchPolicy::kPerWorkerBatch) {
    info_.learning_rate_scale = static_cast<double>(num_workers()) / options_.initial_workers;
  }
  // Nothing of one generation may meet anything of another: both keys are functions of its id.
  group_key_ = static_cast<int>(16 + 8 * (generation_.id() % (1 << 26)));
  first_instance_ = static_cast<int>(1 + (generation_.id() >> 32) % (1 << 22));
}

absl::StatusOr<std::unique_ptr<GenerationGraph>> GenerationGraph::Build(const Options& options,
                                                                        const TrainingGeneration& plan,
                                                                        const TrainingMember& self,
                                                                        const TrainingGeneration& holder) {
  std::unique_ptr<GenerationGraph> graph(new GenerationGraph(options, plan, self));
  RETURN_IF_ERROR(graph->BuildGraph());
  int source = -1;
  std::vector<int> needy;
  for (int rank = 0; rank < plan.member_size(); ++rank) {
    const bool holds = RankIn(holder, plan.member(rank)) >= 0;
    if (holds && source < 0) source = rank;
    if (!holds) needy.push_back(rank);
  }
  if (source >= 0 && !needy.empty()) RETURN_IF_ERROR(graph->BuildCopy(source, needy));
  RETURN_IF_ERROR(graph->Connect());
  return graph;
}

absl::Status GenerationGraph::BuildGraph() {
  ASSIGN_OR_RETURN(const ClusterSpec cluster, ClusterOfPlan(generation_));
  MultiWorkerMirroredOptions strategy{.cluster = cluster,
                                      .jobs = JobsOf(generation_),
                                      .worker = info_.rank,
                                      .local_devices = options_.local_devices,
                                      .group_key = group_key_,
                                      .first_instance_key = first_instance_,
                                      .own_initial_values = true,
                                      .communication = options_.communication};
  strategy.before_updates = [this](const Scope& scope) { return whole_.Assign(scope, scope.Constant(int64_t{0})); };
  ASSIGN_OR_RETURN(strategy_, MultiWorkerMirroredStrategy(Scope::NewRoot(), std::move(strategy)));
  const int replicas = strategy_->num_replicas_in_sync();
  if (options_.batch_policy == BatchPolicy::kGlobalBatch && options_.batch_size < replicas) {
    return errors::InvalidArgument("A global batch of ", options_.batch_size, " rows has none for some of ", replicas,
                                   " replicas: set ElasticOptions::max_workers");
  }
  rows_ = RowsOfReplicas(options_.batch_policy, options_.batch_size, replicas, strategy_->first_replica(), num_local());
  ASSIGN_OR_RETURN(model_, options_.build(*strategy_, info_));
  RETURN_IF_ERROR(strategy_->Scope().status());
  if (model_.loss.size() != num_local() || model_.optimizer == nullptr || model_.feeds == nullptr) {
    return errors::InvalidArgument("The function that builds the model must return a loss for each of the ",
                                   num_local(), " replicas of this worker, an optimizer, and feeds");
  }
  RETURN_IF_ERROR(BuildStep());
  BuildMeeting();
  return strategy_->Scope().status();
}

absl::Status GenerationGraph::BuildStep() {
  const Scope& scope = strategy_->Scope();
  const Scope here = scope.WithDevice(strategy_->replica_devices()[0]).SubScope("elastic");
  global_step_ = GlobalStep(scope);
  whole_ = ResourceVariable::Make(scope.WithName("elastic_whole"), TensorShape(), DT_INT64, initializers::Zeros(),
                                  {.trainable = false});
  // Gradients are averaged over replicas, whatever the number of their rows: the losses are weighted.
  const int replicas = strategy_->num_replicas_in_sync();
  OutputList losses;
  for (int i = 0; i < num_local(); ++i) {
    const int64_t rows = rows_[i].end - rows_[i].begin;
    const bool is_even =
        options_.batch_policy == BatchPolicy::kPerWorkerBatch || rows * replicas == options_.batch_size;
    const double weight = static_cast<double>(rows) * replicas / static_cast<double>(options_.batch_size);
    losses.push_back(is_even ? model_.loss[i]
                             : ops::Mul(scope.WithDevice(strategy_->replica_devices()[i]), model_.loss[i], weight));
  }
  const PerReplicaGradients gradients = strategy_->ComputeGradients(*model_.optimizer, PerReplica(losses));
  RETURN_IF_ERROR(scope.status());
  std::vector<Operation> computed;
  for (const auto& of_replica : gradients) {
    for (const GradientAndVariable& each : of_replica) {
      if (each.gradient.valid()) computed.push_back(each.gradient.values.op());
    }
  }
  const Operation update = strategy_->ApplyGradients(*model_.optimizer, gradients, global_step_);
  RETURN_IF_ERROR(scope.status());
  const Scope after = here.WithControlDependencies(std::vector<Operation>{update});
  train_ = whole_.Assign(after, after.Constant(int64_t{1}));
  step_after_ = global_step_.Read(here.WithControlDependencies(std::vector<Operation>{train_}));
  // A queue tells the client, in a step of its own, when the gradients are there.
  const Output queue =
      ops::FIFOQueueV2(here.WithName("measured"), {DT_INT64},
                       {.shapes = {TensorShape()}, .shared_name = absl::StrCat("elastic_", generation_.id())});
  const Scope when_computed = here.WithControlDependencies(computed);
  measure_ = ops::QueueEnqueueV2(when_computed, queue, {when_computed.Constant(int64_t{0})});
  measured_ = ops::QueueDequeueV2(here, queue, {DT_INT64})[0];
  signal_ = ops::Placeholder(here.WithName("signal"), DT_INT64, {.shape = TensorShape({1, kSignalColumns})});
  signals_ = Gather(here, signal_, kSignals);
  return scope.status();
}

void GenerationGraph::BuildMeeting() {
  const Scope& scope = strategy_->Scope();
  const Scope here = scope.WithDevice(strategy_->replica_devices()[0]).SubScope("elastic");
  initialize_ = InitializeAll(scope);
  set_whole_ = whole_.Assign(here, here.Constant(int64_t{1}));
  const Output parts[] = {global_step_.Read(here), whole_.Read(here)};
  state_ = ops::Pack(here, {parts[0], parts[1]});
  own_state_ = ops::Placeholder(here.WithName("state"), DT_INT64, {.shape = TensorShape({1, kStateColumns})});
  states_ = Gather(here, own_state_, kMeeting);
}

Output GenerationGraph::Gather(const Scope& scope, const Output& value, int instance) const {
  return ops::CollectiveGatherV2(scope, value, num_workers(), group_key_ + kWorkersGroup, first_instance_ + instance,
                                 InputList(),
                                 {.timeout_seconds = static_cast<float>(options_.communication.timeout_seconds)});
}

DataType GenerationGraph::SentType(DataType dtype) {
  switch (dtype) {
    case DT_BFLOAT16:
      return DT_FLOAT;
    case DT_BOOL:
    case DT_INT8:
    case DT_UINT8:
    case DT_INT16:
      return DT_INT32;
    default:
      return dtype;
  }
}

// The sum of copies that are each replica's own stays with those that have them.
bool GenerationGraph::IsCopied(const ResourceVariable& variable) {
  return variable.options().synchronization != VariableSynchronization::kOnRead ||
         variable.options().aggregation != VariableAggregation::kSum;
}

absl::Status GenerationGraph::BuildCopy(int source, const std::vector<int>& needy) {
  if (copy_.source == source && copy_.needy == needy) return absl::OkStatus();
  copy_ = {.source = source, .needy = needy};
  const bool sends = info_.rank == source;
  if (!sends && std::find(needy.begin(), needy.end(), info_.rank) == needy.end()) return absl::OkStatus();
  const Scope& scope = strategy_->Scope();
  const Scope here = scope.WithDevice(strategy_->replica_devices()[0]).SubScope("copy_state");
  const int size = static_cast<int>(needy.size()) + 1, group = group_key_ + kCopyGroup;
  const auto timeout = static_cast<float>(options_.communication.timeout_seconds);
  int instance = first_instance_ + kFirstCopy;
  std::vector<ResourceVariable> variables;
  OutputList values;
  std::vector<Operation> received;
  for (const ResourceVariable& variable : std::vector<ResourceVariable>(scope.variables())) {
    if (!IsCopied(variable)) continue;
    const DataType dtype = variable.dtype(), sent = SentType(dtype);
    if (sends) {
      Output value = variable.Read(here);
      if (sent != dtype) value = ops::Cast(here, value, sent);
      received.push_back(
          ops::CollectiveBcastSendV2(here, value, size, group, instance++, {.timeout_seconds = timeout}).op());
      continue;
    }
    Output value =
        ops::CollectiveBcastRecvV2(here, size, group, instance++, Tensor::Vector<int64_t>(variable.shape().dim_sizes()),
                                   sent, {.timeout_seconds = timeout});
    if (!scope.ok()) return scope.status();
    received.push_back(value.op());
    variables.push_back(variable);
    values.push_back(sent == dtype ? value : ops::Cast(here, value, dtype));
  }
  RETURN_IF_ERROR(scope.status());
  if (sends) {
    copy_.copied = ops::NoOp(here.WithControlDependencies(received));
    return scope.status();
  }
  // Nothing changes before all has arrived, and variables that are being overwritten are not whole.
  const Operation begun = whole_.Assign(here.WithControlDependencies(received), here.Constant(int64_t{0}));
  const Scope then = here.WithControlDependencies(std::vector<Operation>{begun});
  std::vector<Operation> assigned;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name() == whole_.name()) continue;
    assigned.push_back(variables[i].Assign(then, values[i]));
  }
  const Scope after = here.WithControlDependencies(assigned);
  copy_.copied = whole_.Assign(after, after.Constant(int64_t{1}));
  return scope.status();
}

absl::Status GenerationGraph::Connect() {
  // Other workers may be lost: the session is of this one alone.
  SessionOptions session;
  session.config->add_device_filters(generation_.member(info_.rank).task());
  session.config->mutable_experimental()->set_collective_group_leader(generation_.member(0).task());
  ASSIGN_OR_RETURN(session_, Session::Connect(options_.target, strategy_->Scope(), session));
  return absl::OkStatus();
}

absl::Status GenerationGraph::Meet() { return Exchange({}).status(); }

absl::StatusOr<std::vector<MemberState>> GenerationGraph::Exchange(const MemberState& own) {
  Tensor fed(DT_INT64, TensorShape({1, kStateColumns}));
  const int64_t columns[] = {own.number, static_cast<int64_t>(own.id), own.step, own.whole ? 1 : 0};
  std::copy_n(columns, kStateColumns, fed.data<int64_t>());
  ASSIGN_OR_RETURN(
      const std::vector<Tensor> results,
      session_->Run({{own_state_, fed}}, {states_}, {}, OptionsOf(generation_, kMeetings, options_.meet_timeout)));
  std::vector<MemberState> states;
  for (int rank = 0; rank < num_workers(); ++rank) {
    const int64_t* const row = results[0].data<int64_t>() + rank * kStateColumns;
    states.push_back({.number = row[0], .id = static_cast<uint64_t>(row[1]), .step = row[2], .whole = row[3] != 0});
  }
  return states;
}

absl::Status GenerationGraph::CopyState(int source, const std::vector<int>& needy) {
  RETURN_IF_ERROR(BuildCopy(source, needy));
  if (!copy_.copied.valid()) return absl::OkStatus();
  const RunOptions options = OptionsOf(generation_, kCopies, absl::InfiniteDuration());
  return session_->Run({}, {}, {copy_.copied}, options).status();
}

absl::StatusOr<GenerationGraph::StepResult> GenerationGraph::Step(int64_t step, const StepSignal& own,
                                                                  absl::Duration* measured) {
  const absl::Time begin = MonotonicNow();
  ASSIGN_OR_RETURN(FeedList feeds, model_.feeds(step, rows_));
  Tensor fed(DT_INT64, TensorShape({1, kSignalColumns}));
  fed.data<int64_t>()[0] = own.stop ? 1 : 0;
  fed.data<int64_t>()[1] = own.finish ? 1 : 0;
  fed.data<int64_t>()[2] = absl::ToInt64Nanoseconds(own.own_time);
  feeds.emplace_back(signal_, fed);
  std::vector<Output> fetches = {signals_, step_after_};
  fetches.insert(fetches.end(), model_.fetches.begin(), model_.fetches.end());
  std::vector<Operation> targets = {train_};
  std::future<absl::Status> computed;
  if (measured != nullptr) {
    targets.push_back(measure_);
    computed = std::async(std::launch::async, [this, begin, measured]() -> absl::Status {
      RETURN_IF_ERROR(session_->Run({measured_}).status());
      *measured = MonotonicNow() - begin;
      return absl::OkStatus();
    });
  }
  absl::StatusOr<std::vector<Tensor>> results =
      session_->Run(feeds, fetches, targets, OptionsOf(generation_, kSteps, absl::InfiniteDuration()));
  if (!results.ok()) {
    Close();  // ends the measurement too
    return results.status();
  }
  if (computed.valid()) RETURN_IF_ERROR(computed.get());
  StepResult result{.global_step = (*results)[1].scalar<int64_t>()};
  for (int rank = 0; rank < num_workers(); ++rank) {
    const int64_t* const row = (*results)[0].data<int64_t>() + rank * kSignalColumns;
    result.signals.push_back({.stop = row[0] != 0, .finish = row[1] != 0, .own_time = absl::Nanoseconds(row[2])});
  }
  result.fetches.assign(results->begin() + 2, results->end());
  return result;
}

absl::StatusOr<int64_t> GenerationGraph::Initialize() {
  RETURN_IF_ERROR(session_->RunTargets({initialize_}));
  if (model_.start != nullptr) RETURN_IF_ERROR(model_.start(*session_));
  RETURN_IF_ERROR(session_->RunTargets({set_whole_}));
  MemberState state;
  ReadState(&state);
  return state.step;
}

void GenerationGraph::ReadState(MemberState* state) {
  const absl::StatusOr<std::vector<Tensor>> values = session_->Run({state_});
  state->whole = values.ok() && (*values)[0].data<int64_t>()[1] != 0;
  if (values.ok()) state->step = (*values)[0].data<int64_t>()[0];
}

void GenerationGraph::Close() { session_->Close().IgnoreError(); }

}  // namespace weir
