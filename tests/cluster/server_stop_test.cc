// A server stops in bounded time, and says what keeps it from that.
#include <google/protobuf/text_format.h>

#include <future>
#include <string>

#include "absl/synchronization/notification.h"
#include "core/clock.h"
#include "core/kernel/kernel_registry.h"
#include "core/testing.h"
#include "distribute/transport/grpc_master_client.h"
#include "kernels/library.h"
#include "tools/server.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Notification* begun = nullptr;
absl::Notification* cancelled = nullptr;
absl::Notification* may_end = nullptr;

// Ignores that its step is cancelled.
class StubbornKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& context) override {
    const auto token = context.cancellation()->Register([] { cancelled->Notify(); });
    begun->Notify();
    may_end->WaitForNotification();
    context.cancellation()->Deregister(token);
    return absl::OkStatus();
  }
};

class ServerStopTest : public testing::Test {
 protected:
  void SetUp() override {
    begun = &begun_;
    cancelled = &cancelled_;
    may_end = &may_end_;
    ASSERT_THAT(RegisterAllOps(ops_), IsOk());
    ASSERT_THAT(RegisterAllKernels(kernels_), IsOk());
    ASSERT_THAT(ops_.Register(Op("Stubborn").Stateful()), IsOk());
    ASSERT_THAT(kernels_.Register<StubbornKernel>(Kernel("Stubborn").Cpu()), IsOk());
    ClusterSpec cluster;
    ASSERT_THAT(cluster.AddTask("worker", 0, "127.0.0.1:1"), IsOk());  // nobody calls it there
    ASSERT_OK_AND_ASSIGN(server_, Server::Start({.cluster = cluster,
                                                 .job = "worker",
                                                 .index = 0,
                                                 .bind_address = "127.0.0.1:0",
                                                 .ops = &ops_,
                                                 .kernels = &kernels_}));
    client_ = std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = server_->address()});
    tensorflow::CreateSessionRequest request;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      versions { producer: 1882 }
      node { name: "stubborn" op: "Stubborn" }
      node { name: "none" op: "NoOp" })",
                                                              request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(client_->CreateSession(Soon(), request, &response), IsOk());
    session_ = response.session_handle();
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }
  absl::Status Run(const std::string& target) {
    RunStepArgs args;
    args.session_handle = session_;
    args.targets = {target};
    return client_->RunStep(Soon(), args).status();
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  absl::Notification begun_, cancelled_, may_end_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<GrpcMasterClient> client_;
  std::string session_;
};

TEST_F(ServerStopTest, StopNamesTheKernelThatDoesNotEnd) {
  auto step = std::async(std::launch::async, [this] { return Run("stubborn"); });
  begun_.WaitForNotification();
  EXPECT_THAT(server_->Stop(absl::Milliseconds(50), absl::Milliseconds(150)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("Task /job:worker/replica:0/task:0 did not stop within 200ms"),
                             HasSubstr("node 'stubborn' (Stubborn) on /job:worker/replica:0/task:0/device:CPU:0"))));
  // The thread that stops the task may be late.
  EXPECT_TRUE(cancelled_.WaitForNotificationWithTimeout(absl::Seconds(30)));
  may_end_.Notify();
  EXPECT_FALSE(step.get().ok());
  EXPECT_THAT(server_->Stop(absl::ZeroDuration(), absl::Seconds(60)), IsOk());
}

TEST_F(ServerStopTest, AnIdleServerStopsAtOnce) {
  ASSERT_THAT(Run("none"), IsOk());
  EXPECT_THAT(server_->Stop(), IsOk());
  EXPECT_THAT(server_->Stop(), IsOk());
}

}  // namespace
}  // namespace weir
