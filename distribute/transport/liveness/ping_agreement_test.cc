#include "distribute/transport/liveness/ping_agreement.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "absl/cleanup/cleanup.h"
#include "core/files/file_system.h"
#include "core/testing.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/polling_threads.h"

namespace weir {
namespace {

constexpr absl::Duration kPingInterval = absl::Milliseconds(50);
constexpr auto kLongCall = std::chrono::seconds(1);

// A server with gRPC's defaults, which rejects pings; each call takes as many milliseconds as its request says.
class PlainServer : public grpc::CallbackGenericService {
 public:
  PlainServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~PlainServer() override { server_->Shutdown(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    class Call : public grpc::ServerGenericBidiReactor {
     public:
      Call() { StartRead(&request_); }
      void OnReadDone(bool) override {
        // Waits for gRPC's own timers: nothing else shows that a ping would have been sent.
        std::this_thread::sleep_for(kLongCall);
        StartWriteAndFinish(&request_, grpc::WriteOptions(), grpc::Status::OK);
      }
      void OnDone() override { delete this; }

     private:
      grpc::ByteBuffer request_;
    };
    return new Call();
  }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

grpc::ByteBuffer Request() {
  grpc::Slice slice("request");
  return grpc::ByteBuffer(&slice, 1);
}

TEST(PingAgreementTest, AServerThatDidNotAgreeIsNotPinged) {
  PlainServer server;
  ASSERT_NE(server.address(), "127.0.0.1:0");
  GrpcChannel channel({.address = server.address(), .ping_interval = kPingInterval}, nullptr);
  for (int call = 0; call < 2; ++call) {
    EXPECT_THAT(channel.Call("/service/Method", {}, Request()), IsOk());
  }
}

TEST(PingAgreementTest, AServerOfOursAgreesToTheOneWhoAsks) {
  GrpcServer::Options options;
  options.bind_address = "127.0.0.1:0";
  options.methods = {{"/service/Method", [](ServerCall* call) { call->Finish(call->request()); }}};
  ASSERT_OK_AND_ASSIGN(auto server, GrpcServer::Start(std::move(options)));
  for (const bool asks : {false, true}) {
    const auto channel = grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials());
    grpc::ClientContext context;
    if (asks) AskForPings(&context);
    grpc::ByteBuffer response;
    const grpc::internal::RpcMethod method("/service/Method", grpc::internal::RpcMethod::NORMAL_RPC);
    ASSERT_TRUE(grpc::internal::BlockingUnaryCall(channel.get(), method, &context, Request(), &response).ok());
    EXPECT_EQ(AgreesToPings(context), asks);
  }
}

// A server that has agreed is pinged on a new connection. If that fails, no call ends.
class NewConnectionTest : public testing::TestWithParam<bool> {};

TEST_P(NewConnectionTest, CallsGoOverTheFormerUntilTheNewOneIsThere) {
  const bool is_async = GetParam();
  const std::string path = JoinPath(testing::TempDir(), absl::StrCat("new_connection_", getpid(), "_", is_async));
  GrpcServer::Options options;
  options.bind_address = absl::StrCat("unix:", path);
  options.methods = {{"/service/Method", [](ServerCall* call) { call->Finish(call->request()); }}};
  ASSERT_OK_AND_ASSIGN(auto server, GrpcServer::Start(std::move(options)));
  grpc::CompletionQueue queue;
  PollingThreads threads(&queue, {.spare = 1});
  const absl::Cleanup drain = [&queue] { queue.Shutdown(); };
  GrpcChannel channel({.address = absl::StrCat("unix:", path)}, &queue);
  const auto call = [&] {
    if (!is_async) return channel.Call("/service/Method", {}, Request()).status();
    std::promise<absl::Status> ended;
    channel.CallAsync("/service/Method", {}, Request(), [&](const auto& reply) { ended.set_value(reply.status()); });
    return ended.get_future().get();
  };
  ASSERT_THAT(call(), IsOk());
  const std::string elsewhere = path + ".elsewhere";
  ASSERT_EQ(rename(path.c_str(), elsewhere.c_str()), 0);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(call(), IsOk());
  ASSERT_EQ(rename(elsewhere.c_str(), path.c_str()), 0);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(call(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Calls, NewConnectionTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Asynchronous" : "Blocking"; });

}  // namespace
}  // namespace weir
