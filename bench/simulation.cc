#include "bench/simulation.h"

#include <algorithm>
#include <vector>

#include "distribute/collective/algorithms.h"
#include "distribute/collective/cost_model.h"
#include "distribute/collective/reduction.h"
#include "distribute/collective/schedule_run.h"
#include "distribute/collective/simulated_network.h"

namespace weir::bench {
namespace {

// Size of a simulated vector: enough for a thousand blocks in several lanes.
constexpr int64_t kElements = 32 << 10;

LinkCosts Slowed(LinkCosts costs, double factor) {
  for (double* cost :
       {&costs.within_host.seconds_per_byte, &costs.between_hosts.seconds_per_byte, &costs.consume_seconds_per_byte}) {
    *cost *= factor;
  }
  return costs;
}

absl::StatusOr<double> SimulatedAllReduce(Algorithm algorithm, int lanes, const Topology& topology) {
  SimulatedNetwork network(topology);
  const auto members = network.Group();
  const int size = topology.size();
  ASSIGN_OR_RETURN(const ReduceFunction add, ReduceFunctionFor(DT_FLOAT, Reduction::kAdd));
  const std::vector<float> input(kElements, 1);
  std::vector<std::vector<float>> outputs(size, std::vector<float>(kElements));
  absl::Status status;
  int finished = 0;
  for (int rank = 0; rank < size; ++rank) {
    const PlanRequest plan{.algorithm = algorithm, .rank = rank, .count = kElements, .lanes = lanes};
    ASSIGN_OR_RETURN(const auto run, ScheduleRun::Create({.communicator = members[rank],
                                                          .schedule = MakeSchedule(plan, topology),
                                                          .input = reinterpret_cast<const char*>(input.data()),
                                                          .output = reinterpret_cast<char*>(outputs[rank].data()),
                                                          .element_bytes = sizeof(float),
                                                          .reduce = add},
                                                         [&](const absl::Status& end) {
                                                           status.Update(end);
                                                           ++finished;
                                                         }));
    run->Start();
  }
  network.Run();
  RETURN_IF_ERROR(status);
  for (const std::vector<float>& output : outputs) {
    if (output.front() != static_cast<float>(size) || output.back() != static_cast<float>(size)) {
      return errors::Internal("a simulated all-reduce computed a wrong sum");
    }
  }
  if (finished != size) return errors::Internal("a simulated all-reduce did not finish");
  return network.now();
}

// Messages of one size; each sender sends its own in order, a limited number at a time.
class Messages {
 public:
  Messages(const SimulatedNetwork& network, int64_t bytes) : members_(network.Group()), bytes_(bytes) {}

  void Receive(int from, int to, int round, absl::AnyInvocable<void()> received) {
    members_[to]->Receive(
        from, {.round = round}, static_cast<int64_t>(bytes_.size()),
        [received = std::move(received)](const absl::StatusOr<ReceivedBytes>&) mutable { received(); });
  }
  // Sends to ranks [first, first + count), beginning with `start`.
  void SendToAll(int from, int first, int count, int start, int round, int at_a_time) {
    const auto sending = std::make_shared<Sending>(Sending{from, first, count, start, round});
    for (int i = 0; i < at_a_time; ++i) SendNext(sending);
  }

 private:
  struct Sending {
    int from, first, count, start, round;
    int next = 0;
  };
  void SendNext(const std::shared_ptr<Sending>& sending) {
    if (sending->next == sending->count) return;
    const int to = sending->first + (sending->start + sending->next++) % sending->count;
    members_[sending->from]->Send(to, {.round = sending->round}, bytes_,
                                  [this, sending](const absl::Status&) { SendNext(sending); });
  }

  const std::vector<std::shared_ptr<Communicator>> members_;
  const std::vector<char> bytes_;
};

// Workers first, then each server on its own host.
Topology WithServers(int workers, int per_host, int servers) {
  std::vector<int> host_of;
  for (int worker = 0; worker < workers; ++worker) host_of.push_back(worker / per_host);
  for (int server = 0; server < servers; ++server) host_of.push_back(workers + server);
  return Topology(host_of);
}

// Each host starts with a different server, and each server with a different host, to avoid contention.
double SimulatedParameterServers(int servers, double part, int workers, int per_host) {
  constexpr int kAtATime = 2;  // while one is consumed, the next one uses the link
  const Topology topology = WithServers(workers, per_host, servers);
  SimulatedNetwork network(topology);
  Messages messages(network, static_cast<int64_t>(part));
  std::vector<int> missing(servers, workers);
  for (int worker = 0; worker < workers; ++worker) {
    for (int server = 0; server < servers; ++server) {
      messages.Receive(worker, workers + server, 0, [&, server] {
        if (--missing[server] == 0)
          messages.SendToAll(workers + server, 0, workers, server * workers / servers, 1, kAtATime);
      });
      messages.Receive(workers + server, worker, 1, [] {});
    }
  }
  for (int worker = 0; worker < workers; ++worker)
    messages.SendToAll(worker, workers, servers, topology.host_of(worker), 0, per_host > 1 ? 1 : kAtATime);
  network.Run();
  return network.now();
}

// The link of a server, or of a host's workers, is busy in one direction, then in the other.
double PredictedParameterServers(int servers, double bytes, int workers, int per_host) {
  const LinkCosts costs;
  const double part = bytes / servers;
  const double busiest = std::max(workers * part, std::min(workers, per_host) * bytes);
  return 2 * (costs.between_hosts.latency + busiest * costs.between_hosts.seconds_per_byte +
              part * costs.consume_seconds_per_byte);
}

}  // namespace

Topology WorkersOnHosts(int workers, int per_host, LinkCosts costs) {
  std::vector<int> host_of;
  for (int worker = 0; worker < workers; ++worker) host_of.push_back(worker / per_host);
  return Topology(host_of, costs);
}

absl::StatusOr<ExchangeTime> AllReduceTime(Algorithm algorithm, double bytes, int workers, int per_host) {
  const AlgorithmChoice choice =
      BestLanes(CollectiveKind::kAllReduce, algorithm, bytes, WorkersOnHosts(workers, per_host));
  const LinkCosts costs = Slowed({}, bytes / (kElements * sizeof(float)));
  ASSIGN_OR_RETURN(const double simulated,
                   SimulatedAllReduce(algorithm, choice.lanes, WorkersOnHosts(workers, per_host, costs)));
  return ExchangeTime{.simulated = simulated, .predicted = choice.seconds};
}

ExchangeTime ParameterServerTime(int servers, double bytes, int workers, int per_host) {
  return {.simulated = SimulatedParameterServers(servers, bytes / servers, workers, per_host),
          .predicted = PredictedParameterServers(servers, bytes, workers, per_host)};
}

}  // namespace weir::bench
