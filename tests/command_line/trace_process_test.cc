// Tests of `weir trace` with clusters of real processes.
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/command_line/weir_output.h"
#include "tools/trace/trace_format_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr char kPs[] = "/job:ps/replica:0/task:0", kWorker[] = "/job:worker/replica:0/task:0";

// A parameter server that computes while the worker waits for it.
class TraceProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 1}, {"worker", 1}}}));
    const Scope on_ps = scope_.WithDevice("/job:ps/task:0"), on_worker = scope_.WithDevice("/job:worker/task:0");
    const Output large = ops::RandomUniform(on_ps, Tensor::Vector<int32_t>({400, 400}), DT_FLOAT);
    const Output product = ops::MatMul(on_ps.WithName("heavy"), ops::MatMul(on_ps, large, large), large);
    result_ = ops::Square(on_worker.WithName("light"), ops::Sum(on_ps, product, Tensor::Vector<int32_t>({0, 1})));
    ASSERT_OK_AND_ASSIGN(session_, Session::Connect(cluster_->Target("worker", 0), scope_));
    ASSERT_THAT(session_->Run({result_}).status(), IsOk());
  }
  void TearDown() override { StopSteps(); }

  // Runs steps until StopSteps; those that fail too.
  void StartSteps() {
    steps_ = std::thread([this] {
      while (!stop_) session_->Run({result_}).status().IgnoreError();
    });
  }
  void StopSteps() {
    stop_ = true;
    if (steps_.joinable()) steps_.join();
  }
  WeirOutput Trace(const std::string& arguments, const std::string& job = "worker") const {
    return RunWeir(absl::StrCat("trace ", cluster_->Target(job, 0), " -o ", File(), " ", arguments));
  }
  std::string File() const { return directory_.Path("trace.json"); }
  json Read() const { return json::parse(std::ifstream(File())); }

  const ScratchDirectory directory_;
  std::unique_ptr<ProcessCluster> cluster_;
  const Scope scope_ = Scope::NewRoot();
  Output result_;
  std::unique_ptr<Session> session_;
  std::thread steps_;
  std::atomic<bool> stop_{false};
};

TEST_F(TraceProcessTest, TracesTheStepsOfAllTasks) {
  StartSteps();
  // Any task can be asked: this one is not the master.
  const WeirOutput output = Trace(absl::StrCat("--steps 3 --timeout 90s --logdir ", directory_.Path("logs")), "ps");
  StopSteps();
  ASSERT_EQ(output.code, 0) << output.text;
  const json trace = Read();
  CheckTraceFormat(trace);
  const TraceCounts counts = CountEvents(trace);
  EXPECT_THAT(counts.processes, ElementsAre(kPs, kWorker));
  EXPECT_GE(counts.arrows, 3);  // a tensor goes to the worker in each step
  const json& other = trace["otherData"];
  EXPECT_EQ(other["steps_traced"], 3);
  EXPECT_EQ(other["reference_clock"], kPs);
  EXPECT_EQ(other["clocks"][kWorker]["is_aligned"], true);
  EXPECT_GT(other["clocks"][kWorker]["error_bound_us"].get<double>(), 0);
  int products = 0, on_worker = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || !event["args"].contains("node")) continue;
    products += event["args"]["node"] == "heavy" ? 1 : 0;
    on_worker += event["args"]["node"] == "light" ? 1 : 0;
  }
  EXPECT_EQ(products, 3);
  EXPECT_EQ(on_worker, 3);
  const auto profiles = NewPosixFileSystem()->Glob(directory_.Path("logs/plugins/profile/*/*.xplane.pb"));
  EXPECT_THAT(*profiles, ElementsAre(EndsWith("/ps-0.xplane.pb"), EndsWith("/worker-0.xplane.pb")));
  // The worker does nothing but wait.
  EXPECT_THAT(output.text, HasSubstr(absl::StrCat("Hint: Waiting for parameter server ", kPs)));
}

TEST_F(TraceProcessTest, WithoutStepsItWritesWhatThereIsAtTheTimeout) {
  const WeirOutput output = Trace("--steps 3 --timeout 1s");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.text, HasSubstr("0 of 3 steps have ended before the timeout."));
  const json trace = Read();
  CheckTraceFormat(trace);
  EXPECT_EQ(trace["otherData"]["is_complete"], false);
}

TEST_F(TraceProcessTest, SeveralTracesAtOnceAreIndependent) {
  StartSteps();
  std::vector<std::thread> tracers;
  std::vector<WeirOutput> outputs(3);
  for (int i = 0; i < 3; ++i) {
    tracers.emplace_back([&, i] {
      outputs[i] = RunWeir(absl::StrCat("trace ", cluster_->Target("worker", 0), " --steps ", i + 1, " -o ",
                                        directory_.Path(absl::StrCat(i))));
    });
  }
  for (std::thread& tracer : tracers) tracer.join();
  StopSteps();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(outputs[i].code, 0) << outputs[i].text;
    const json trace = json::parse(std::ifstream(directory_.Path(absl::StrCat(i))));
    CheckTraceFormat(trace);
    EXPECT_EQ(trace["otherData"]["steps_traced"], i + 1);
  }
}

TEST_F(TraceProcessTest, TheStepsOfALostTaskFailAndAreTraced) {
  cluster_->Kill("ps", 0);
  StartSteps();
  const WeirOutput output = Trace("--steps 2 --timeout 90s");
  StopSteps();
  EXPECT_EQ(output.code, 0) << output.text;
  EXPECT_THAT(output.text, AllOf(HasSubstr(absl::StrCat("Note: ", kPs, " did not answer")),
                                 HasSubstr("Note: 2 of the steps failed, so that parts of them are missing.")));
  CheckTraceFormat(Read());
}

TEST_F(TraceProcessTest, WhenAllTasksDieItWritesWhatThereIs) {
  StartSteps();
  WeirOutput output;
  std::thread tracer([&] { output = Trace("--steps 100000 --timeout 100s"); });
  while (!std::ifstream(File()).good()) std::this_thread::yield();  // the trace begins
  cluster_->Kill("ps", 0);
  cluster_->Kill("worker", 0);
  tracer.join();
  StopSteps();
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.text, Not(HasSubstr("before the timeout")));
}

TEST_F(TraceProcessTest, InterruptedItWritesWhatThereIs) {
  StartSteps();
  const WeirOutput output =
      RunWeir(absl::StrCat("trace ", cluster_->Target("worker", 0), " --steps 100000 --timeout 100s -o ", File(),
                           " 2>&1 & trace=$!; until [ -e ", File(), " ]; do :; done; kill -TERM $trace; wait $trace"));
  StopSteps();
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_THAT(output.text, HasSubstr("of 100000 steps have ended before the interruption."));
  CheckTraceFormat(Read());
}

TEST_F(TraceProcessTest, ErrorsComeBeforeTheTrace) {
  const WeirOutput output =
      RunWeir(absl::StrCat("trace ", cluster_->Target("worker", 0), " -o ", directory_.Path("no/such/folder")));
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.text, HasSubstr("no/such/folder"));
  EXPECT_EQ(RunWeir("trace grpc://127.0.0.1:1 --timeout soon").code, 2);
  EXPECT_EQ(RunWeir(absl::StrCat("trace grpc://127.0.0.1:1 -o ", File())).code, 1);
}

}  // namespace
}  // namespace weir
