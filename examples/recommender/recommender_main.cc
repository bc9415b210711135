// Learns from ratings with embeddings that grow as users and items arrive.
// recommender                                    in this process
// recommender --demo --weir weir                 starts 3 ps that stand by for each other, and 2 workers. Rows move
//                                                to the third ps, one ps is killed, and rows leave the third again: the
//                                                model is the same as that of an undisturbed run
// recommender --demo --no-standbys --weir weir   starts 2 ps and 2 workers, and kills one ps: its rows come from a
//                                                checkpoint. With --grow, a third ps gets a share of the rows
// recommender --target grpc://…                  on a cluster with jobs ps and worker

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "examples/digits/report_hook.h"
#include "examples/recommender/model.h"
#include "examples/recommender/ratings.h"
#include "weir/core/device/cpu_info.h"
#include "weir/core/files/file_system.h"
#include "weir/distribute/cluster/process_cluster.h"
#include "weir/embedding/embedding_parts.h"
#include "weir/embedding/embedding_saver.h"
#include "weir/session.h"
#include "weir/training_loop.h"

namespace weir::recommender {
namespace {

struct Flags {
  std::string weir, target, directory;
  bool demo = false, grow = false, no_standbys = false;
  int ps = 2, workers = 2;
  int64_t steps = 600;
  int batch = 512;  // a worker
  int64_t checkpoint_steps = 50;
};

// The ps is killed between checkpoints, so that some steps are lost and repeated.
constexpr int64_t kOffCheckpoint = 20;
constexpr int64_t kTestRatings = 20000;
constexpr uint64_t kTestStream = 1'000'000;
// Fraction of the variance of unseen ratings.
constexpr double kExpectedR2 = 0.85;
constexpr int kMoveAttempts = 5;
constexpr absl::Duration kStopPatience = absl::Seconds(3);

absl::StatusOr<std::string> MakeDirectory() {
  const char* base = getenv("TMPDIR");
  std::string pattern = absl::StrCat(base != nullptr ? base : "/tmp", "/weir-recommender-XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) return errors::Unavailable("Cannot make a directory like ", pattern);
  return pattern;
}

FeedList FeedsOf(const Replica& replica, Batch batch) {
  return {{replica.users, std::move(batch.users)},
          {replica.items, std::move(batch.items)},
          {replica.ratings, std::move(batch.ratings)}};
}

double Variance(const Tensor& values) {
  double sum = 0, squares = 0;
  for (const float value : values.flat<float>()) sum += value, squares += double{value} * value;
  const auto n = static_cast<double>(values.NumElements());
  return squares / n - sum / n * (sum / n);
}

// The fraction of the variance that the model explains.
absl::StatusOr<double> R2(Session& session, const Model& model, const Ratings& ratings) {
  Batch test = ratings.Take(kTestStream, 0, kTestRatings);
  const double variance = Variance(test.ratings);
  ASSIGN_OR_RETURN(const std::vector<Tensor> result,
                   session.Run(FeedsOf(model.test, std::move(test)), {model.test_error}));
  return 1 - result[0].scalar<float>() / variance;
}

// Moves a share of both embeddings' rows to the last parameter server, which had none, while training continues.
class Growth {
 public:
  Growth(const Model& model, const std::string& target, int tasks) : tasks_(tasks) {
    for (const EmbeddingVariable* variable : {&model.users, &model.items}) {
      parts_.emplace_back(*variable, [target](const Scope& scope) { return Session::Connect(target, scope); });
    }
  }
  ~Growth() { Wait(); }

  void Start(int64_t step) {
    absl::PrintF("\n>>> Step %d: /job:ps/task:%d gets its share of the rows.\n", step, tasks_ - 1);
    Balance(/*last_has_rows=*/true);
  }
  void Revert(int64_t step) {
    absl::PrintF("\n>>> Step %d: the rows of /job:ps/task:%d return to the others.\n", step, tasks_ - 1);
    Balance(/*last_has_rows=*/false);
  }
  void Wait() {
    if (thread_.joinable()) thread_.join();
  }
  // Of the moves, once they have ended.
  const absl::Status& status() const { return status_; }
  // Prints the final rows of each task; an error if the last one has less than half of its share, or has rows although
  // they were to leave it.
  absl::Status Finish() {
    Wait();
    RETURN_IF_ERROR(status_);
    for (const EmbeddingParts& parts : parts_) {
      ASSIGN_OR_RETURN(const PartsState state, parts.Read());
      int64_t all = 0;
      for (int i = 0; i < tasks_; ++i) {
        all += state.OnDevice(i).keys;
        absl::PrintF("%s%d rows on /job:ps/task:%d", i == 0 ? "" : ", ", state.OnDevice(i).keys, i);
      }
      absl::PrintF(".\n");
      const int64_t last = state.OnDevice(tasks_ - 1).keys;
      if (last_has_rows_ && 2 * tasks_ * last < all) return errors::Internal("The last task has too few rows");
      if (!last_has_rows_ && last > 0) return errors::Internal("The last task still has rows");
    }
    return absl::OkStatus();
  }

 private:
  void Balance(bool last_has_rows) {
    last_has_rows_ = last_has_rows;
    Wait();
    thread_ = std::thread([this, last_has_rows] {
      std::vector<bool> may_have(tasks_, true);
      may_have.back() = last_has_rows;
      for (EmbeddingParts& parts : parts_) {
        auto report = parts.Balance(may_have, EmbeddingParts::LoadMeasure::kBytes);
        // A server may have been lost, or may have got a standby, meanwhile.
        for (int attempt = 1; attempt < kMoveAttempts && absl::IsAborted(report.status()); ++attempt) {
          report = parts.Balance(may_have, EmbeddingParts::LoadMeasure::kBytes);
        }
        status_.Update(report.status());
        if (!report.ok()) return;
        absl::PrintF(">>> %d parts with %d rows moved; steps were blocked for %.1f ms.\n", report->parts, report->rows,
                     absl::ToDoubleMilliseconds(report->pause));
      }
    });
  }

  bool last_has_rows_ = true;
  const int tasks_;
  std::vector<EmbeddingParts> parts_;
  std::thread thread_;
  absl::Status status_;  // the thread's, until it is joined
};

absl::Status PrintCheckpoints(const std::string& directory) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, files->Glob(directory + "/embeddings/*.data-*"));
  int64_t bytes = 0, largest = 0;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FileStat stat, files->Stat(path));
    bytes += static_cast<int64_t>(stat.size);
    largest = std::max(largest, static_cast<int64_t>(stat.size));
  }
  absl::PrintF("Embeddings in checkpoints: %d files, %d bytes in all, the largest %d.\n", paths.size(), bytes, largest);
  return absl::OkStatus();
}

enum class Trouble {
  kNone,
  kRestart,   // a parameter server is killed, and its rows are restored
  kFailOver,  // rows move to the last server, one is killed, and rows leave the last one
};

// Hooks that make the trouble.
std::vector<std::shared_ptr<TrainingHook>> TroubleHooks(const Flags& flags, Trouble trouble, Growth* growth,
                                                        ProcessCluster* cluster) {
  std::vector<std::shared_ptr<TrainingHook>> hooks;
  const auto at = [&hooks](int64_t step, std::function<void(int64_t)> action) {
    hooks.push_back(std::make_shared<digits::OnceAtStepHook>(step, std::move(action)));
  };
  if (flags.grow || trouble == Trouble::kFailOver) {
    at(flags.steps / 4, [growth](int64_t step) { growth->Start(step); });
  }
  if (trouble == Trouble::kNone) return hooks;
  at(flags.steps / 2 + kOffCheckpoint, [&flags, growth, cluster](int64_t step) {
    growth->Wait();
    const pid_t pid = cluster->Kill("ps", flags.ps - 1);
    absl::PrintF("\n>>> Step %d: SIGKILL to /job:ps/task:%d (process %d).\n", step, flags.ps - 1, pid);
  });
  if (trouble == Trouble::kFailOver) at(3 * flags.steps / 4, [growth](int64_t step) { growth->Revert(step); });
  return hooks;
}

// Returns the explained variance of new ratings.
absl::StatusOr<double> Train(const Flags& flags, const std::string& target, Trouble trouble, ProcessCluster* cluster) {
  const Ratings ratings{RatingsOptions()};
  const Scope scope = Scope::NewRoot();
  const bool distributed = !target.empty(), grows = flags.grow || trouble == Trouble::kFailOver;
  const bool compared = cluster != nullptr && !flags.no_standbys;
  const Model model = BuildModel(scope, {.workers = distributed ? flags.workers : 0,
                                         .ps = distributed ? flags.ps : 0,
                                         .spare_ps = flags.grow || compared ? 1 : 0,
                                         .synchronous = compared});
  RETURN_IF_ERROR(scope.status());
  const auto replicas = static_cast<int64_t>(model.replicas.size());

  auto report = std::make_shared<digits::ReportHook>(flags.steps, replicas * flags.batch);
  TrainingLoopOptions options;
  options.train = model.train;
  options.global_step = model.global_step;
  options.fetches = {model.loss};
  options.feeds = [&](int64_t step) -> absl::StatusOr<FeedList> {
    FeedList feeds;
    for (int64_t i = 0; i < replicas; ++i) {
      for (auto& feed : FeedsOf(model.replicas[i], ratings.Take(i, step, flags.batch)))
        feeds.push_back(std::move(feed));
    }
    return feeds;
  };
  options.hooks = {report, NanHook(0), StopAtStepHook(flags.steps)};
  Growth growth(model, target, flags.ps + 1);
  for (auto& hook : TroubleHooks(flags, trouble, &growth, cluster)) options.hooks.push_back(std::move(hook));
  options.states = {std::make_shared<EmbeddingSaver>(scope, std::vector<EmbeddingVariable>{model.users, model.items})};
  options.checkpoint_dir =
      absl::StrCat(flags.directory, "/checkpoints", trouble == Trouble::kFailOver ? "-disturbed" : "");
  options.checkpoint_steps = flags.checkpoint_steps;
  TrainingLoop loop(scope, options);
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                   distributed ? Session::Connect(target, scope) : Session::Local(scope));
  ASSIGN_OR_RETURN(const int64_t reached, loop.Run(*session));

  ASSIGN_OR_RETURN(const double r2, R2(*session, model, ratings));
  ASSIGN_OR_RETURN(const std::vector<Tensor> sizes, session->Run({model.users.size(), model.items.size()}));
  absl::PrintF("\nTrained %d steps, %.0f ratings/s with recoveries.\n", reached, report->examples_per_second());
  absl::PrintF("Rows: %d users, %d items, none of them known in advance.\n", sizes[0].scalar<int64_t>(),
               sizes[1].scalar<int64_t>());
  RETURN_IF_ERROR(PrintCheckpoints(options.checkpoint_dir));
  absl::PrintF("Explained variance of %d new ratings: %.3f (the best possible: %.3f).\n", kTestRatings, r2,
               ratings.BestR2());
  if (grows) RETURN_IF_ERROR(growth.Finish());
  RETURN_IF_ERROR(session->Close());
  if (trouble == Trouble::kRestart && report->recoveries().empty()) {
    return errors::Internal("Expected a recovery, saw none");
  }
  if (trouble == Trouble::kFailOver && !report->recoveries().empty()) {
    return errors::Internal("The lost server's standby did not take over: a checkpoint was needed");
  }
  if (!(r2 >= kExpectedR2)) return errors::Internal("The model explains less than ", kExpectedR2);
  return r2;
}

absl::StatusOr<double> TrainOnCluster(const Flags& flags, Trouble trouble) {
  const int servers = flags.ps + (flags.grow || !flags.no_standbys ? 1 : 0);
  absl::PrintF("Starting %d ps and %d worker tasks.\n", servers, flags.workers);
  ProcessCluster::Options options{.program = flags.weir,
                                  .jobs = {{"ps", servers}, {"worker", flags.workers}},
                                  .restart = true,
                                  .directory = flags.directory};
  if (!flags.no_standbys) options.flags = {"--standbys", "1"};
  ASSIGN_OR_RETURN(std::unique_ptr<ProcessCluster> cluster, ProcessCluster::Start(options));
  const absl::StatusOr<double> r2 = Train(flags, cluster->Target("worker", 0), trouble, cluster.get());
  cluster->Stop(kStopPatience);
  return r2;
}

absl::Status Run(Flags flags) {
  if (flags.directory.empty()) {
    ASSIGN_OR_RETURN(flags.directory, MakeDirectory());
  }
  if (!flags.demo) return Train(flags, flags.target, Trouble::kNone, nullptr).status();
  if (flags.no_standbys) return TrainOnCluster(flags, Trouble::kRestart).status();
  absl::PrintF("--- Undisturbed ---\n");
  ASSIGN_OR_RETURN(const double undisturbed, TrainOnCluster(flags, Trouble::kNone));
  absl::PrintF("\n--- A server grows, one is lost, and the first shrinks ---\n");
  ASSIGN_OR_RETURN(const double disturbed, TrainOnCluster(flags, Trouble::kFailOver));
  absl::PrintF("\nExplained variance: %.9f undisturbed, %.9f disturbed.\n", undisturbed, disturbed);
  if (disturbed != undisturbed) return errors::Internal("The runs ended with different models");
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::recommender

int main(int argc, char** argv) {
  if (absl::Status cpu = weir::CheckCpuBaseline(); !cpu.ok()) {
    std::fprintf(stderr, "recommender: %s\n", std::string(cpu.message()).c_str());
    return 1;
  }
  weir::recommender::Flags flags;
  CLI::App app("Learns from ratings with embeddings that grow as users and items arrive.");
  app.add_flag("--demo", flags.demo, "start a cluster, grow it, lose a parameter server to its standby, and shrink it");
  app.add_flag("--no-standbys", flags.no_standbys, "with --demo: the lost server's rows come from a checkpoint");
  app.add_flag("--grow", flags.grow, "during training, spread the embeddings over one more ps of the cluster");
  app.add_option("--weir", flags.weir, "path of the weir program, for --demo");
  app.add_option("--target", flags.target, "grpc://host:port of a running cluster; default: this process");
  app.add_option("--ps", flags.ps, "number of ps tasks")->check(CLI::Range(1, 64));
  app.add_option("--workers", flags.workers, "number of worker tasks")->check(CLI::Range(1, 64));
  app.add_option("--steps", flags.steps, "steps to train")->check(CLI::Range(1, 1000000));
  app.add_option("--batch", flags.batch, "ratings per worker and step")->check(CLI::Range(1, 100000));
  app.add_option("--checkpoint-steps", flags.checkpoint_steps, "steps between checkpoints")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--directory", flags.directory, "for checkpoints and logs; default: a new one in $TMPDIR");
  CLI11_PARSE(app, argc, argv);
  if (flags.demo && flags.weir.empty()) {
    std::fprintf(stderr, "recommender: --demo needs --weir, the path of the weir program\n");
    return 2;
  }
  if (flags.grow && !flags.demo && flags.target.empty()) {
    std::fprintf(stderr, "recommender: --grow needs a cluster: --demo or --target\n");
    return 2;
  }
  const absl::Status status = weir::recommender::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "\nrecommender: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  return 1;
}
