// Asynchronous training on parameter servers, one of which gets eight times the traffic of each other:
// weir_skew WEIR balanced|unbalanced
// WEIR is the program for the cluster's tasks. Each parameter server has a machine of its own (EmulatedNetwork), whose
// link carries kLink in each direction: what a server can do is limited by that, not by the cores that all tasks share.
// Balanced: the registrar runs with --rebalance-every, and "ready" comes once variables have moved and stay. A step
// pulls rows of one table and pushes their updates. Speaks the protocol of bench/runner.h.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "bench/runner.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "distribute/cluster/emulated_network.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir::bench {
namespace {

constexpr int kServers = 4, kWorkers = 2, kTablesPerServer = 8, kSkew = 8;
constexpr int kStreams = 16;  // steps in flight on each worker
constexpr int64_t kRows = 2048, kWidth = 64, kRowsPerStep = 512;
constexpr int64_t kLink = 100'000'000;  // bits a second
constexpr absl::Duration kWindow = absl::Seconds(2), kPatience = absl::Minutes(2);
constexpr int kQuietWindows = 5;  // more than a variable rests after a move

// Host 0 is the client's.
int HostOf(const std::string& job, int index) { return job == "worker" ? 1 + index : 1 + kWorkers + index; }

// The session of one worker, which makes steps on any table.
class Worker {
 public:
  static absl::StatusOr<std::unique_ptr<Worker>> Create(const std::string& target, int index, bool initialize) {
    auto worker = std::unique_ptr<Worker>(new Worker);
    Scope& scope = worker->scope_;
    const Scope own = scope.WithDevice(absl::StrCat("/job:worker/task:", index));
    std::vector<Operation> initializers, steps;
    for (int table = 0; table < kServers * kTablesPerServer; ++table) {
      const Scope server = scope.WithDevice(absl::StrCat("/job:ps/task:", table / kTablesPerServer));
      const Output handle = ops::VarHandleOp(server, DT_FLOAT, TensorShape({kRows, kWidth}),
                                             {.shared_name = absl::StrCat("table", table)});
      const Output shape = server.Constant(Tensor::Vector<int32_t>({kRows, kWidth}));
      initializers.push_back(ops::AssignVariableOp(server, handle, ops::Fill(server, shape, 0.5f)));
      const Output keys = ops::RandomUniformInt(own, own.Constant(Tensor::Vector<int32_t>({kRowsPerStep})),
                                                own.Constant(0), own.Constant(static_cast<int32_t>(kRows)));
      const Output rows = ops::ResourceGather(server, handle, keys, DT_FLOAT);
      const Output updates = ops::Mul(own, rows, own.Constant(0.001f));
      steps.push_back(ops::ResourceScatterSub(server, handle, keys, updates));
    }
    RETURN_IF_ERROR(scope.status());
    ASSIGN_OR_RETURN(worker->session_, Session::Connect(target, scope));
    if (initialize) RETURN_IF_ERROR(worker->session_->RunTargets(initializers));
    for (const Operation& step : steps) {
      ASSIGN_OR_RETURN(auto callable, worker->session_->MakeCallable({}, {}, {step}));
      worker->steps_.push_back(std::move(callable));
    }
    return worker;
  }
  absl::Status Step(int table) { return steps_[static_cast<size_t>(table)]->Run({}).status(); }

 private:
  Worker() = default;
  Scope scope_ = Scope::NewRoot();
  std::unique_ptr<Session> session_;
  std::vector<std::unique_ptr<Session::Callable>> steps_;
};

class SkewedLoad {
 public:
  static absl::StatusOr<std::unique_ptr<SkewedLoad>> Start(const std::string& weir, bool balanced) {
    auto load = std::unique_ptr<SkewedLoad>(new SkewedLoad);
    ASSIGN_OR_RETURN(load->network_, EmulatedNetwork::Create(1 + kWorkers + kServers));
    for (int server = 0; server < kServers; ++server) {
      RETURN_IF_ERROR(load->network_->Limit(HostOf("ps", server), kLink));
    }
    ProcessCluster::Options options{.program = weir, .jobs = {{"ps", kServers}, {"worker", kWorkers}}};
    options.flags = {"--insecure", "--no-shared-memory"};  // as between machines
    if (balanced) options.flags.push_back(absl::StrCat("--rebalance-every=", absl::ToInt64Seconds(kWindow)));
    options.place = [network = load->network_.get()](const std::string& job, int index) {
      return network->PlaceOf(HostOf(job, index));
    };
    ASSIGN_OR_RETURN(load->cluster_, ProcessCluster::Start(std::move(options)));
    for (int worker = 0; worker < kWorkers; ++worker) {
      ASSIGN_OR_RETURN(auto created, Worker::Create(load->cluster_->Target("worker", worker), worker, worker == 0));
      load->workers_.push_back(std::move(created));
    }
    if (balanced) RETURN_IF_ERROR(load->AwaitBalance());
    return load;
  }

  // Returns once `count` steps have ended.
  absl::Status Run(int count) {
    std::atomic<int> left{count};
    return Step([&left] { return left.fetch_sub(1) > 0; });
  }

 private:
  SkewedLoad() = default;

  // Steps on all streams while `go_on` says so.
  absl::Status Step(const std::function<bool()>& go_on) {
    Mutex mu;
    absl::Status status;
    std::vector<std::thread> streams;
    for (int stream = 0; stream < kWorkers * kStreams; ++stream) {
      streams.emplace_back([&, stream, seed = ++seed_] {
        std::mt19937 random(seed);
        std::vector<double> weights(kServers, 1.0);
        weights[0] = kSkew;
        std::discrete_distribution<int> servers(weights.begin(), weights.end());
        std::uniform_int_distribution<int> tables(0, kTablesPerServer - 1);
        absl::Status ended;
        while (ended.ok() && go_on()) {
          ended = workers_[stream % kWorkers]->Step(servers(random) * kTablesPerServer + tables(random));
        }
        MutexLock lock(mu);
        status.Update(ended);
      });
    }
    for (std::thread& stream : streams) stream.join();
    return status;
  }

  absl::Status AwaitBalance() {
    std::atomic<bool> stops{false};
    absl::Status stepped;
    std::thread steps([&] { stepped = Step([&] { return !stops; }); });
    const absl::Status balanced = AwaitQuiet();
    stops = true;
    steps.join();
    stepped.Update(balanced);
    return stepped;
  }
  // Until variables have moved, and none has for some windows.
  absl::Status AwaitQuiet() const {
    MembershipClient members(cluster_->spec().AddressOf("worker", 0).value());
    const absl::Time deadline = MonotonicNow() + kPatience;
    int64_t epoch = 0;
    absl::Time changed = MonotonicNow();
    while (MonotonicNow() < deadline) {
      ASSIGN_OR_RETURN(const ClusterView view, members.GetView({.deadline = deadline}));
      if (view.epoch() != epoch) {
        epoch = view.epoch();
        changed = MonotonicNow();
      }
      if (epoch > 0 && MonotonicNow() - changed > kQuietWindows * kWindow) {
        std::fprintf(stderr, "%d variables have moved\n", view.home_size());
        return absl::OkStatus();
      }
      absl::SleepFor(kWindow / 4);
    }
    return errors::DeadlineExceeded(epoch == 0 ? "no variable was moved: " : "variables still move: ",
                                    cluster_->Log("worker", 0));
  }

  std::unique_ptr<EmulatedNetwork> network_;
  std::unique_ptr<ProcessCluster> cluster_;
  std::vector<std::unique_ptr<Worker>> workers_;
  unsigned seed_ = 0;
};

absl::Status Measure(const std::string& weir, bool balanced) {
  ASSIGN_OR_RETURN(const auto load, SkewedLoad::Start(weir, balanced));
  const std::string error = AnswerOnDemand([&](int count) {
    const absl::Status status = load->Run(count);
    return status.ok() ? "" : status.ToString();
  });
  return error.empty() ? absl::OkStatus() : errors::Internal(error);
}

int Main(const std::vector<std::string>& arguments) {
  absl::Status status;
  if (arguments.size() > 3 && arguments[0] == "enter") {  // as EmulatedNetwork::PlaceOf starts it
    status = EnterNamespaceAndRun(std::stoi(arguments[1]), {arguments.begin() + 3, arguments.end()});
  } else if (arguments.size() == 2) {
    status = Measure(arguments[0], arguments[1] == "balanced");
  } else {
    status = errors::InvalidArgument("usage: weir_skew WEIR balanced|unbalanced");
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) { return weir::bench::Main({argv + 1, argv + argc}); }
