// Code that documents show (`<!-- from tests/docs/snippets.cc -->`), in functions that give it what it needs: it is
// compiled, not run. A snippet that stands in a program or a test of its own is shown from there instead.
#include <functional>
#include <utility>

#include "client/data/dataset.h"
#include "client/data/iterator.h"
#include "client/embedding/embedding_exporter.h"
#include "client/embedding/embedding_follower.h"
#include "client/embedding/embedding_parts.h"
#include "client/embedding/embedding_variable.h"
#include "client/gradients.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/saver.h"
#include "client/session.h"
#include "client/state_moves/rebalance.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/per_replica_feeds.h"
#include "distribute/cluster/cluster_resolver.h"
#include "distribute/coordination/etcd/etcd_environment.h"
#include "distribute/coordination/etcd/etcd_store.h"
#include "tools/server.h"

namespace weir {
namespace {

// docs/install.md

[[maybe_unused]] absl::Status SetOptionsByText() {
  SessionOptions options;
  RETURN_IF_ERROR(options.config.MergeText("allow_soft_placement: true device_count { key: 'CPU' value: 4 }"));
  return absl::OkStatus();
}

// docs/membership.md

[[maybe_unused]] absl::Status MoveByUse() {
  // Keeps hot variables on a server of their own.
  RebalanceOptions options;
  options.policy = [](const ClusterState& state, const std::vector<std::string>& tasks) {
    std::vector<PlannedMove> moves;
    for (size_t i = 0; i < state.groups.size(); ++i) {
      const std::string& task = state.groups[i].steps > 1000 ? tasks.front() : tasks.back();
      if (state.groups[i].obstacle.empty() && state.groups[i].task != task) moves.push_back({i, task});
    }
    return moves;
  };
  RETURN_IF_ERROR(Rebalance("127.0.0.1:2222", options));
  return absl::OkStatus();
}

// docs/howto.md

[[maybe_unused]] absl::Status SaveAndRestore(const Scope& scope, Session* session, int64_t step) {
  const Saver saver(scope);  // adds ops: make it before the first step
  ASSIGN_OR_RETURN(const std::string written, saver.Save(*session, "/data/model/model.ckpt", step));
  ASSIGN_OR_RETURN(const std::string newest, saver.Latest("/data/model"));
  RETURN_IF_ERROR(saver.Restore(*session, newest));
  return absl::OkStatus();
}

// docs/input.md

OutputList Parse(const Scope& scope, const Output& record) { return {ops::DecodeRaw(scope, record, DT_FLOAT)}; }

[[maybe_unused]] OutputList ReadFiles(const Scope& scope) {
  Scope on_worker = scope.WithDevice("/job:worker/task:1");
  Dataset digits = Dataset::Files(on_worker, "train-*.tfrecord")
                       .Interleave([](const Scope& s, const OutputList& file) { return Dataset::TfRecord(s, file[0]); })
                       .ParallelMap([](const Scope& s, const OutputList& record) { return Parse(s, record[0]); })
                       .Shuffle(10'000, {.seed = 1})
                       .Repeat()
                       .Batch(64, {.drop_remainder = true})
                       .Prefetch();
  DataIterator input = digits.MakeIterator("input");
  OutputList batch = input.GetNext(on_worker);  // tensors of a training graph
  return batch;
}

// docs/embeddings.md

[[maybe_unused]] Operation TrainEmbedding(const Scope& scope, const Scope& worker, const Output& keys,
                                          const std::function<Output(const Output& rows)>& loss_of,
                                          const ResourceVariable& global_step) {
  EmbeddingVariableOptions options{.width = 64, .devices = {"/job:ps/task:0", "/job:ps/task:1"}};
  options.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = 0.1};
  const EmbeddingVariable users = EmbeddingVariable::Make(scope.WithName("users"), options);

  const EmbeddingPull pull = users.Pull(worker, keys);  // int64, of any shape
  const Output rows = users.Embed(worker, pull);        // the keys' shape, and then 64
  const Output loss = loss_of(rows);
  const std::vector<Gradient> gradients = Gradients(worker, {loss}, {pull.unique});
  const Operation push = users.Push(worker, pull, gradients[0], global_step.value());
  return push;
}

[[maybe_unused]] absl::Status MoveParts(EmbeddingVariableOptions options, const EmbeddingVariable& users,
                                        const std::string& target) {
  options.devices = {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:2"};
  options.parts = 64;
  options.initial_devices = 2;  // the third has none yet
  // … later, from a hook, a thread, or another process that makes the embedding by the same name and options
  EmbeddingParts parts(users, [&](const Scope& scope) { return Session::Connect(target, scope); });
  RETURN_IF_ERROR(parts.Balance({true, true, true}, EmbeddingParts::LoadMeasure::kBytes).status());
  return absl::OkStatus();
}

[[maybe_unused]] void ExportEmbedding(const Scope& scope, const EmbeddingVariable& users,
                                      std::vector<std::shared_ptr<TrainingHook>>& hooks) {
  // In the training process.
  auto exporter = std::make_shared<EmbeddingExporter>(scope, std::vector<EmbeddingVariable>{users}, "/exports/users");
  hooks.push_back(EmbeddingExportHook(exporter));
}

[[maybe_unused]] absl::Status FollowEmbedding(const Scope& serving, const EmbeddingVariableOptions& options,
                                              Server::Options& server_options,
                                              const std::function<std::unique_ptr<Session>()>& open) {
  // In the serving process, by the same name.
  const EmbeddingVariable served = EmbeddingVariable::Make(
      serving.WithName("users"), EmbeddingFollower::ServingOptions(options, {"/job:serving/task:0"}));
  auto follower =
      std::make_shared<EmbeddingFollower>(serving, std::vector<EmbeddingVariable>{served}, "/exports/users");
  server_options.gauges = {follower};  // for /metrics

  const std::unique_ptr<Session> session = open();
  RETURN_IF_ERROR(follower->Start(*session, absl::Seconds(2)));
  follower->Stop();
  return absl::OkStatus();
}

// docs/strategies.md

class Network {
 public:
  explicit Network(const Scope& scope) : logits_(scope.WithName("logits"), 64, 10) {}
  Output operator()(const Scope& scope, const Output& images) const { return logits_(scope, images); }

 private:
  const layers::Dense logits_;
};

[[maybe_unused]] absl::StatusOr<std::pair<Operation, Output>> TrainOnTwoDevices(Optimizer* optimizer) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy,
                   MirroredStrategy(Scope::NewRoot(), {.devices = {"/device:CPU:0", "/device:CPU:1"}}));
  const Scope& scope = strategy->Scope();
  const Network network(scope);  // its variables are the strategy's
  const PerReplica images = Placeholders(*strategy, DT_FLOAT), labels = Placeholders(*strategy, DT_INT32);
  const auto loss_of = [&](const ReplicaContext& replica, const OutputList& batch) {
    return OutputList{layers::SparseSoftmaxLoss(replica.scope(), network(replica.scope(), batch[0]), batch[1])};
  };
  const PerReplica loss = strategy->Run(loss_of, {images, labels})[0];
  const Operation train = strategy->Minimize(*optimizer, loss, GlobalStep(scope));
  const Output mean_loss = strategy->Reduce(ReduceOp::kMean, loss);
  return std::make_pair(train, mean_loss);
}

}  // namespace
}  // namespace weir

// docs/coordination.md

namespace weir::coordination {
namespace {

[[maybe_unused]] absl::Status WatchTasks(const CallOptions& options) {
  ASSIGN_OR_RETURN(auto store, coordination::EtcdStore::Create({.endpoints = {"127.0.0.1:2379"}}));
  ASSIGN_OR_RETURN(coordination::Store::Listing tasks, store->List(options, "/cluster/tasks/"));
  ASSIGN_OR_RETURN(auto watch, store->NewWatch(Keys::Under("/cluster/tasks/"), tasks.revision + 1));
  return absl::OkStatus();
}

[[maybe_unused]] absl::Status ConnectByEnvironment() {
  ASSIGN_OR_RETURN(coordination::EtcdOptions options,
                   coordination::EtcdOptionsFromEnvironment(Environment::OfThisProcess()));
  ASSIGN_OR_RETURN(auto store, coordination::EtcdStore::Create(options));
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::coordination
