#include <csignal>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/cluster/joined_server.h"
#include "tests/chaos/deal_client.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/job_run.h"
#include "tests/chaos/measures.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(120), kLook = absl::Milliseconds(2);
constexpr int64_t kSteps = DealtModel::kEpochs * (DealtModel::kExamples / DealtModel::kChunk) *
                           ((DealtModel::kChunk + DealtModel::kBatch - 1) / DealtModel::kBatch);

struct DealCount {
  int64_t steps = 0, failed = 0, refused = 0, killed = 0, stopped = 0, left = 0;
  int64_t unseen = 0, twice = 0, wrong_sums = 0;
};

// One training: two workers, two more that join, and then fewer, until one is left, which sees the end of the input.
class DealtTraining {
 public:
  DealtTraining(const Settings& settings, std::string directory, int64_t round, DealCount* count)
      : settings_(settings),
        directory_(std::move(directory)),
        dice_(settings.seed, static_cast<uint64_t>(round)),
        count_(count) {}

  absl::Status Run() {
    std::filesystem::create_directories(directory_);
    ASSIGN_OR_RETURN(cluster_, JobCluster::Start(settings_.weir, directory_));
    RETURN_IF_ERROR(model_scope_.status());
    ASSIGN_OR_RETURN(session_, Session::Connect(cluster_->target(), model_scope_));
    RETURN_IF_ERROR(session_->RunTargets({initialize_}));
    for (int i = 0; i < kWorkers; ++i) {
      Member& member = members_.emplace_back();
      RETURN_IF_ERROR(Start(member, i, cluster_->tasks().Target("worker", i)));
    }
    RETURN_IF_ERROR(AwaitShare(0.1));
    for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(Join(i));
    RETURN_IF_ERROR(AwaitShare(0.3));
    Stop(Any());
    // One stays to the end; which one is a matter of chance.
    const size_t last = static_cast<size_t>(dice_.Below(static_cast<int64_t>(members_.size())));
    double share = 0.3;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (i == last) continue;
      share += 0.15;
      RETURN_IF_ERROR(AwaitShare(share));
      if (dice_.Below(2) == 0) Stop(Any());
      RETURN_IF_ERROR(End(members_[i]));
    }
    Member& survivor = members_[last];
    RETURN_IF_ERROR(
        AwaitTrue("the last worker does not see the end of the input", [&] { return survivor.client->has_ended(); }));
    return Check();
  }

 private:
  struct Member {
    int index = 0;
    std::unique_ptr<JoinedServer> joined;  // null: of the cluster definition
    std::unique_ptr<DealClient> client;
    bool is_stopped = false, has_gone = false;
    absl::Time resumes = absl::InfiniteFuture();
  };

  // Half of the workers are masters of their own steps, and are stopped with them.
  absl::Status Start(Member& member, int index, const std::string& own_target) {
    member.index = index;
    const std::string target = dice_.Below(2) == 0 ? own_target : cluster_->target();
    ASSIGN_OR_RETURN(member.client,
                     DealClient::Start({.target = target, .worker = index, .name = absl::StrCat("worker-", index)}));
    return absl::OkStatus();
  }

  absl::Status Join(int i) {
    Member member;
    ASSIGN_OR_RETURN(member.joined, JoinedServer::Start({.program = settings_.weir,
                                                         .job = "worker",
                                                         .target = cluster_->tasks().Target("ps", 0),
                                                         .flags = {"--deterministic"},
                                                         .directory = directory_,
                                                         .name = absl::StrCat("joined-", i)}));
    RETURN_IF_ERROR(Start(member, kWorkers + i, absl::StrCat("grpc://", member.joined->address())));
    members_.push_back(std::move(member));
    return absl::OkStatus();
  }

  Member& Any() { return members_[static_cast<size_t>(dice_.Below(static_cast<int64_t>(members_.size())))]; }

  // Past its lease, for a time in which its steps may or may not fail.
  void Stop(Member& member) {
    if (member.is_stopped || member.has_gone) return;
    ++count_->stopped;
    member.is_stopped = true;
    member.resumes = MonotonicNow() + absl::Seconds(1) + dice_.Time(absl::Seconds(3));
    if (member.joined != nullptr) {
      member.joined->process().Signal(SIGSTOP);
    } else {
      cluster_->tasks().Pause("worker", member.index);
    }
  }
  void ResumeDue() {
    for (Member& member : members_) {
      if (!member.is_stopped || member.has_gone || MonotonicNow() < member.resumes) continue;
      member.is_stopped = false;
      if (member.joined != nullptr) {
        member.joined->process().Signal(SIGCONT);
      } else {
        cluster_->tasks().Resume("worker", member.index);
      }
    }
  }

  // By SIGKILL, or by SIGTERM if it had joined and runs.
  absl::Status End(Member& member) {
    member.has_gone = true;
    member.client->WorkerHasGone();
    if (member.joined == nullptr) {
      ++count_->killed;
      cluster_->tasks().Kill("worker", member.index);
    } else if (member.is_stopped || dice_.Below(2) == 0) {
      ++count_->killed;
      member.joined->process().Kill();
    } else {
      ++count_->left;
      RETURN_IF_ERROR(member.joined->process().Terminate(kPatience).status());
    }
    return absl::OkStatus();
  }

  int64_t Steps() const {
    int64_t steps = 0;
    for (const Member& member : members_) steps += member.client->steps();
    return steps;
  }
  absl::Status AwaitShare(double share) {
    return AwaitTrue(absl::StrCat("the workers do not make ", share, " of the steps"),
                     [&] { return static_cast<double>(Steps()) >= share * kSteps; });
  }
  absl::Status AwaitTrue(const std::string& error, absl::FunctionRef<bool()> condition) {
    for (const absl::Time deadline = MonotonicNow() + kPatience; !condition(); absl::SleepFor(kLook)) {
      ResumeDue();
      if (MonotonicNow() > deadline) return errors::Internal(error, State());
    }
    return absl::OkStatus();
  }
  std::string State() const {
    std::string text;
    for (const Member& member : members_) {
      absl::StrAppend(&text, "; worker ", member.index, ": ", member.client->steps(), " steps, ",
                      member.client->failures(), " failures", member.is_stopped ? ", stopped" : "",
                      member.has_gone ? ", gone" : "");
    }
    return text;
  }

  absl::Status Check() {
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, session_->Run(fetches_));
    for (int64_t i = 0; i < values[0].NumElements(); ++i) {
      const int64_t times = values[0].data<int64_t>()[i];
      if (times == 1) continue;
      ++(times == 0 ? count_->unseen : count_->twice);
      Explain(absl::StrCat("deal: example ", i % DealtModel::kExamples, " of epoch ", i / DealtModel::kExamples,
                           " was used ", times, " times; files in ", directory_));
    }
    constexpr int64_t kSum = DealtModel::kEpochs * DealtModel::kExamples * (DealtModel::kExamples - 1) / 2;
    if (values[1].scalar<int64_t>() != kSum) {
      ++count_->wrong_sums;
      Explain(absl::StrCat("deal: the sum of the examples is ", values[1].scalar<int64_t>(), ", not ", kSum));
    }
    for (Member& member : members_) {
      count_->steps += member.client->steps();
      count_->failed += member.client->failures();
      count_->refused += member.client->refused();
    }
    return absl::OkStatus();
  }

  const Settings& settings_;
  const std::string directory_;
  Dice dice_;
  DealCount* const count_;
  std::unique_ptr<JobCluster> cluster_;
  const Scope model_scope_ = Scope::NewRoot();
  const DealtModel model_{model_scope_};
  const Operation initialize_ = InitializeAll(model_scope_);
  const std::vector<Output> fetches_ = {model_.counts.value(), model_.sum.value()};
  std::unique_ptr<Session> session_;
  std::vector<Member> members_;  // their clients end before the cluster
};

}  // namespace

absl::StatusOr<Verdict> MeasureDeal(const Settings& settings) {
  const int64_t rounds = settings.runs > 0 ? settings.runs : settings.brief ? 2 : 50;
  const absl::Time start = MonotonicNow();
  DealCount count;
  for (int64_t round = 0; round < rounds; ++round) {
    const std::string directory = absl::StrCat(settings.directory, "/deal-", round);
    const DealCount before = count;
    RETURN_IF_ERROR(DealtTraining(settings, directory, round, &count).Run());
    const bool clean = count.unseen == before.unseen && count.twice == before.twice;
    if (clean) std::filesystem::remove_all(directory);
  }
  const int64_t examples = rounds * DealtModel::kEpochs * DealtModel::kExamples;
  return Print({.measure = "deal",
                .runs = absl::StrCat(rounds, " rounds, ", examples, " examples, ", count.steps, " steps, ",
                                     count.killed, " killed, ", count.stopped, " stopped, ", count.left, " left, ",
                                     Seconds(MonotonicNow() - start)),
                .figure = absl::StrCat(count.unseen, " unseen, ", count.twice, " seen twice, ", count.wrong_sums,
                                       " wrong sums; ", count.failed, " steps failed, ", count.refused, " refused"),
                .bound = "0, 0, 0",
                .ok = count.unseen + count.twice + count.wrong_sums == 0});
}

}  // namespace weir::chaos
