// Trains a classifier of handwritten digits.
//   digits --data digits.csv                         in this process
//   digits --data digits.csv --target grpc://…       on a cluster with jobs ps and worker
//   digits --data digits.csv --demo --weir weir      starts that cluster, and kills three of its tasks on the way

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "examples/digits/report_hook.h"
#include "weir/core/clock.h"
#include "weir/core/device/cpu_info.h"
#include "weir/distribute/cluster/process_cluster.h"
#include "weir/session.h"
#include "weir/training_loop.h"

namespace weir::digits {
namespace {

struct Flags {
  std::string data, weir, target, directory, mixed_precision;
  bool demo = false;
  int ps = 2, workers = 2;
  int64_t steps = 600;
  int batch = 64;  // a worker
  int64_t checkpoint_steps = 25;
};

// Tasks are killed between checkpoints, so that some steps are lost and repeated.
constexpr int64_t kOffCheckpoint = 12;

// The grace period for tasks to end.
constexpr absl::Duration kStopPatience = absl::Seconds(3);

// The signal that interrupted this program; the loop then ends after the current step.
std::atomic<int> interrupted{0};

class StopOnSignalHook : public TrainingHook {
  absl::StatusOr<bool> AfterStep(Session&, const StepReport&) override { return interrupted != 0; }
  absl::Status Begin(Session&, int64_t) override { return absl::OkStatus(); }
};

absl::StatusOr<std::string> MakeDirectory() {
  const char* base = getenv("TMPDIR");
  std::string pattern = absl::StrCat(base != nullptr ? base : "/tmp", "/weir-digits-XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) return errors::Unavailable("Cannot make a directory like ", pattern);
  return pattern;
}

constexpr char kBfloat16[] = "bfloat16", kFloat16[] = "float16";

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const std::string& target, const std::string& mixed_precision,
                                                     const Scope& scope) {
  std::string rewrite;
  if (mixed_precision == kBfloat16) rewrite = "auto_mixed_precision_onednn_bfloat16: ON";
  if (mixed_precision == kFloat16) rewrite = "auto_mixed_precision: ON auto_mixed_precision_cpu: ON";
  SessionOptions options;
  RETURN_IF_ERROR(options.config.MergeText(absl::StrCat("graph_options { rewrite_options { ", rewrite, " } }")));
  if (target.empty()) return Session::Local(scope, options);
  return Session::Connect(target, scope, options);
}

FeedList StepFeeds(const Model& model, const Dataset& data, const Flags& flags, int64_t step) {
  FeedList feeds;
  const int replicas = static_cast<int>(model.images.size());
  for (int i = 0; i < replicas; ++i) {
    Batch batch = data.TrainingBatch(step, i, replicas, flags.batch);
    feeds.emplace_back(model.images[i], std::move(batch.images));
    feeds.emplace_back(model.labels[i], std::move(batch.labels));
  }
  return feeds;
}

std::shared_ptr<TrainingHook> KillAt(int64_t step, ProcessCluster* cluster, const std::string& job, int index,
                                     const std::string& role) {
  return std::make_shared<OnceAtStepHook>(step, [=](int64_t at) {
    const pid_t pid = cluster->Kill(job, index);
    absl::PrintF("\n>>> Step %d: SIGKILL to /job:%s/task:%d, %s (process %d).\n", at, job, index, role, pid);
    std::fflush(stdout);
  });
}

absl::Status Train(const Flags& flags, const std::string& target, ProcessCluster* cluster) {
  ASSIGN_OR_RETURN(Dataset data, Dataset::Load(flags.data));
  Scope scope = Scope::NewRoot();
  const bool distributed = !target.empty();
  const Model model = BuildModel(scope, {.workers = distributed ? flags.workers : 0,
                                         .ps = distributed ? flags.ps : 0,
                                         .scale_loss = flags.mixed_precision == kFloat16});

  const int64_t examples = static_cast<int64_t>(model.images.size()) * flags.batch;
  auto report = std::make_shared<ReportHook>(flags.steps, examples);
  TrainingLoopOptions options;
  options.train = model.train;
  options.global_step = model.global_step;
  options.fetches = {model.loss};
  options.feeds = [&](int64_t step) -> absl::StatusOr<FeedList> {
    if (interrupted != 0) return errors::Internal("interrupted");
    return StepFeeds(model, data, flags, step);
  };
  options.hooks = {report, NanHook(0), StopAtStepHook(flags.steps), std::make_shared<StopOnSignalHook>()};
  if (cluster != nullptr) {
    const auto kill_at = [&](int64_t fifths, const std::string& job, int index, const std::string& role) {
      options.hooks.push_back(KillAt(flags.steps * fifths / 5 + kOffCheckpoint, cluster, job, index, role));
    };
    kill_at(2, "worker", flags.workers - 1, "a worker");
    kill_at(3, "ps", flags.ps - 1, "a parameter server");
    kill_at(4, "worker", 0, "the master and a worker");
  }
  options.checkpoint_dir = flags.directory + "/checkpoints";
  options.checkpoint_steps = flags.checkpoint_steps;
  TrainingLoop loop(scope, options);
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, MakeSession(target, flags.mixed_precision, scope));
  ASSIGN_OR_RETURN(int64_t reached, loop.Run(*session));
  const double rate = report->examples_per_second();

  const Batch test = data.TestSet();
  ASSIGN_OR_RETURN(
      std::vector<Tensor> result,
      session->Run({{model.test_images, test.images}, {model.test_labels, test.labels}}, {model.accuracy}));
  const double accuracy = result[0].scalar<float>();
  absl::PrintF("\nTrained %d steps, %.0f examples/s with recoveries.\n", reached, rate);
  for (const RecoveryReport& recovery : report->recoveries()) {
    absl::PrintF("Recovery: failed at step %d, back at step %d after %.2f s.\n", recovery.failed_at + 1,
                 recovery.resumed_at + 1, absl::ToDoubleSeconds(recovery.duration));
  }
  absl::PrintF("Test accuracy: %.2f %% of %d images.\n", accuracy * 100, test.labels.NumElements());
  absl::PrintF("Checkpoints: %s\n", options.checkpoint_dir);
  if (cluster != nullptr) absl::PrintF("Logs: %s/*.log\n", flags.directory);
  RETURN_IF_ERROR(session->Close());
  if (cluster != nullptr && interrupted == 0 && report->recoveries().size() < 3) {
    return errors::Internal("Expected three recoveries, saw ", report->recoveries().size());
  }
  if (interrupted == 0 && accuracy < 0.97) return errors::Internal("The accuracy is below 97 %");
  return absl::OkStatus();
}

absl::Status Run(Flags flags) {
  if (flags.directory.empty()) {
    ASSIGN_OR_RETURN(flags.directory, MakeDirectory());
  }
  if (!flags.demo) return Train(flags, flags.target, nullptr);
  absl::PrintF("Starting %d ps and %d worker tasks.\n", flags.ps, flags.workers);
  const absl::Time start = MonotonicNow();
  ASSIGN_OR_RETURN(std::unique_ptr<ProcessCluster> cluster,
                   ProcessCluster::Start({.program = flags.weir,
                                          .jobs = {{"ps", flags.ps}, {"worker", flags.workers}},
                                          .use_tf_config = true,
                                          .flags = {"--journal", flags.directory + "/journal"},
                                          .restart = true,
                                          .directory = flags.directory}));
  const std::string target = cluster->Target("worker", 0);
  absl::PrintF("All tasks are ready after %.2f s; master: %s\n", absl::ToDoubleSeconds(MonotonicNow() - start), target);
  absl::Status status = Train(flags, target, cluster.get());
  cluster->Stop(kStopPatience);
  return status;
}

// Waits for Ctrl-C and SIGTERM on its own thread. The first ends the loop; the second ends the process and, by their
// parent-death signal, the tasks.
void WatchSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    interrupted = signal;
    sigwait(&signals, &signal);
    _exit(128 + signal);
  }).detach();
}

}  // namespace
}  // namespace weir::digits

int main(int argc, char** argv) {
  if (absl::Status cpu = weir::CheckCpuBaseline(); !cpu.ok()) {
    std::fprintf(stderr, "digits: %s\n", std::string(cpu.message()).c_str());
    return 1;
  }
  weir::digits::Flags flags;
  CLI::App app("Trains a classifier of handwritten digits.");
  app.add_option("--data", flags.data, "digits.csv")->required();
  app.add_flag("--demo", flags.demo, "start a cluster, kill two of its tasks, and recover");
  app.add_option("--weir", flags.weir, "path of the weir program, for --demo");
  app.add_option("--target", flags.target, "grpc://host:port of a running cluster; default: this process");
  app.add_option("--ps", flags.ps, "number of ps tasks")->check(CLI::Range(1, 64));
  app.add_option("--workers", flags.workers, "number of worker tasks")->check(CLI::Range(1, 64));
  app.add_option("--steps", flags.steps, "steps to train")->check(CLI::Range(1, 1000000));
  app.add_option("--batch", flags.batch, "examples per worker and step")->check(CLI::Range(1, 100000));
  app.add_option("--checkpoint-steps", flags.checkpoint_steps, "steps between checkpoints")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--mixed-precision", flags.mixed_precision,
                 "compute with bfloat16 (on CPUs) or float16 (on GPUs and CPUs, with a loss scale)")
      ->check(CLI::IsMember({"bfloat16", "float16"}));
  app.add_option("--directory", flags.directory, "for checkpoints and logs; default: a new one in $TMPDIR");
  CLI11_PARSE(app, argc, argv);
  if (flags.demo && flags.weir.empty()) {
    std::fprintf(stderr, "digits: --demo needs --weir, the path of the weir program\n");
    return 2;
  }
  weir::digits::WatchSignals();
  absl::Status status = weir::digits::Run(flags);
  if (weir::digits::interrupted != 0) {
    std::fprintf(stderr, "\ndigits: interrupted\n");
    return 128 + weir::digits::interrupted;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "\ndigits: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
    return 1;
  }
  return 0;
}
