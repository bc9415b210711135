#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/membership/membership_client.h"
#include "tests/chaos/await.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/job.h"
#include "tests/chaos/job_run.h"
#include "tests/chaos/ledger.h"
#include "tests/chaos/measures.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kKillBound = absl::Seconds(1), kStopBound = absl::Seconds(5);
constexpr absl::Duration kBriefBound = absl::Seconds(20);  // beside other tests
constexpr int64_t kSteps = 20;                             // of each client between two events

// Clients of two masters step on two servers that stand by for each other.
class StandbyCluster {
 public:
  explicit StandbyCluster(const Settings& settings) : settings_(settings), dice_(settings.seed, 0) {}

  absl::StatusOr<Verdict> Measure(int64_t rounds) {
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(cluster_, JobCluster::Start(settings_.weir, settings_.directory, nullptr, {"--standbys", "1"}));
    members_ = std::make_unique<MembershipClient>(cluster_->tasks().spec().AddressOf("master", 0).value());
    for (const std::string& target : {cluster_->target(), cluster_->tasks().Target("worker", 0)}) {
      const auto number = static_cast<int>(clients_.size());
      ASSIGN_OR_RETURN(clients_.emplace_back(),
                       LedgerClient::Start({.target = target, .client = number, .worker = number}));
    }
    for (int64_t round = 0; round < rounds; ++round) RETURN_IF_ERROR(Round(/*kills=*/round % 3 != 2));
    LedgerCount total;
    for (const auto& client : clients_) {
      ASSIGN_OR_RETURN(const LedgerCount count, client->Finish());
      total += count;
    }
    Verdict verdict =
        Print({.measure = "fail-over: ledger",
               .runs = absl::StrCat(rounds, " rounds, ", total.steps, " steps, ", kills_.size(), " servers killed, ",
                                    stops_.size(), " stopped, ", Seconds(MonotonicNow() - start)),
               .figure = absl::StrCat(total.ToString(), "; ", total.failed, " steps without results"),
               .bound = "0",
               .ok = total.IsClean()});
    verdict = Worse(verdict,
                    PrintPauses("fail-over: pause after SIGKILL", kills_, settings_.brief ? kBriefBound : kKillBound));
    return Worse(verdict,
                 PrintPauses("fail-over: pause after SIGSTOP", stops_, settings_.brief ? kBriefBound : kStopBound));
  }

 private:
  // A server is killed or stopped until the other has taken over from it, or goes on alone; then it returns and stands
  // by. After the first round, one server has the state of both.
  absl::Status Round(bool kills) {
    RETURN_IF_ERROR(AwaitTrue("servers have no standbys", kPatience, [&] { return NumStandbys() > 0; }));
    RETURN_IF_ERROR(AwaitSteps());
    TakeLongestPause();
    const int server = static_cast<int>(dice_.Below(kServers));
    kills ? static_cast<void>(cluster_->tasks().Kill("ps", server)) : cluster_->tasks().Pause("ps", server);
    RETURN_IF_ERROR(AwaitSteps());
    (kills ? kills_ : stops_).push_back(TakeLongestPause());
    if (!kills) {
      cluster_->tasks().Resume("ps", server);
    } else {
      RETURN_IF_ERROR(cluster_->tasks().Restart("ps", server));
    }
    return AwaitSteps();
  }

  int NumStandbys() const {
    const auto view = members_->GetView({.deadline = MonotonicNow() + kPatience});
    return view.ok() ? view->standby_size() : 0;
  }
  absl::Status AwaitSteps() const {
    for (const auto& client : clients_) RETURN_IF_ERROR(chaos::AwaitSteps(*client, kSteps, kPatience));
    return absl::OkStatus();
  }
  absl::Duration TakeLongestPause() { return chaos::TakeLongestPause(clients_); }

  const Settings& settings_;
  Dice dice_;
  std::unique_ptr<JobCluster> cluster_;
  std::unique_ptr<MembershipClient> members_;
  std::vector<std::unique_ptr<LedgerClient>> clients_;
  std::vector<absl::Duration> kills_, stops_;
};

}  // namespace

absl::StatusOr<Verdict> MeasureFailOver(const Settings& settings) {
  return StandbyCluster(settings).Measure(settings.runs > 0 ? settings.runs : settings.brief ? 6 : 100);
}

}  // namespace weir::chaos
