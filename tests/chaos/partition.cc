#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/cluster/emulated_network.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/ledger.h"
#include "tests/chaos/measures.h"
#include "tests/chaos/report.h"

namespace weir::chaos {
namespace {

constexpr int kServers = 2, kWorkers = 2, kClients = 4;
constexpr absl::Duration kPatience = absl::Minutes(2), kLook = absl::Milliseconds(5);
constexpr absl::Duration kLargestPause = absl::Milliseconds(300);  // of steps between two faults

// Host 0 is the clients'; the tasks follow.
int HostOf(const std::string& job, int index) { return 1 + (job == "ps" ? index : kServers + index); }

class Partitions {
 public:
  Partitions(const Settings& settings, std::unique_ptr<EmulatedNetwork> network)
      : settings_(settings), network_(std::move(network)), dice_(settings.seed, 0) {}

  absl::StatusOr<Verdict> Measure() {
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(
        cluster_,
        ProcessCluster::Start({
            .program = settings_.weir,
            .jobs = jobs_,
            // Hosts of their own share no memory.
            .flags = {"--no-shared-memory", "--insecure"},
            .directory = settings_.directory,
            .place = [this](const std::string& job, int index) { return network_->PlaceOf(HostOf(job, index)); },
        }));
    for (int i = 0; i < kClients; ++i) {
      ASSIGN_OR_RETURN(clients_.emplace_back(), LedgerClient::Start({.target = cluster_->Target("worker", i % kWorkers),
                                                                     .client = i,
                                                                     .worker = (i + i / kWorkers) % kWorkers}));
    }
    RETURN_IF_ERROR(settings_.brief ? DisturbBriefly() : DisturbAtLength());
    LedgerCount count;
    for (const auto& client : clients_) {
      ASSIGN_OR_RETURN(const LedgerCount one, client->Finish());
      count += one;
    }
    return Print({.measure = "partition",
                  .runs = absl::StrCat(cuts_, " cuts, ", stops_, " stops, ", count.steps, " steps, ", count.failed,
                                       " failed, ", Seconds(MonotonicNow() - start)),
                  .figure = absl::StrCat(count.ToString(), "; back after at most ", Seconds(slowest_)),
                  .bound = "all 0",
                  .ok = count.IsClean()});
  }

 private:
  using Link = std::pair<int, int>;  // from, to

  absl::Status DisturbBriefly() {
    const int server = HostOf("ps", static_cast<int>(dice_.Below(kServers)));
    RETURN_IF_ERROR(CutFor({{server, EmulatedNetwork::kAny}}, absl::Seconds(3)));
    return StopUntilFailure("ps", static_cast<int>(dice_.Below(kServers)));
  }

  absl::Status DisturbAtLength() {
    for (const absl::Duration duration : {absl::Seconds(5), absl::Seconds(60)}) {
      for (int host = 1; host <= kServers + kWorkers; ++host) {
        RETURN_IF_ERROR(CutFor({{host, EmulatedNetwork::kAny}}, duration));
        RETURN_IF_ERROR(CutFor({{EmulatedNetwork::kAny, host}}, duration));
        RETURN_IF_ERROR(CutFor({{host, EmulatedNetwork::kAny}, {EmulatedNetwork::kAny, host}}, duration));
      }
      // Tasks that the master reaches but that cannot reach each other.
      const int first = HostOf("ps", 0), second = HostOf("ps", 1), worker = HostOf("worker", 1);
      for (const Link& link : {Link{first, second}, Link{second, first}, Link{worker, second}, Link{first, worker}}) {
        RETURN_IF_ERROR(CutFor({link}, duration));
      }
    }
    for (const auto& [job, count] : jobs_) {
      for (int index = 0; index < count; ++index) RETURN_IF_ERROR(StopUntilFailure(job, index));
    }
    return absl::OkStatus();
  }

  absl::Status CutFor(const std::vector<Link>& links, absl::Duration duration) {
    absl::SleepFor(dice_.Time(kLargestPause));
    for (const auto& [from, to] : links) RETURN_IF_ERROR(network_->Cut(from, to));
    ++cuts_;
    absl::SleepFor(duration);
    RETURN_IF_ERROR(network_->Heal());
    return AwaitSteps();
  }

  absl::Status StopUntilFailure(const std::string& job, int index) {
    absl::SleepFor(dice_.Time(kLargestPause));
    const int64_t before = Failures();
    cluster_->Pause(job, index);
    ++stops_;
    const absl::Status failed = Await([&] { return Failures() > before; },
                                      absl::StrCat("no step fails while /job:", job, "/task:", index, " is stopped"));
    cluster_->Resume(job, index);
    RETURN_IF_ERROR(failed);
    return AwaitSteps();
  }

  int64_t Failures() const {
    int64_t sum = 0;
    for (const auto& client : clients_) sum += client->failures();
    return sum;
  }

  // Until each client has made a step.
  absl::Status AwaitSteps() {
    const absl::Time healed = MonotonicNow();
    std::vector<int64_t> before;
    for (const auto& client : clients_) before.push_back(client->steps());
    for (size_t i = 0; i < clients_.size(); ++i) {
      // The step that was running at first may have been made before.
      RETURN_IF_ERROR(
          Await([&] { return clients_[i]->steps() > before[i] + 1; }, absl::StrCat("client ", i, " makes no step")));
    }
    slowest_ = std::max(slowest_, MonotonicNow() - healed);
    return absl::OkStatus();
  }

  static absl::Status Await(const std::function<bool()>& happened, const std::string& complaint) {
    for (const absl::Time end = MonotonicNow() + kPatience; !happened(); absl::SleepFor(kLook)) {
      if (MonotonicNow() > end) return errors::DeadlineExceeded(complaint, " within ", absl::FormatDuration(kPatience));
    }
    return absl::OkStatus();
  }

  const Settings& settings_;
  const std::unique_ptr<EmulatedNetwork> network_;
  const std::map<std::string, int> jobs_ = {{"ps", kServers}, {"worker", kWorkers}};
  Dice dice_;
  std::unique_ptr<ProcessCluster> cluster_;
  std::vector<std::unique_ptr<LedgerClient>> clients_;
  int cuts_ = 0, stops_ = 0;
  absl::Duration slowest_;
};

}  // namespace

absl::StatusOr<Verdict> MeasurePartition(const Settings& settings) {
  absl::StatusOr<std::unique_ptr<EmulatedNetwork>> network = EmulatedNetwork::Create(1 + kServers + kWorkers);
  if (absl::IsFailedPrecondition(network.status())) return Skip("partition", network.status());
  RETURN_IF_ERROR(network.status());
  return Partitions(settings, *std::move(network)).Measure();
}

}  // namespace weir::chaos
