#include <filesystem>
#include <future>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"
#include "distribute/cluster/emulated_network.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/measures.h"
#include "tests/cluster/wall_clock.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kBound = absl::Seconds(8), kPatience = absl::Seconds(90);
constexpr absl::Duration kBriefBound = absl::Seconds(40);  // in the short form, which runs beside other tests
constexpr int kVictims = 3;  // worker 0, which is the master, worker 1, and the parameter server

enum class Loss { kKilled, kStopped, kCutOff };

struct Case {
  Loss loss = Loss::kKilled;
  int victim = 0;
  bool in_step = false;  // a step waits in the victim; otherwise the step that follows is timed
  absl::Duration clock;  // by which the wall clocks of all tasks jump at the same time

  std::string ToString() const {
    static constexpr const char* kLosses[] = {"killed", "stopped", "cut off"};
    static constexpr const char* kVictimNames[] = {"the master", "worker 1", "ps 0"};
    return absl::StrCat(kVictimNames[victim], " is ", kLosses[static_cast<int>(loss)],
                        in_step ? " while a step waits there" : " between steps",
                        clock == absl::ZeroDuration() ? "" : absl::StrCat(", clock ", absl::FormatDuration(clock)));
  }
};

// A cluster that loses one task.
class Trial {
 public:
  Trial(const Settings& settings, std::string directory, const Case& what, EmulatedNetwork* network)
      : settings_(settings), directory_(std::move(directory)), case_(what), network_(network) {}

  // The time from the loss to an error that names the victim.
  absl::StatusOr<absl::Duration> Run() {
    std::filesystem::create_directories(directory_);
    ASSIGN_OR_RETURN(clock_, WallClock::Create(directory_ + "/clock"));
    ProcessCluster::Options options{.program = settings_.weir,
                                    .jobs = {{"worker", 2}, {"ps", 1}},
                                    .environment = clock_->Environment(),
                                    .directory = directory_};
    if (network_ != nullptr) {
      options.flags = {"--no-shared-memory", "--insecure"};
      options.place = [this](const std::string& job, int index) {
        return network_->PlaceOf(1 + (job == "worker" ? index : 2));
      };
    }
    ASSIGN_OR_RETURN(cluster_, ProcessCluster::Start(std::move(options)));
    Build();
    ASSIGN_OR_RETURN(session_, Session::Connect(cluster_->Target("worker", 0), scope_));
    for (int i = 0; i < 20; ++i) RETURN_IF_ERROR(Run(sum_));
    return Time();
  }

 private:
  // The sum is computed by all three tasks; `taken` waits in the victim.
  void Build() {
    const Scope master = scope_.WithDevice("/job:worker/task:0"), worker = scope_.WithDevice("/job:worker/task:1"),
                server = scope_.WithDevice("/job:ps/task:0");
    one_ = ops::Placeholder(master, DT_FLOAT, {.shape = TensorShape()});  // a constant would be folded
    sum_ = ops::Neg(master, ops::Neg(worker, ops::Neg(server, one_)));
    const Scope victim = case_.victim == 0 ? master : case_.victim == 1 ? worker : server;
    const Output queue = ops::FIFOQueueV2(victim, {DT_FLOAT}, {.shared_name = "empty"});
    taken_ = ops::Neg(master, ops::Neg(worker, ops::QueueDequeueV2(victim, queue, {DT_FLOAT})[0]));
  }

  absl::Status Run(const Output& fetch) { return session_->Run({{one_, Tensor::Scalar<float>(1)}}, {fetch}).status(); }

  absl::StatusOr<absl::Duration> Time() {
    std::future<absl::Status> step;
    const auto begin = [&](const Output& fetch) {
      step = std::async(std::launch::async, [this, fetch] { return Run(fetch); });
    };
    if (case_.in_step) {
      begin(taken_);
      // Steps that begin later and end show that the step has been sent.
      for (int i = 0; i < 20; ++i) RETURN_IF_ERROR(Run(sum_));
    }
    clock_->Set(case_.clock);
    RETURN_IF_ERROR(Lose());
    const absl::Time lost = MonotonicNow();
    if (!case_.in_step) begin(sum_);
    const bool ended = step.wait_for(absl::ToChronoSeconds(kPatience)) == std::future_status::ready;
    const absl::Duration duration = MonotonicNow() - lost;
    Return();
    const absl::Status status = step.get();
    if (!ended)
      return errors::DeadlineExceeded(case_.ToString(), ": no error within ", absl::FormatDuration(kPatience));
    const std::string name = VictimName();
    if (!absl::IsUnavailable(status) || !absl::StrContains(status.message(), name)) {
      return errors::Internal(case_.ToString(), ": the error is not UNAVAILABLE with '", name,
                              "': ", status.ToString());
    }
    if (case_.clock != absl::ZeroDuration() && !clock_->IsFollowed())
      return errors::Internal(case_.ToString(), ": no task follows the clock that was set");
    return duration;
  }

  std::pair<std::string, int> Victim() const {
    return {case_.victim == 2 ? "ps" : "worker", case_.victim == 1 ? 1 : 0};
  }
  // The client knows the master by its address.
  std::string VictimName() const {
    const auto [job, index] = Victim();
    if (case_.victim == 0) return *cluster_->spec().AddressOf(job, index);
    return absl::StrCat("/job:", job, "/replica:0/task:", index);
  }

  absl::Status Lose() {
    const auto [job, index] = Victim();
    if (case_.loss == Loss::kKilled) cluster_->Kill(job, index);
    if (case_.loss == Loss::kStopped) cluster_->Pause(job, index);
    if (case_.loss != Loss::kCutOff) return absl::OkStatus();
    const int host = 1 + case_.victim;
    RETURN_IF_ERROR(network_->Cut(host, EmulatedNetwork::kAny));
    return network_->Cut(EmulatedNetwork::kAny, host);
  }
  // So that a step that still waits ends.
  void Return() {
    const auto [job, index] = Victim();
    if (case_.loss == Loss::kCutOff) network_->Heal().IgnoreError();
    cluster_->Kill(job, index);
  }

  const Settings& settings_;
  const std::string directory_;
  const Case case_;
  EmulatedNetwork* const network_;
  std::unique_ptr<WallClock> clock_;
  std::unique_ptr<ProcessCluster> cluster_;
  Scope scope_ = Scope::NewRoot();
  Output one_, sum_, taken_;
  std::unique_ptr<Session> session_;
};

std::vector<Case> Cases(const std::vector<Loss>& losses) {
  std::vector<Case> cases;
  for (const Loss loss : losses) {
    for (int victim = 0; victim < kVictims; ++victim) {
      for (const bool in_step : {false, true}) {
        for (const absl::Duration clock : {absl::ZeroDuration(), absl::Hours(1), -absl::Hours(1)}) {
          cases.push_back({.loss = loss, .victim = victim, .in_step = in_step, .clock = clock});
        }
      }
    }
  }
  return cases;
}

// One case of each kind of loss.
std::vector<Case> FewCases(const std::vector<Loss>& losses, Dice& dice) {
  std::vector<Case> cases;
  for (const Loss loss : losses) cases.push_back(dice.Pick(Cases({loss})));
  return cases;
}

}  // namespace

absl::StatusOr<Verdict> MeasureCulprit(const Settings& settings) {
  const absl::Time start = MonotonicNow();
  std::vector<Loss> losses = {Loss::kKilled, Loss::kStopped};
  absl::StatusOr<std::unique_ptr<EmulatedNetwork>> network = EmulatedNetwork::Create(1 + kVictims);
  if (network.ok()) losses.push_back(Loss::kCutOff);
  if (!network.ok()) Explain(absl::StrCat("culprit: without cuts: ", network.status().message()));
  Dice dice(settings.seed, 0);
  const std::vector<Case> cases = settings.brief ? FewCases(losses, dice) : Cases(losses);
  const absl::Duration bound = settings.brief ? kBriefBound : kBound;
  std::vector<absl::Duration> times;
  std::string slowest;
  int64_t unnamed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    Trial trial(settings, absl::StrCat(settings.directory, "/culprit-", i), cases[i],
                cases[i].loss == Loss::kCutOff ? network->get() : nullptr);
    const absl::StatusOr<absl::Duration> time = trial.Run();
    if (!time.ok()) {
      ++unnamed;
      Explain(absl::StrCat("culprit: ", time.status().ToString()));
      continue;
    }
    times.push_back(*time);
    if (*time == Largest(times)) slowest = cases[i].ToString();
    if (*time > bound) Explain(absl::StrCat("culprit: ", Seconds(*time), ": ", cases[i].ToString()));
  }
  const bool ok = unnamed == 0 && !times.empty() && Largest(times) <= bound;
  return Print({.measure = "culprit",
                .runs = absl::StrCat(cases.size(), " losses", network.ok() ? "" : " (no cuts: needs root)", ", ",
                                     Seconds(MonotonicNow() - start)),
                .figure = times.empty() ? absl::StrCat(unnamed, " not named")
                                        : absl::StrCat("at most ", Seconds(Largest(times)), " (", slowest, "), median ",
                                                       Seconds(Median(times)), ", ", unnamed, " not named"),
                .bound = absl::StrCat(Seconds(bound), ", 0"),
                .ok = ok});
}

}  // namespace weir::chaos
