#include "tests/elastic/worker_process.h"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/elastic/elastic_training.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/per_replica_feeds.h"
#include "client/variables.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tools/server.h"

namespace weir {
namespace {

constexpr double kRate = 0.02;
constexpr double kMomentum = 0.5, kLedgerScale = 200;
constexpr int64_t kGlobalBatch = 12, kFeatures = 4;

// Row `row` of the global batch of the step after `step`: the same whoever computes it.
struct Batch {
  Tensor features, targets;
};
Batch BatchOf(int64_t step, const RowRange& rows) {
  const int64_t count = rows.end - rows.begin;
  Batch batch{Tensor(DT_FLOAT, TensorShape({count, kFeatures})), Tensor(DT_FLOAT, TensorShape({count, 1}))};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t n = step * kGlobalBatch + rows.begin + i;
    float sum = 0;
    for (int64_t j = 0; j < kFeatures; ++j) {
      const float x = std::sin(static_cast<float>((n * kFeatures + j) % 10'000) * 0.9F) + 0.5F;
      batch.features.data<float>()[i * kFeatures + j] = x;
      sum += x * static_cast<float>(j - 1);
    }
    batch.targets.data<float>()[i] = sum + static_cast<float>(n % 5) * 0.2F;
  }
  return batch;
}

// The mean squared error of a linear model, to which float sums in another order do not matter in the long run, and a
// ledger: a variable whose gradients do not depend on it, so that it shows each step that was lost or made twice.
Output Loss(const Scope& scope, const OutputList& inputs) {
  Tensor weights(DT_FLOAT, TensorShape({kFeatures, 1}));
  for (int64_t i = 0; i < kFeatures; ++i) weights.data<float>()[i] = 0.5F * std::sin(static_cast<float>(i) + 0.3F);
  layers::LayerOptions options;
  options.weights = initializers::Value(weights);
  const layers::Dense out(scope.WithName("out"), kFeatures, 1, layers::Activation::kNone, options);
  const auto ledger =
      ResourceVariable::Make(scope.WithName("ledger"), TensorShape({kFeatures}), DT_FLOAT, initializers::Zeros());
  const Tensor all = Tensor::Vector<int32_t>({0, 1});
  const Output error = ops::Mean(scope, ops::SquaredDifference(scope, out(scope, inputs[0]), inputs[1]), all);
  const Output centred = ops::Sub(scope, inputs[0], 0.5F);
  const Output entries = ops::Mean(scope, ops::Mul(scope, centred, ledger.value()), all);
  return ops::AddV2(scope, error, ops::Mul(scope, entries, kLedgerScale));
}

struct Network {
  PerReplica features, targets, loss;
  std::shared_ptr<Optimizer> optimizer;
};
absl::StatusOr<Network> BuildNetwork(Strategy& strategy, double rate) {
  Network network{.features = Placeholders(strategy, DT_FLOAT), .targets = Placeholders(strategy, DT_FLOAT)};
  const auto function = [](const ReplicaContext& replica, const OutputList& own) {
    return OutputList{Loss(replica.scope(), own)};
  };
  const std::vector<PerReplica> results = strategy.Run(function, {network.features, network.targets});
  RETURN_IF_ERROR(strategy.Scope().status());
  network.loss = results[0];
  network.optimizer = MomentumOptimizer(rate, kMomentum);
  return network;
}

// Values of float variables by name.
absl::StatusOr<std::map<std::string, Tensor>> ReadVariables(const Scope& scope, const std::vector<Output>& reads,
                                                            Session& session) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(reads));
  std::map<std::string, Tensor> variables;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].dtype() == DT_FLOAT) variables[scope.variables()[i].name()] = values[i];
  }
  return variables;
}

std::vector<Output> Reads(const Scope& scope) {
  std::vector<Output> reads;
  for (const ResourceVariable& variable : std::vector<ResourceVariable>(scope.variables())) {
    reads.push_back(variable.Read(scope));
  }
  return reads;
}

class Program {
 public:
  explicit Program(const WorkerProgram& options) : options_(options) {}

  absl::Status Run() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    Server::Options server;
    server.job = "worker";
    server.compute_threads = 1;
    if (options_.join.empty()) {
      ASSIGN_OR_RETURN(server.cluster, ClusterSpec::FromJson(options_.cluster));
      server.index = options_.index;
    } else {
      server.join = options_.join;
      server.bind_address = "127.0.0.1:0";
      server.index = Server::kNewTask;
    }
    server.member_lease = absl::Seconds(2);
    ASSIGN_OR_RETURN(const std::unique_ptr<Server> started, Server::Start(server));
    std::ofstream(options_.ready_file) << started->address();
    ElasticOptions elastic{.target = absl::StrCat("grpc://", started->address()), .task = started->task()};
    elastic.initial_workers = options_.initial_workers;
    elastic.min_workers = options_.min_workers;
    elastic.batch_size = kGlobalBatch;
    if (options_.per_worker_batch) {
      elastic.batch_policy = BatchPolicy::kPerWorkerBatch;
      elastic.batch_size = 2;
    }
    elastic.hang_timeout = absl::Milliseconds(options_.hang_millis);
    elastic.wait_timeout = absl::Seconds(60);
    elastic.measured_steps = 5;
    elastic.stragglers = {.factor = options_.straggler_factor, .window = 3};
    elastic.after_step = [](Session&, const ElasticStep& step) {
      if (step.global_step % 5 != 0) return absl::OkStatus();
      std::printf("step %ld\n", static_cast<long>(step.global_step));
      std::fflush(stdout);
      return absl::OkStatus();
    };
    elastic.after_regroup = [](const RegroupReport& report) {
      std::printf("generation %ld workers %zu rank %d step %ld pause %.3f received %d scale %g\n",
                  static_cast<long>(report.generation.number), report.generation.tasks.size(), report.generation.rank,
                  static_cast<long>(report.global_step), absl::ToDoubleMilliseconds(report.pause),
                  report.received ? 1 : 0, report.generation.learning_rate_scale);
      std::fflush(stdout);
    };
    ElasticTraining training(elastic, [this](Strategy& strategy, const ElasticGeneration& generation) {
      return Build(strategy, generation);
    });
    std::thread listener([&training, signals] {
      while (true) {
        int signal = 0;
        sigwait(&signals, &signal);
        if (signal == SIGUSR1) {
          training.Finish();
        } else {
          training.Leave();
        }
      }
    });
    listener.detach();
    ASSIGN_OR_RETURN(const ElasticOutcome outcome, training.Run());
    std::printf("end %d step %ld\n", static_cast<int>(outcome.end), static_cast<long>(outcome.global_step));
    std::fflush(stdout);
    if (outcome.end == ElasticEnd::kFinished) RETURN_IF_ERROR(WriteResult(elastic, outcome.global_step));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<ElasticModel> Build(Strategy& strategy, const ElasticGeneration& generation) {
    ASSIGN_OR_RETURN(const Network network, BuildNetwork(strategy, kRate * generation.learning_rate_scale));
    ElasticModel model{.loss = network.loss, .optimizer = network.optimizer, .fetches = {network.loss[0]}};
    model.feeds = [this, network](int64_t step, const std::vector<RowRange>& rows) -> absl::StatusOr<FeedList> {
      if (step == options_.kill_at) raise(SIGKILL);
      if (step == options_.stop_at && !std::exchange(has_stopped_, true)) raise(SIGSTOP);
      if (options_.slow_millis > 0) absl::SleepFor(absl::Milliseconds(options_.slow_millis));
      FeedList feeds;
      for (size_t i = 0; i < rows.size(); ++i) {
        const Batch batch = BatchOf(step, rows[i]);
        feeds.emplace_back(network.features[static_cast<int>(i)], batch.features);
        feeds.emplace_back(network.targets[static_cast<int>(i)], batch.targets);
      }
      return feeds;
    };
    return model;
  }

  // Variables outlive the training, in the server: a session of its own reads them.
  absl::Status WriteResult(const ElasticOptions& elastic, int64_t step) {
    const std::string device = absl::StrCat(elastic.task, "/device:CPU:0");
    ASSIGN_OR_RETURN(const auto strategy, MirroredStrategy(Scope::NewRoot(), {.devices = {device}}));
    const Scope& scope = strategy->Scope();
    ASSIGN_OR_RETURN(const Network network, BuildNetwork(*strategy, kRate));
    (void)strategy->Minimize(*network.optimizer, network.loss, GlobalStep(scope));
    const std::vector<Output> reads = Reads(scope);
    SessionOptions session_options;
    session_options.config->add_device_filters(elastic.task);
    ASSIGN_OR_RETURN(const auto session, Session::Connect(elastic.target, scope, session_options));
    ASSIGN_OR_RETURN(const auto variables, ReadVariables(scope, reads, *session));
    std::ofstream file(options_.result_file + ".part");
    file << step << "\n";
    for (const auto& [name, value] : variables) {
      file << name << " " << value.NumElements();
      for (int64_t k = 0; k < value.NumElements(); ++k) file << " " << absl::StrCat(value.data<float>()[k]);
      file << "\n";
    }
    file.close();
    if (rename((options_.result_file + ".part").c_str(), options_.result_file.c_str()) != 0) {
      return errors::Internal("cannot write ", options_.result_file);
    }
    return absl::OkStatus();
  }

  const WorkerProgram options_;
  bool has_stopped_ = false;
};

}  // namespace

int RunWorkerProgram(const WorkerProgram& options) {
  const absl::Status status = Program(options).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

WorkerProgress ParseProgress(const std::string& log) {
  WorkerProgress progress;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    long step = 0, generation = 0;
    int workers = 0, rank = 0, received = 0;
    double pause = 0;
    if (std::sscanf(line.c_str(), "generation %ld workers %d rank %d step %ld pause %lf received %d", &generation,
                    &workers, &rank, &step, &pause, &received) == 6) {
      progress.generation = generation;
      if (progress.workers > 0) {
        progress.regroupings.push_back(
            {.before = progress.workers, .workers = workers, .pause = absl::Milliseconds(pause)});
      }
      progress.workers = workers;
      progress.rank = rank;
    } else if (std::sscanf(line.c_str(), "step %ld", &step) == 1) {
      progress.step = step;
    }
  }
  return progress;
}

absl::StatusOr<WorkerResult> ReadWorkerResult(const std::string& path) {
  std::ifstream file(path);
  WorkerResult result;
  if (!(file >> result.step)) return errors::NotFound("no result in ", path);
  std::string name;
  int64_t count = 0;
  while (file >> name >> count) {
    Tensor values(DT_FLOAT, TensorShape({count}));
    for (int64_t i = 0; i < count; ++i) file >> values.data<float>()[i];
    result.variables[name] = values;
  }
  if (result.variables.empty()) return errors::DataLoss("no variables in ", path);
  return result;
}

absl::StatusOr<WorkerResult> TrainUndisturbed(int64_t steps) {
  ASSIGN_OR_RETURN(const auto strategy, MirroredStrategy(Scope::NewRoot(), {.devices = {"/device:CPU:0"}}));
  const Scope& scope = strategy->Scope();
  ASSIGN_OR_RETURN(const Network network, BuildNetwork(*strategy, kRate));
  const Operation train = strategy->Minimize(*network.optimizer, network.loss, GlobalStep(scope));
  const Operation initialize = InitializeAll(scope);
  const std::vector<Output> reads = Reads(scope);
  ASSIGN_OR_RETURN(const auto session, Session::Local(scope));
  RETURN_IF_ERROR(session->RunTargets({initialize}));
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = BatchOf(step, {0, kGlobalBatch});
    RETURN_IF_ERROR(
        session->Run({{network.features[0], batch.features}, {network.targets[0], batch.targets}}, {}, {train})
            .status());
  }
  WorkerResult result{.step = steps, .variables = {}};
  ASSIGN_OR_RETURN(result.variables, ReadVariables(scope, reads, *session));
  return result;
}

absl::Status CompareResults(const WorkerResult& actual, const WorkerResult& expected) {
  if (actual.step != expected.step) return errors::Internal("step ", actual.step, " instead of ", expected.step);
  if (actual.variables.size() != expected.variables.size()) {
    return errors::Internal(actual.variables.size(), " variables instead of ", expected.variables.size());
  }
  for (const auto& [name, value] : expected.variables) {
    const auto found = actual.variables.find(name);
    if (found == actual.variables.end()) return errors::Internal("no variable ", name);
    for (int64_t i = 0; i < value.NumElements(); ++i) {
      const float is = found->second.data<float>()[i], wanted = value.data<float>()[i];
      if (!(std::abs(is - wanted) <= 2e-3F * (1 + std::abs(wanted)))) {
        return errors::Internal(name, "[", i, "] is ", is, " instead of ", wanted, " after ", actual.step, " steps");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
