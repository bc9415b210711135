// Pages, metrics and reports of servers in this process.
#include <google/protobuf/text_format.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "core/kernel/kernel_registry.h"
#include "core/testing.h"
#include "kernels/library.h"
#include "tests/cluster/test_session.h"
#include "tests/watch/metrics_testing.h"
#include "tools/http/http_client_testing.h"
#include "tools/server.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// "wait" takes from a queue that stays empty; "fail" divides by zero.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "none" op: "NoOp" }
  node { name: "queue" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_INT64 } } } }
  node { name: "wait" op: "QueueDequeueV2" input: "queue"
         attr { key: "component_types" value { list { type: DT_INT64 } } } }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
  node { name: "fail" op: "Neg" input: "x" attr { key: "T" value { type: DT_INT32 } } })";

class WatchServerTest : public testing::Test {
 protected:
  static Server::Options Alone() {
    ClusterSpec cluster;
    EXPECT_THAT(cluster.AddTask("worker", 0, "127.0.0.1:1"), IsOk());  // nobody calls it there
    return {
        .cluster = cluster, .job = "worker", .index = 0, .bind_address = "127.0.0.1:0", .http_address = "127.0.0.1:0"};
  }
  static std::unique_ptr<Server> Start(Server::Options options) {
    auto server = Server::Start(std::move(options));
    EXPECT_THAT(server.status(), IsOk());
    return *std::move(server);
  }
  static std::string Get(const Server& server, const std::string& path) { return HttpGet(server.http_address(), path); }
  // The value of a sample; -1: it is not there. Metrics may be a moment old.
  static double Metric(const Server& server, const std::string& sample) {
    return SampleOf(BodyOf(Get(server, "/metrics")), sample).value_or(-1);
  }
  static bool MetricBecomes(const Server& server, const std::string& sample, double value) {
    return Eventually([&] { return Metric(server, sample) == value; });
  }
};

TEST_F(WatchServerTest, ServesHealthMetricsStatusAndAPage) {
  const auto server = Start(Alone());
  EXPECT_EQ(BodyOf(Get(*server, "/healthz")), "ok\n");
  const std::string metrics = Get(*server, "/metrics");
  EXPECT_THAT(metrics, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(metrics, HasSubstr("# TYPE weir_master_step_seconds histogram\n"));
  EXPECT_EQ(Metric(*server, "weir_task_serving"), 1);
  EXPECT_GT(Metric(*server, "process_start_time_seconds"), 1.6e9);
  EXPECT_GT(Metric(*server, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Metric(*server, "process_open_fds"), 3);
  const std::string page = Get(*server, "/");
  EXPECT_THAT(page, AllOf(HasSubstr("Content-Type: text/html; charset=utf-8\r\n"), HasSubstr("<!DOCTYPE html>"),
                          HasSubstr("Content-Security-Policy: default-src 'none';"), Not(HasSubstr("__NONCE__"))));
  const std::string status = Get(*server, "/status.json");
  EXPECT_THAT(status, AllOf(HasSubstr("Content-Type: application/json\r\n"), HasSubstr("\"state\":\"serving\""),
                            HasSubstr("\"task\":\"/job:worker/replica:0/task:0\"")));
  EXPECT_EQ(StatusOf(Get(*server, "/nothing")), 404);
  EXPECT_EQ(StatusOf(Get(*server, "/sessions/1/graph")), 404);
  EXPECT_EQ(StatusOf(Get(*server, "/sessions/x/graph")), 404);
  EXPECT_EQ(StatusOf(Get(*server, "/sessions//graph")), 404);
  EXPECT_EQ(StatusOf(Get(*server, "/../../etc/passwd")), 404);
}

TEST_F(WatchServerTest, CountsStepsOfEachServerForItself) {
  const auto server = Start(Alone()), other = Start(Alone());
  const TestSession session = TestSession::Open(server->address(), kGraph);
  for (int i = 0; i < 5; ++i) ASSERT_THAT(session.Run({"none"}), IsOk());
  ASSERT_THAT(session.Run({"fail"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(MetricBecomes(*server, "weir_master_steps_total{code=\"OK\"}", 5));
  EXPECT_TRUE(MetricBecomes(*server, "weir_master_steps_total{code=\"INVALID_ARGUMENT\"}", 1));
  EXPECT_EQ(Metric(*server, "weir_master_steps_started_total"), 6);
  EXPECT_EQ(Metric(*server, "weir_master_steps_running"), 0);
  EXPECT_EQ(Metric(*server, "weir_master_step_seconds_count"), 6);
  EXPECT_EQ(Metric(*server, "weir_master_step_seconds_bucket{le=\"+Inf\"}"), 6);
  EXPECT_GE(Metric(*server, "weir_worker_steps_total{code=\"OK\"}"), 5);
  EXPECT_EQ(Metric(*server, "weir_master_sessions"), 1);
  EXPECT_EQ(Metric(*server, "weir_master_sessions_created_total"), 1);
  EXPECT_EQ(Metric(*server, "weir_worker_sessions"), 1);
  EXPECT_GE(Metric(*server, "weir_worker_graphs"), 1);
  EXPECT_GT(Metric(*server, "weir_transport_received_bytes_total{transport=\"grpc\"}"), 0);
  EXPECT_GE(Metric(*server, "weir_grpc_calls_total"), 7);
  EXPECT_EQ(Metric(*other, "weir_master_steps_started_total"), 0);
  EXPECT_EQ(Metric(*other, "weir_master_sessions_created_total"), 0);
  ASSERT_THAT(session.Close(), IsOk());
  EXPECT_TRUE(MetricBecomes(*server, "weir_master_sessions", 0));
}

TEST_F(WatchServerTest, ALongStepShowsWhatItWaitsFor) {
  const auto server = Start(Alone());
  const TestSession session = TestSession::Open(server->address(), kGraph);
  auto step = session.Start({"wait"});
  EXPECT_TRUE(Eventually([&] {
    const TaskReport report = ReportOf(server->address());
    return report.long_step_size() == 1 && report.long_step(0).session() == 1 && report.long_step(0).wait_size() == 1 &&
           report.long_step(0).wait(0).node() == "wait" && report.long_step(0).wait(0).shared_object() != "" &&
           report.worker_wait_size() == 1;
  }));
  EXPECT_THAT(Get(*server, "/status.json"), HasSubstr("\"op\":\"QueueDequeueV2\""));
  ASSERT_THAT(session.Close(), IsOk());
  EXPECT_FALSE(step.get().ok());
}

TEST_F(WatchServerTest, ASessionsGraphIsShownWithoutItsHandle) {
  const auto server = Start(Alone());
  tensorflow::CreateSessionRequest request;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
  tensorflow::CreateSessionResponse response;
  ASSERT_THAT(server->master()->CreateSession({}, request, &response), IsOk());
  const std::string graph = Get(*server, "/sessions/1/graph");
  EXPECT_THAT(graph,
              AllOf(HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"), HasSubstr("= QueueDequeueV2(%queue)")));
  for (const std::string& text : {graph, Get(*server, "/status.json"), Get(*server, "/metrics"), Get(*server, "/"),
                                  ReportOf(server->address()).DebugString()}) {
    EXPECT_THAT(text, Not(HasSubstr(response.session_handle())));
  }
}

TEST_F(WatchServerTest, PeersAreUpOrDown) {
  ClusterSpec alone;
  ASSERT_THAT(alone.AddTask("worker", 1, "127.0.0.1:1"), IsOk());
  const auto peer = Start({.cluster = alone, .job = "worker", .index = 1, .bind_address = "127.0.0.1:0"});
  EXPECT_EQ(peer->http_address(), "");
  Server::Options options = Alone();
  ASSERT_THAT(options.cluster.AddTask("worker", 1, peer->address()), IsOk());
  ASSERT_THAT(options.cluster.AddTask("ps", 0, "127.0.0.1:2"), IsOk());
  const auto server = Start(std::move(options));
  EXPECT_TRUE(MetricBecomes(*server, "weir_peer_up{task=\"/job:worker/replica:0/task:1\"}", 1));
  EXPECT_TRUE(MetricBecomes(*server, "weir_peer_up{task=\"/job:ps/replica:0/task:0\"}", 0));
  EXPECT_EQ(Metric(*server, "weir_peer_up{task=\"/job:worker/replica:0/task:0\"}"), -1);
  ASSERT_THAT(peer->Stop(), IsOk());
  EXPECT_TRUE(MetricBecomes(*server, "weir_peer_up{task=\"/job:worker/replica:0/task:1\"}", 0));
}

TEST_F(WatchServerTest, ReportsNeedNoHttpServer) {
  Server::Options options = Alone();
  options.http_address.clear();
  ASSERT_THAT(options.cluster.AddTask("worker", 1, "127.0.0.1:2"), IsOk());
  const auto server = Start(std::move(options));
  const TaskReport report = ReportOf(server->address());
  EXPECT_EQ(report.task(), "/job:worker/replica:0/task:0");
  EXPECT_EQ(report.address(), server->address());
  EXPECT_EQ(report.http_address(), "");
  ASSERT_EQ(report.peer_size(), 1);
  EXPECT_EQ(report.peer(0).health(), "down");
}

TEST_F(WatchServerTest, OtherMachinesNeedInsecure) {
  Server::Options options = Alone();
  options.http_address = "0.0.0.0:0";
  EXPECT_THAT(Server::Start(options).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--insecure")));
  options.insecure = true;
  const auto server = Start(options);
  EXPECT_EQ(StatusOf(Get(*server, "/healthz")), 200);
}

TEST_F(WatchServerTest, ATakenPortIsAnError) {
  const auto server = Start(Alone());
  Server::Options options = Alone();
  options.http_address = server->http_address();
  EXPECT_THAT(Server::Start(options).status(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("--http-port")));
}

absl::Notification* begun = nullptr;
absl::Notification* may_end = nullptr;

// Ignores that its step is cancelled.
class PatientKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext&) override {
    begun->Notify();
    may_end->WaitForNotification();
    return absl::OkStatus();
  }
};

TEST_F(WatchServerTest, AStoppingServerSaysSo) {
  absl::Notification has_begun, ends;
  begun = &has_begun;
  may_end = &ends;
  OpRegistry ops;
  KernelRegistry kernels;
  ASSERT_THAT(RegisterAllOps(ops), IsOk());
  ASSERT_THAT(RegisterAllKernels(kernels), IsOk());
  ASSERT_THAT(ops.Register(Op("Patient").Stateful()), IsOk());
  ASSERT_THAT(kernels.Register<PatientKernel>(Kernel("Patient").Cpu()), IsOk());
  Server::Options options = Alone();
  options.ops = &ops;
  options.kernels = &kernels;
  const auto server = Start(std::move(options));
  const std::string http = server->http_address();
  const TestSession session =
      TestSession::Open(server->address(), R"(versions { producer: 1882 } node { name: "patient" op: "Patient" })");
  auto step = session.Start({"patient"});
  has_begun.WaitForNotification();
  EXPECT_THAT(server->Stop(absl::ZeroDuration(), absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  const std::string health = HttpGet(http, "/healthz");
  EXPECT_EQ(StatusOf(health), 503);
  EXPECT_EQ(BodyOf(health), "the task is stopping\n");
  EXPECT_TRUE(
      Eventually([&] { return SampleOf(BodyOf(HttpGet(http, "/metrics")), "weir_task_serving").value_or(-1) == 0; }));
  EXPECT_THAT(BodyOf(HttpGet(http, "/status.json")), HasSubstr("\"reason\":\"the task is stopping\""));
  ends.Notify();
  EXPECT_FALSE(step.get().ok());
  EXPECT_THAT(server->Stop(absl::ZeroDuration(), absl::Seconds(60)), IsOk());
}

TEST_F(WatchServerTest, ScrapesDuringAShutdownEndWithIt) {
  auto server = Start(Alone());
  const std::string http = server->http_address();
  const TestSession session = TestSession::Open(server->address(), kGraph);
  auto step = session.Start({"wait"});
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
  std::vector<std::thread> scrapers;
  for (const char* path : {"/metrics", "/status.json", "/sessions/1/graph"}) {
    scrapers.emplace_back([&stop, &answered, http, path] {
      while (!stop) {
        if (StatusOf(HttpGet(http, path)) == 200) ++answered;
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return answered > 20; }));
  EXPECT_THAT(server->Stop(absl::ZeroDuration(), absl::Seconds(60)), IsOk());
  server.reset();
  stop = true;
  for (std::thread& scraper : scrapers) scraper.join();
  EXPECT_FALSE(step.get().ok());
}

}  // namespace
}  // namespace weir
