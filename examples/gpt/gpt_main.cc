// Trains a small GPT on a text, on one device or in parallel:
// gpt --text genesis.txt --parallel
// none|data|zero|tensor|pipeline|data-tensor|zero-tensor|data-pipeline|tensor-pipeline
// on devices of this process, or with --weir on a cluster of processes with one device each.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "examples/gpt/corpus.h"
#include "examples/gpt/program.h"
#include "weir/core/clock.h"
#include "weir/core/device/cpu_info.h"
#include "weir/distribute/cluster/process_cluster.h"
#include "weir/session.h"

namespace weir::gpt {
namespace {

struct Flags {
  std::string text, weir;
  int64_t steps = 200;
  double expect_loss = 0, tolerance = 0.01;
};

absl::StatusOr<std::unique_ptr<ProcessCluster>> StartCluster(const std::string& weir, int tasks) {
  return ProcessCluster::Start({.program = weir, .jobs = {{"worker", tasks}}});
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const ProcessCluster* cluster, const Program& program) {
  if (cluster != nullptr) return Session::Connect(cluster->Target("worker", 0), program.scope);
  SessionOptions options;
  RETURN_IF_ERROR(
      options.config.MergeText(absl::StrCat("device_count { key: 'CPU' value: ", program.num_devices, " }")));
  return Session::Local(program.scope, options);
}

absl::StatusOr<double> Train(const Flags& flags, const ProgramOptions& options, const Corpus& corpus,
                             const Program& program, Session* session) {
  RETURN_IF_ERROR(session->RunTargets({program.initialize}));
  double loss = 0;
  const absl::Time start = MonotonicNow();
  for (int64_t step = 0; step < flags.steps; ++step) {
    Batch batch = corpus.BatchOf(step, options.batch, static_cast<int>(options.model.context));
    ASSIGN_OR_RETURN(const std::vector<Tensor> fetched,
                     session->Run({{program.tokens, batch.tokens}, {program.labels, batch.labels}}, {program.loss},
                                  {program.train}));
    loss = fetched[0].scalar<float>();
    if (step % 10 == 0 || step + 1 == flags.steps) absl::PrintF("step %4d  loss %.4f\n", step + 1, loss);
    std::fflush(stdout);
  }
  const double seconds = absl::ToDoubleSeconds(MonotonicNow() - start);
  absl::PrintF("%.0f tokens/s\n", static_cast<double>(flags.steps * options.batch * options.model.context) / seconds);
  return loss;
}

absl::Status Run(const Flags& flags, ProgramOptions options) {
  ASSIGN_OR_RETURN(const Corpus corpus, Corpus::Load(flags.text));
  if (corpus.size() <= static_cast<size_t>(options.model.context)) {
    return errors::InvalidArgument(flags.text, " is shorter than the context");
  }
  options.in_cluster = !flags.weir.empty();
  ASSIGN_OR_RETURN(const Program program, BuildProgram(options));
  absl::PrintF("%s on %d devices: %s\n", options.parallel, program.num_devices, program.description);
  std::unique_ptr<ProcessCluster> cluster;
  if (options.in_cluster) {
    ASSIGN_OR_RETURN(cluster, StartCluster(flags.weir, program.num_devices));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, MakeSession(cluster.get(), program));
  ASSIGN_OR_RETURN(const double loss, Train(flags, options, corpus, program, session.get()));
  RETURN_IF_ERROR(session->Close());
  if (flags.expect_loss > 0 && std::abs(loss - flags.expect_loss) > flags.tolerance) {
    return errors::Internal("The loss is ", loss, "; expected ", flags.expect_loss);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::gpt

int main(int argc, char** argv) {
  if (absl::Status cpu = weir::CheckCpuBaseline(); !cpu.ok()) {
    std::fprintf(stderr, "gpt: %s\n", std::string(cpu.message()).c_str());
    return 1;
  }
  weir::gpt::Flags flags;
  weir::gpt::ProgramOptions options;
  CLI::App app("Trains a small GPT on a text.");
  app.add_option("--text", flags.text, "a file of ASCII")->required();
  app.add_option("--parallel", options.parallel, "form of parallelism")
      ->check(CLI::IsMember(weir::gpt::ParallelForms()));
  app.add_option("--schedule", options.schedule, "of pipelines")->check(CLI::IsMember({"gpipe", "1f1b"}));
  app.add_option("--weir", flags.weir, "path of the weir program: train on a cluster of processes");
  app.add_option("--steps", flags.steps)->check(CLI::Range(1, 1000000));
  app.add_option("--batch", options.batch, "windows a step")->check(CLI::Range(1, 100000));
  app.add_option("--micro-batches", options.micro_batches, "of pipelines")->check(CLI::Range(1, 1024));
  app.add_option("--context", options.model.context)->check(CLI::Range(1, 4096));
  app.add_option("--width", options.model.width)->check(CLI::Range(1, 8192));
  app.add_option("--heads", options.model.heads)->check(CLI::Range(1, 256));
  app.add_option("--blocks", options.model.blocks)->check(CLI::Range(1, 256));
  app.add_option("--expect-loss", flags.expect_loss, "fail if the last loss differs");
  app.add_option("--tolerance", flags.tolerance);
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = weir::gpt::Run(flags, options); !status.ok()) {
    std::fprintf(stderr, "gpt: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
    return 1;
  }
  return 0;
}
