// Synchronous training on a parameter server with one slow worker:
// weir_straggler WEIR SLOWDOWN BACKUP_WORKERS
// WEIR is the program for the cluster's tasks. Each worker's input takes 20 ms after it has read the variables
// (SleepDataset); the last worker's takes SLOWDOWN times as long. A step is one update. Speaks the protocol of
// bench/runner.h.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "bench/runner.h"
#include "client/data/dataset.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/strategy/parameter_server_strategy.h"
#include "distribute/cluster/process_cluster.h"

namespace weir::bench {
namespace {

constexpr int kWorkers = 4, kBatch = 32, kFeatures = 64;
constexpr int64_t kInputMicroseconds = 20'000;

// Batches on a worker, each available `microseconds` after its request.
DataIterator LateInput(const Scope& scope, int64_t microseconds) {
  Tensor batch(DT_FLOAT, TensorShape({kBatch, kFeatures}));
  std::ranges::copy(StepSpec::Feed{"input", "float", {kBatch, kFeatures}}.Floats(), batch.data<float>());
  const Dataset batches = Dataset::FromTensors(scope, {batch}).Repeat();
  const std::vector<PartialTensorShape> shapes = {batch.shape()};
  const Output late = ops::SleepDataset(scope, batches.variant(), scope.Constant(microseconds), {DT_FLOAT}, shapes);
  return Dataset::FromVariant(scope, late, {{DT_FLOAT}, shapes}).MakeIterator();
}

absl::Status Train(const std::string& weir, int slowdown, int backup_workers) {
  ASSIGN_OR_RETURN(const auto cluster,
                   ProcessCluster::Start({.program = weir, .jobs = {{"ps", 1}, {"worker", kWorkers}}}));
  const Scope root = Scope::NewRoot();
  ASSIGN_OR_RETURN(const auto strategy, ParameterServerStrategy::Create(root, {.cluster = cluster->spec(),
                                                                               .steps = WorkerSteps::kSynchronous,
                                                                               .backup_workers = backup_workers}));
  const layers::Dense layer(strategy->Scope(), kFeatures, 10);
  std::vector<Operation> inputs_begun;
  const std::vector<PerReplica> losses = strategy->Run([&](const ReplicaContext& replica, const OutputList&) {
    const Scope& scope = replica.scope();
    const bool is_straggler = replica.replica_id_in_sync_group() == kWorkers - 1;
    const Output weights = ops::Identity(scope, layer.weights().value());
    const DataIterator input =
        LateInput(scope.WithVariablePolicy(nullptr), kInputMicroseconds * (is_straggler ? slowdown : 1));
    inputs_begun.push_back(input.initializer());
    const Output batch = input.GetNext(scope.WithControlDependencies({weights}))[0];
    const Output labels = scope.Constant(Tensor::Vector<int32_t>(std::vector<int32_t>(kBatch)));
    return OutputList{layers::SparseSoftmaxLoss(scope, layer(scope, batch), labels)};
  });
  RETURN_IF_ERROR(root.status());
  strategy->Minimize(*GradientDescentOptimizer(0.01), losses[0], GlobalStep(strategy->Scope()));
  const Operation initialize = InitializeAll(strategy->Scope().WithControlDependencies(inputs_begun));
  RETURN_IF_ERROR(root.status());
  ASSIGN_OR_RETURN(const auto session, Session::Connect(cluster->Target("worker", 0), root));
  RETURN_IF_ERROR(session->RunTargets({initialize}));
  RETURN_IF_ERROR(session->RunTargets({strategy->start()}));

  std::vector<std::thread> workers;
  const absl::Cleanup end = [&] {
    (void)session->Close();  // ends the waiting steps of all workers
    for (std::thread& worker : workers) worker.join();
  };
  for (const Operation& step : strategy->worker_steps()) {
    workers.emplace_back([&session, step] {
      while (session->RunTargets({step}).ok()) {
      }
      (void)session->Close();
    });
  }
  const std::string error = AnswerOnDemand([&](int count) {
    absl::Status status;
    for (int i = 0; i < count; ++i) {
      for (const Operation& step : strategy->chief_steps()) {
        if (status.ok()) status = session->RunTargets({step});
      }
    }
    return status.ok() ? "" : status.ToString();
  });
  return error.empty() ? absl::OkStatus() : errors::Internal(error);
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s WEIR SLOWDOWN BACKUP_WORKERS\n", argv[0]);
    return 2;
  }
  const absl::Status status = weir::bench::Train(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
