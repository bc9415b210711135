#include <algorithm>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/state_moves/cluster_state.h"
#include "core/clock.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/cluster/joined_server.h"
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
constexpr absl::Duration kJoinBound = absl::Milliseconds(200), kLeaveBound = absl::Milliseconds(300),
                         kMoveBound = absl::Milliseconds(20);
constexpr absl::Duration kBriefBound = absl::Seconds(5);  // beside other tests
constexpr int64_t kSteps = 20;                            // of each client between two events

// Clients step on the workers of the cluster definition and on those that have joined. Their ledgers move to servers
// that join, and away before these leave.
class ElasticCluster {
 public:
  explicit ElasticCluster(const Settings& settings) : settings_(settings), dice_(settings.seed, 0) {}

  absl::StatusOr<Verdict> Measure(int64_t rounds) {
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(cluster_,
                     JobCluster::Start(settings_.weir, settings_.directory, nullptr, {"--member-lease", "2s"}));
    members_ = std::make_unique<MembershipClient>(cluster_->tasks().spec().AddressOf("master", 0).value());
    for (int worker = 0; worker < kWorkers; ++worker) {
      ASSIGN_OR_RETURN(lasting_.emplace_back(), Client(worker));
    }
    // The first steps prepare their graphs.
    RETURN_IF_ERROR(AwaitSteps());
    TakeLongestPause();
    for (int64_t round = 0; round < rounds; ++round) RETURN_IF_ERROR(Round(round));
    int64_t failures = 0;
    for (const auto& client : lasting_) {
      failures += client->failures();
      ASSIGN_OR_RETURN(const LedgerCount count, client->Finish());
      total_ += count;
    }
    Verdict verdict =
        Print({.measure = "join: ledger",
               .runs = absl::StrCat(rounds, " rounds, ", total_.steps, " steps, ", killed_, " killed, ", stopped_,
                                    " stopped, ", Seconds(MonotonicNow() - start)),
               .figure = absl::StrCat(total_.ToString(), "; ", failures, " failed on workers that stayed"),
               .bound = "0",
               .ok = total_.IsClean() && failures == 0});
    verdict = Worse(verdict, PrintPauses("join: pause at a join", joins_, settings_.brief ? kBriefBound : kJoinBound));
    verdict =
        Worse(verdict, PrintPauses("join: pause at a leave", leaves_, settings_.brief ? kBriefBound : kLeaveBound));
    return Worse(verdict,
                 PrintPauses("join: pause while variables move", moves_, settings_.brief ? kBriefBound : kMoveBound));
  }

 private:
  struct Member {
    std::unique_ptr<JoinedServer> server;
    std::unique_ptr<LedgerClient> client;
  };

  absl::StatusOr<std::unique_ptr<LedgerClient>> Client(int worker) {
    return LedgerClient::Start({.target = cluster_->target(), .client = num_clients_++, .worker = worker});
  }

  // A server joins and takes its share; one or two workers join, and then leave one after the other, by SIGTERM or
  // SIGKILL; the server hands over and leaves.
  absl::Status Round(int64_t round) {
    RETURN_IF_ERROR(AwaitSteps());
    TakeLongestPause();
    ASSIGN_OR_RETURN(const auto server, JoinedServer::Start({.program = settings_.weir,
                                                             .job = "ps",
                                                             .target = cluster_->tasks().Target("worker", 0),
                                                             .flags = {"--deterministic"},
                                                             .directory = settings_.directory,
                                                             .name = absl::StrCat("joined-server-", round)}));
    RETURN_IF_ERROR(
        AwaitTrue("a server that joined takes no share", kPatience, [&] { return NumGroupsOnJoinedServer() > 1; }));
    RETURN_IF_ERROR(AwaitSteps());
    moves_.push_back(TakeLongestPause());
    RETURN_IF_ERROR(WorkersComeAndGo(round));
    TakeLongestPause();
    ASSIGN_OR_RETURN(const int code, server->process().Terminate(kPatience));
    if (code != 0) return errors::Internal("a joined server ended with ", code);
    if (NumGroupsOnJoinedServer() > 0) return errors::Internal("a server left without handing over its variables");
    RETURN_IF_ERROR(AwaitSteps());
    moves_.push_back(TakeLongestPause());
    return absl::OkStatus();
  }

  int64_t NumGroupsOnJoinedServer() const {
    const absl::StatusOr<ClusterState> state = LookAtCluster(cluster_->tasks().spec().AddressOf("master", 0).value());
    if (!state.ok()) return 0;
    const std::string joined = TaskName("ps", kServers);
    return std::count_if(state->groups.begin(), state->groups.end(),
                         [&](const VariableGroup& group) { return group.task == joined; });
  }

  absl::Status WorkersComeAndGo(int64_t round) {
    std::vector<Member> members;
    const int64_t count = dice_.Between(1, 2);
    for (int64_t i = 0; i < count; ++i) {
      Member& member = members.emplace_back();
      ASSIGN_OR_RETURN(
          member.server,
          JoinedServer::Start({.program = settings_.weir,
                               .job = "worker",
                               .target = cluster_->tasks().Target("ps", static_cast<int>(dice_.Below(kServers))),
                               .flags = {"--deterministic"},
                               .directory = settings_.directory,
                               .name = absl::StrCat("joined-", round, "-", i)}));
      RETURN_IF_ERROR(AwaitSteps());
      joins_.push_back(TakeLongestPause());
      ASSIGN_OR_RETURN(member.client, Client(kWorkers + static_cast<int>(i)));
    }
    for (Member& member : members) RETURN_IF_ERROR(AwaitSteps(*member.client));
    TakeLongestPause();
    // The last first, so that the next to join gets its index again.
    for (auto member = members.rbegin(); member != members.rend(); ++member) RETURN_IF_ERROR(End(*member));
    return absl::OkStatus();
  }

  absl::Status End(Member& member) {
    if (dice_.Below(2) == 0) {
      ++killed_;
      member.server->process().Kill();
    } else {
      ++stopped_;
      ASSIGN_OR_RETURN(const int code, member.server->process().Terminate(kPatience));
      if (code != 0) return errors::Internal("a joined server ended with ", code);
    }
    RETURN_IF_ERROR(
        AwaitTrue("a client goes on without its worker", kPatience, [&] { return member.client->failures() > 0; }));
    RETURN_IF_ERROR(AwaitSteps());
    leaves_.push_back(TakeLongestPause());
    ASSIGN_OR_RETURN(const LedgerCount count, member.client->Finish());
    total_ += count;
    // One that was killed is removed when its lease is over.
    return AwaitTrue("a worker that ended is still a member", kPatience,
                     [&] { return !IsMember(member.server->address()); });
  }

  bool IsMember(const std::string& address) {
    const auto view = members_->GetView({.deadline = MonotonicNow() + kPatience});
    return !view.ok() || std::any_of(view->member().begin(), view->member().end(),
                                     [&](const auto& member) { return member.address() == address; });
  }
  absl::Status AwaitSteps() const {
    for (const auto& client : lasting_) RETURN_IF_ERROR(AwaitSteps(*client));
    return absl::OkStatus();
  }
  static absl::Status AwaitSteps(const LedgerClient& client) { return chaos::AwaitSteps(client, kSteps, kPatience); }
  absl::Duration TakeLongestPause() { return chaos::TakeLongestPause(lasting_); }

  const Settings& settings_;
  Dice dice_;
  std::unique_ptr<JobCluster> cluster_;
  std::unique_ptr<MembershipClient> members_;
  std::vector<std::unique_ptr<LedgerClient>> lasting_;
  int num_clients_ = 0;
  int64_t killed_ = 0, stopped_ = 0;
  LedgerCount total_;
  std::vector<absl::Duration> joins_, leaves_, moves_;
};

}  // namespace

absl::StatusOr<Verdict> MeasureJoin(const Settings& settings) {
  return ElasticCluster(settings).Measure(settings.runs > 0 ? settings.runs : settings.brief ? 3 : 50);
}

}  // namespace weir::chaos
