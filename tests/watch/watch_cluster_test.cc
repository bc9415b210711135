// Metrics, reports and commands about clusters of real processes.
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/cluster/server_process.h"
#include "tests/cluster/test_session.h"
#include "tests/watch/metrics_testing.h"
#include "tests/watch/program.h"
#include "tools/http/http_client_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPsUp[] = "weir_peer_up{task=\"/job:ps/replica:0/task:0\"}";
// A variable on the parameter server, to which each step adds from the worker.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "v" op: "VarHandleOp" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape {} } } attr { key: "shared_name" value { s: "v" } } }
  node { name: "one" op: "Const" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "init" op: "AssignVariableOp" input: "v" input: "one" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "add" op: "AssignAddVariableOp" input: "v" input: "one" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } })";

class WatchClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        cluster_, ProcessCluster::Start(
                      {.program = WEIR_PROGRAM, .jobs = {{"worker", 1}, {"ps", 1}}, .flags = {"--http-port", "0"}}));
    http_ = ReportOf(Address("worker")).http_address();
  }
  std::string Address(const std::string& job) const { return *cluster_->spec().AddressOf(job, 0); }
  std::string Metrics() const { return BodyOf(HttpGet(http_, "/metrics")); }
  double Metric(const std::string& sample) const { return SampleOf(Metrics(), sample).value_or(-1); }

  std::unique_ptr<ProcessCluster> cluster_;
  std::string http_;  // of the worker
};

TEST_F(WatchClusterTest, ATaskKilledUnderLoadShowsAndSoDoesItsReturn) {
  TestSession session = TestSession::Open(Address("worker"), kGraph);
  // The parameter server may have tried the worker's port before the worker listened, and not again yet.
  ASSERT_TRUE(Eventually([&] { return session.Run({"init"}).ok(); }));
  std::atomic<bool> stop{false};
  std::thread load([&] {
    // Steps fail while the task is away, and until the variable is there again.
    while (!stop) session.Run({"add"}).IgnoreError();
  });
  EXPECT_TRUE(Eventually([&] { return Metric(kPsUp) == 1 && Metric("weir_master_steps_total{code=\"OK\"}") > 10; }));
  cluster_->Kill("ps", 0);
  const absl::Time killed = MonotonicNow();
  EXPECT_TRUE(Eventually([&] { return Metric(kPsUp) == 0; }));
  RecordProperty("shown_after_ms", absl::ToInt64Milliseconds(MonotonicNow() - killed));
  EXPECT_TRUE(Eventually([&] { return Metric("weir_master_steps_total{code=\"UNAVAILABLE\"}") > 0; }));
  const json status = json::parse(BodyOf(HttpGet(http_, "/status.json")));
  EXPECT_EQ(status["peer"][0]["health"], "down");
  EXPECT_NE(status["peer"][0]["reason"], "");
  ASSERT_THAT(cluster_->Restart("ps", 0), IsOk());
  EXPECT_TRUE(Eventually([&] { return Metric(kPsUp) == 1; }));
  EXPECT_TRUE(Eventually([&] { return Metric("weir_master_worker_sessions_reopened_total") >= 1; }));
  EXPECT_EQ(Metric("weir_peer_restarts_total{task=\"/job:ps/replica:0/task:0\"}"), 1);
  EXPECT_GE(Metric("weir_peer_losses_total{task=\"/job:ps/replica:0/task:0\"}"), 1);
  stop = true;
  load.join();
  EXPECT_THAT(session.Run({"init"}), IsOk());
  EXPECT_TRUE(Eventually([&] { return Metric("weir_master_graphs_rebuilt_total") >= 1; }));
}

TEST_F(WatchClusterTest, AHungTaskIsDown) {
  EXPECT_TRUE(Eventually([&] { return Metric(kPsUp) == 1; }));
  cluster_->Pause("ps", 0);
  EXPECT_TRUE(Eventually([&] { return Metric(kPsUp) == 0; }));
  cluster_->Resume("ps", 0);
  EXPECT_TRUE(Eventually([&] { return Metric(kPsUp) == 1; }));
}

TEST_F(WatchClusterTest, BytesAreCountedByTransport) {
  const TestSession session = TestSession::Open(Address("worker"), kGraph);
  // A task that a peer has asked before it served is connected to a moment later.
  ASSERT_TRUE(Eventually([&] { return session.Run({"init"}).ok(); }));
  for (int i = 0; i < 20; ++i) ASSERT_THAT(session.Run({"add"}), IsOk());
  const TaskReport worker = ReportOf(Address("worker"));
  uint64_t sent = 0;
  for (const auto& transport : worker.transport()) sent += transport.sent_bytes();
  EXPECT_GT(sent, 1000);
  EXPECT_GT(ReportOf(Address("ps")).worker_steps().succeeded(), 19);
  EXPECT_EQ(ReportOf(Address("ps")).worker_session_size(), 1);
}

TEST_F(WatchClusterTest, StatusPrintsJson) {
  const ProgramResult once = RunProgram({WEIR_PROGRAM, "status", "--json", cluster_->Target("worker", 0)});
  EXPECT_EQ(once.code, 0);
  const json report = json::parse(once.output);
  EXPECT_EQ(report["task"], "/job:worker/replica:0/task:0");
  EXPECT_EQ(report["http_address"], http_);
  EXPECT_EQ(report["peer"][0]["task"], "/job:ps/replica:0/task:0");
  const ProgramResult twice = RunProgram({WEIR_PROGRAM, "status", "--json", "--watch", "--interval", "0.1", "--count",
                                          "2", cluster_->Target("worker", 0)});
  EXPECT_EQ(twice.code, 0);
  const size_t end = twice.output.find('\n');
  EXPECT_EQ(json::parse(twice.output.substr(0, end))["state"], "serving");
  EXPECT_EQ(json::parse(twice.output.substr(end + 1))["state"], "serving");
}

TEST_F(WatchClusterTest, TopShowsAllTasks) {
  cluster_->Kill("ps", 0);
  const ProgramResult top =
      RunProgram({WEIR_PROGRAM, "top", "--interval", "0.2", "--count", "2", cluster_->Target("worker", 0)});
  EXPECT_EQ(top.code, 0);
  EXPECT_THAT(top.output, AllOf(ContainsRegex("worker:0 +up +[0-9.]+ +[0-9.]+ +[0-9.]+ "), ContainsRegex("ps:0 +down "),
                                Not(HasSubstr("\x1b"))));
}

TEST_F(WatchClusterTest, CtrlCEndsWatchingWell) {
  const std::string target = cluster_->Target("worker", 0);
  EXPECT_EQ(RunProgram({WEIR_PROGRAM, "top", target}, /*interrupt=*/true).code, 0);
  EXPECT_EQ(RunProgram({WEIR_PROGRAM, "status", "--watch", "--json", target}, /*interrupt=*/true).code, 0);
}

TEST(WatchCommandTest, ATargetThatIsNotThereIsAnError) {
  EXPECT_EQ(RunProgram({WEIR_PROGRAM, "top", "--count", "1", "grpc://127.0.0.1:1"}).code, 1);
  EXPECT_EQ(RunProgram({WEIR_PROGRAM, "top", "nowhere"}).code, 1);
  EXPECT_EQ(RunProgram({WEIR_PROGRAM, "status", "--json", "grpc://127.0.0.1:1"}).code, 1);
  EXPECT_EQ(RunProgram({WEIR_PROGRAM, "server", "--http-ready-file", "/dev/null", "--job", "worker", "--cluster",
                        R"({"worker": ["127.0.0.1:1"]})"})
                .code,
            2);
}

TEST(WatchCommandTest, TheBoundAddressIsInAFile) {
  const ScratchDirectory directory;
  ServerProcess server(
      {.name = "server",
       .arguments = {WEIR_PROGRAM, "server", "--port", "0", "--ready-file", directory.Path("ready"), "--http-port", "0",
                     "--http-ready-file", directory.Path("http")},
       .environment = {R"(TF_CONFIG={"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker"}})"},
       .ready_file = directory.Path("ready"),
       .log_file = directory.Path("log")});
  ASSERT_THAT(server.Launch(), IsOk());
  ASSERT_THAT(server.AwaitReady(absl::Minutes(1)), IsOk());
  const auto files = NewPosixFileSystem();
  ASSERT_OK_AND_ASSIGN(std::string address, ReadFileToString(files.get(), directory.Path("http")));
  ASSERT_TRUE(absl::EndsWith(address, "\n"));
  address.pop_back();
  EXPECT_EQ(BodyOf(HttpGet(address, "/healthz")), "ok\n");
  EXPECT_EQ(*server.Terminate(absl::Seconds(30)), 0);
}

}  // namespace
}  // namespace weir
