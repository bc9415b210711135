#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "core/clock.h"
#include "core/testing.h"
#include "core/threads/cancellation.h"
#include "distribute/cluster/address.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/transport/fake_worker_testing.h"
#include "distribute/transport/grpc_master_client.h"
#include "distribute/transport/grpc_master_service.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/wire_format.h"
#include "distribute/transport/workers/grpc_worker_pool.h"
#include "distribute/transport/workers/grpc_worker_service.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTask[] = "/job:ps/replica:0/task:0";

// One task: a fake worker and a fake master behind a server, and clients for both.
class GrpcTransportTest : public testing::Test {
 protected:
  void SetUp() override { StartServer("127.0.0.1:0", worker_service_.Methods()); }
  void TearDown() override {
    pool_.reset();
    server_.reset();
  }

  void StartServer(const std::string& address, std::vector<ServerMethod> methods) {
    GrpcServer::Options options;
    options.bind_address = address;
    options.methods = std::move(methods);
    for (ServerMethod& method : master_service_.Methods()) options.methods.push_back(std::move(method));
    ASSERT_OK_AND_ASSIGN(server_, GrpcServer::Start(std::move(options)));
    if (pool_ != nullptr) return;
    GrpcWorkerPool::Options pool;
    ASSERT_THAT(pool.cluster.AddTask("ps", 0, server_->address()), IsOk());
    pool_ = std::make_unique<GrpcWorkerPool>(std::move(pool));
    ASSERT_OK_AND_ASSIGN(worker_, pool_->Get(kTask));
    master_ = std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = server_->address()});
  }

  absl::Status GetCapabilities() {
    const GetCapabilitiesRequest request;
    GetCapabilitiesResponse response;
    std::promise<absl::Status> done;
    worker_->GetCapabilitiesAsync({}, &request, &response, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }

  absl::Status GetStatus(const CallOptions& options = {}) {
    tensorflow::GetStatusRequest request;
    tensorflow::GetStatusResponse response;
    std::promise<absl::Status> done;
    worker_->GetStatusAsync(options, &request, &response, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }

  std::future<absl::StatusOr<RunGraphResult>> RunGraph(RunGraphArgs args, const CallOptions& options = {}) {
    auto done = std::make_shared<std::promise<absl::StatusOr<RunGraphResult>>>();
    args.graph_handle = "graph";
    worker_->RunGraphAsync(options, std::make_shared<RunGraphArgs>(std::move(args)),
                           [done](absl::StatusOr<RunGraphResult> result) { done->set_value(std::move(result)); });
    return done->get_future();
  }

  // A graph with two feeds and two fetches; `reversed` swaps the client's keys.
  void RegisterGraph(bool reversed = false) {
    RegisterGraphArgs args;
    const char kDevice[] = "/job:ps/replica:0/task:0/device:CPU:0";
    for (const char* op : {"_Recv", "_Send"}) {
      for (const char* tensor : {"a", "b"}) {
        tensorflow::NodeDef* node = args.request.mutable_graph_def()->add_node();
        node->set_name(absl::StrCat(op, tensor));
        node->set_op(op);
        (*node->mutable_attr())["client_terminated"].set_b(true);
        (*node->mutable_attr())["tensor_name"].set_s(tensor);
        (*node->mutable_attr())["send_device"].set_s(kDevice);
        (*node->mutable_attr())["recv_device"].set_s(kDevice);
        (*node->mutable_attr())["send_device_incarnation"].set_i(-2);
        std::vector<std::string>& keys = op[1] == 'R' ? args.feed_keys : args.fetch_keys;
        keys.push_back(RendezvousKey::Create(kDevice, static_cast<uint64_t>(-2), kDevice, tensor, {}));
      }
    }
    if (reversed) {
      std::swap(args.feed_keys[0], args.feed_keys[1]);
      std::swap(args.fetch_keys[0], args.fetch_keys[1]);
    }
    std::promise<absl::StatusOr<std::string>> done;
    worker_->RegisterGraphAsync({}, std::make_shared<RegisterGraphArgs>(std::move(args)),
                                [&](absl::StatusOr<std::string> handle) { done.set_value(handle); });
    ASSERT_OK_AND_ASSIGN(std::string handle, done.get_future().get());
    EXPECT_EQ(handle, "graph");
  }

  grpc::Status RawCall(const char* method, const std::string& bytes) {
    auto channel = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    auto reader = stub.PrepareUnaryCall(&context, method, request, &queue);
    reader->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    reader->Finish(&response, &status, this);
    void* tag;
    bool ok;
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return status;
  }

  FakeWorker fake_worker_;
  FakeMaster fake_master_;
  GrpcWorkerService worker_service_{&fake_worker_};
  GrpcMasterService master_service_{&fake_master_};
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcWorkerPool> pool_;
  std::shared_ptr<WorkerInterface> worker_;
  std::unique_ptr<GrpcMasterClient> master_;
};

TEST_F(GrpcTransportTest, APeerWithoutPeerServiceHasNoCapabilities) {
  EXPECT_THAT(GetCapabilities(), IsOk());
  pool_.reset();
  std::vector<ServerMethod> methods = worker_service_.Methods();
  std::erase_if(methods, [](const ServerMethod& method) { return method.path.rfind("/weir.PeerService/", 0) == 0; });
  StartServer("127.0.0.1:0", std::move(methods));
  EXPECT_THAT(GetStatus(), IsOk());
  EXPECT_THAT(GetCapabilities(), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(GrpcTransportTest, CallsReachTheWorker) {
  EXPECT_THAT(GetStatus(), IsOk());
  tensorflow::CreateSessionRequest request;
  request.set_target("target");
  tensorflow::CreateSessionResponse response;
  ASSERT_THAT(master_->CreateSession({}, request, &response), IsOk());
  EXPECT_EQ(response.session_handle(), "target");
}

TEST_F(GrpcTransportTest, AnErrorKeepsItsOrigin) {
  fake_worker_.status = WithOrigin(errors::NotFound("variable \xc3\xa4 is 100% missing"),
                                   {.task = kTask, .node = "read", .op = "VariableV2"});
  const absl::Status status = GetStatus();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "variable \xc3\xa4 is 100% missing"));
  auto origin = OriginOf(status);
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->node, "read");
  EXPECT_EQ(origin->op, "VariableV2");
}

TEST_F(GrpcTransportTest, AVeryLongErrorArrivesCut) {
  fake_worker_.status = errors::Internal(std::string(100000, '\n'));
  EXPECT_THAT(GetStatus(), StatusIs(absl::StatusCode::kInternal, HasSubstr("(cut)")));
}

TEST_F(GrpcTransportTest, RunGraphMapsKeysToPositions) {
  RegisterGraph();
  RunGraphArgs args;
  args.feeds = {AsScalar<float>(1), AsScalar<float>(2)};
  ASSERT_OK_AND_ASSIGN(RunGraphResult result, RunGraph(args).get());
  EXPECT_TRUE(fake_worker_.last_run->feed_indices.empty());
  ExpectTensorEqual(result.fetches[1], AsScalar<float>(3));

  RegisterGraph(/*reversed=*/true);
  ASSERT_OK_AND_ASSIGN(result, RunGraph(args).get());
  EXPECT_EQ(fake_worker_.last_run->feed_indices, (std::vector<int>{1, 0}));
  EXPECT_EQ(fake_worker_.last_run->fetch_indices, (std::vector<int>{1, 0}));
  ExpectTensorEqual(result.fetches[0], AsScalar<float>(2));
}

TEST_F(GrpcTransportTest, APartialRunGivesAndAsksAPart) {
  RegisterGraph();
  RunGraphArgs args;
  args.is_partial = true;
  args.feed_indices = {1};
  args.feeds = {AsScalar<float>(5)};
  args.fetch_indices = {0};
  ASSERT_OK_AND_ASSIGN(RunGraphResult result, RunGraph(args).get());
  EXPECT_EQ(fake_worker_.last_run->feed_indices, (std::vector<int>{1}));
  EXPECT_EQ(fake_worker_.last_run->fetch_indices, (std::vector<int>{0}));
  ASSERT_EQ(result.fetches.size(), 1);
}

TEST_F(GrpcTransportTest, APartialRunThatGivesAllListsAll) {
  RegisterGraph();
  RunGraphArgs args;
  args.is_partial = true;
  args.feed_indices = {0, 1};
  args.feeds = {AsScalar<float>(5), AsScalar<float>(6)};
  args.fetch_indices = {0, 1};
  ASSERT_THAT(RunGraph(args).get(), IsOk());
  EXPECT_EQ(fake_worker_.last_run->feed_indices, (std::vector<int>{0, 1}));
  EXPECT_EQ(fake_worker_.last_run->fetch_indices, (std::vector<int>{0, 1}));
}

TEST_F(GrpcTransportTest, ARequestThatArrivesTwiceRunsOnce) {
  RegisterGraph();
  RunGraphArgs args;
  args.feeds = {AsScalar<float>(1), AsScalar<float>(2)};
  args.request_id = 42;
  EXPECT_THAT(RunGraph(args).get(), IsOk());
  EXPECT_THAT(RunGraph(args).get(), StatusIs(absl::StatusCode::kAborted, HasSubstr("twice")));
  int steps = 0;
  fake_master_.run_step = [&](const CallOptions&, const RunStepArgs&) {
    RunStepResult result;
    result.fetches = {AsScalar<int32_t>(++steps)};
    return result;
  };
  RunStepArgs step;
  step.request_id = 42;
  step.fetches = {"steps:0"};
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const RunStepResult result, master_->RunStep({}, step));
    ExpectTensorEqual(result.fetches[0], AsScalar<int32_t>(1));
  }
}

TEST_F(GrpcTransportTest, StepsCarryTensors) {
  Tensor large(DT_INT32, TensorShape({3000, 1000}));
  for (int64_t i = 0; i < large.NumElements(); ++i) large.data<int32_t>()[i] = static_cast<int32_t>(i);
  RunStepArgs step;
  step.feeds = {{"x", large}, {"y", Tensor::Vector<tstring>({"a", "b"})}};
  step.fetches = {"x:0", "y:0"};
  ASSERT_OK_AND_ASSIGN(RunStepResult result, master_->RunStep({}, step));
  ExpectTensorEqual(result.fetches[0], large);
  RunCallableArgs callable;
  callable.feeds = {AsScalar<float>(3)};
  ASSERT_OK_AND_ASSIGN(result, master_->RunCallable({}, callable));
  ExpectTensorEqual(result.fetches[0], AsScalar<float>(3));
}

TEST_F(GrpcTransportTest, ErrorsInTheBodyForClientsThatAskForThem) {
  fake_master_.status = errors::OutOfRange("end of data");
  tensorflow::RunStepRequest request;
  request.set_store_errors_in_response_body(true);
  EXPECT_TRUE(RawCall("/tensorflow.MasterService/RunStep", request.SerializeAsString()).ok());
  EXPECT_THAT(master_->RunStep({}, {}), StatusIs(absl::StatusCode::kOutOfRange, "end of data"));
}

TEST_F(GrpcTransportTest, MalformedBytesAndUnknownMethodsAreErrors) {
  for (const ServerMethod& method : worker_service_.Methods()) {
    if (method.path == "/tensorflow.WorkerService/MarkRecvFinished") continue;
    EXPECT_EQ(RawCall(method.path.c_str(), "\x0f\xff\xff").error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method.path;
  }
  for (const ServerMethod& method : master_service_.Methods()) {
    EXPECT_EQ(RawCall(method.path.c_str(), "\x0f\xff\xff").error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method.path;
  }
  for (const char* method : {"/tensorflow.WorkerService/NoSuchMethod", "/no.Service/Method"}) {
    const grpc::Status status = RawCall(method, "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), HasSubstr(method));
  }
}

TEST_F(GrpcTransportTest, ACallEndsAtItsDeadline) {
  RegisterGraph();
  struct Calls {
    std::atomic<int> arrived{0}, cancelled{0};
  };
  const auto calls = std::make_shared<Calls>();  // a call may arrive after the test
  fake_worker_.run_graph = [calls](const CallOptions& options, const RunGraphArgs&, auto done) {
    EXPECT_NE(options.deadline, absl::InfiniteFuture());
    const auto cancel = [calls, done] {
      done(errors::Cancelled("stopped"));
      ++calls->cancelled;
    };
    ++calls->arrived;
    if (options.cancellation->Register(cancel) == CancellationManager::kInvalidToken) cancel();
  };
  RunGraphArgs args;
  args.feeds = {AsScalar<float>(1), AsScalar<float>(2)};
  // A call may also end before it has arrived.
  while (calls->arrived == 0) {
    const CallOptions options{.deadline = MonotonicNow() + absl::Milliseconds(50)};
    EXPECT_THAT(RunGraph(args, options).get(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(kTask)));
  }
  while (calls->cancelled == 0) std::this_thread::yield();
}

TEST_F(GrpcTransportTest, CancellingACallCancelsItOnTheServer) {
  RegisterGraph();
  std::promise<void> running, cancelled;
  fake_worker_.run_graph = [&](const CallOptions& options, const RunGraphArgs&, auto done) {
    options.cancellation->Register([&, done] {
      done(errors::Cancelled("stopped"));
      cancelled.set_value();
    });
    running.set_value();
  };
  RunGraphArgs args;
  args.feeds = {AsScalar<float>(1), AsScalar<float>(2)};
  CancellationManager cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  auto result = RunGraph(args, options);
  running.get_future().wait();
  cancellation.StartCancel(errors::Cancelled("enough"));
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  cancelled.get_future().wait();
  EXPECT_THAT(RunGraph(args, options).get(), StatusIs(absl::StatusCode::kCancelled));
}

// Blocking handlers must not prevent the calls that they wait for from being served.
TEST_F(GrpcTransportTest, BlockedHandlersLeaveTheServerServing) {
  std::promise<void> release;
  std::shared_future<void> released(release.get_future());
  fake_master_.run_step = [&](const CallOptions&, const RunStepArgs&) {
    released.wait();
    return RunStepResult();
  };
  std::vector<std::thread> steps;
  for (int i = 0; i < 20; ++i) {
    steps.emplace_back([&] { EXPECT_THAT(master_->RunStep({}, {}), IsOk()); });
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(GetStatus(), IsOk());
  release.set_value();
  for (std::thread& step : steps) step.join();
}

// The last thread continues to serve calls that do not wait, and notices that waiting callers have gone.
TEST_F(GrpcTransportTest, AServerFullOfCallsThatWaitRejectsMoreAndRecovers) {
  constexpr int kThreads = 4;
  std::atomic<int> waiting{0};
  fake_master_.run_step = [&](const CallOptions& options, const RunStepArgs&) -> absl::StatusOr<RunStepResult> {
    std::promise<void> cancelled;
    const auto token = options.cancellation->Register([&] { cancelled.set_value(); });
    ++waiting;
    if (token != CancellationManager::kInvalidToken) cancelled.get_future().wait();
    return errors::Cancelled("The client went");
  };
  GrpcServer::Options options;
  options.max_threads = kThreads;
  options.methods = master_service_.Methods();
  for (ServerMethod& method : worker_service_.Methods()) options.methods.push_back(std::move(method));
  ASSERT_OK_AND_ASSIGN(const auto server, GrpcServer::Start(std::move(options)));
  GrpcMasterClient client(GrpcChannelOptions{.address = server->address()});
  CancellationManager gone;
  std::vector<std::thread> steps;
  for (int i = 1; i < kThreads; ++i) {
    steps.emplace_back([&] { client.RunStep({.cancellation = &gone}, {}).IgnoreError(); });
  }
  while (waiting < kThreads - 1) std::this_thread::yield();
  EXPECT_THAT(client.RunStep({}, {}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no more calls that wait")));
  GrpcChannel channel({.address = server->address()}, nullptr);
  ASSERT_OK_AND_ASSIGN(const grpc::ByteBuffer request, MessageToBuffer(tensorflow::GetStatusRequest()));
  EXPECT_THAT(channel.Call("/tensorflow.WorkerService/GetStatus", {}, request).status(), IsOk());
  gone.StartCancel(errors::Cancelled("enough"));
  for (std::thread& step : steps) step.join();
  fake_master_.run_step = nullptr;
  while (!client.RunStep({}, {}).ok()) std::this_thread::yield();
}

// CloseSession waits for the steps that it ends.
TEST_F(GrpcTransportTest, AServerFullOfCallsThatWaitClosesSessions) {
  std::promise<void> closed;
  const std::shared_future<void> is_closed = closed.get_future().share();
  std::atomic<int> waiting{0};
  fake_master_.run_step = [&](const CallOptions&, const RunStepArgs&) -> absl::StatusOr<RunStepResult> {
    ++waiting;
    is_closed.wait();
    return errors::Cancelled("The session was closed");
  };
  std::promise<void> close_waits;
  fake_master_.close_session = [&] {
    close_waits.set_value();
    is_closed.wait();
  };
  GrpcServer::Options options;
  options.max_threads = 2;
  options.methods = master_service_.Methods();
  for (ServerMethod& method : worker_service_.Methods()) options.methods.push_back(std::move(method));
  ASSERT_OK_AND_ASSIGN(const auto server, GrpcServer::Start(std::move(options)));
  GrpcMasterClient client(GrpcChannelOptions{.address = server->address()});
  std::thread step([&] { client.RunStep({}, {}).IgnoreError(); });
  while (waiting < 1) std::this_thread::yield();
  std::thread closing([&] {
    tensorflow::CloseSessionRequest request;
    tensorflow::CloseSessionResponse response;
    EXPECT_THAT(client.CloseSession({}, request, &response), IsOk());
  });
  close_waits.get_future().wait();
  GrpcChannel channel({.address = server->address()}, nullptr);
  ASSERT_OK_AND_ASSIGN(const grpc::ByteBuffer request, MessageToBuffer(tensorflow::GetStatusRequest()));
  EXPECT_THAT(
      channel.Call("/tensorflow.WorkerService/GetStatus", {.deadline = MonotonicNow() + absl::Seconds(30)}, request)
          .status(),
      IsOk());
  closed.set_value();
  closing.join();
  step.join();
  fake_master_.run_step = nullptr;
  fake_master_.close_session = nullptr;
}

TEST_F(GrpcTransportTest, ADeadTaskIsNamedAndFoundAgain) {
  ASSERT_OK_AND_ASSIGN(const auto port, ReservedPort::Create());  // else another process may take it meanwhile
  const std::string& address = port->address();
  pool_.reset();
  StartServer(address, worker_service_.Methods());
  EXPECT_THAT(GetStatus(), IsOk());
  server_.reset();
  const absl::Status status = GetStatus();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr(kTask)));
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
  ASSERT_TRUE(OriginOf(status).has_value());
  EXPECT_EQ(OriginOf(status)->task, kTask);

  StartServer(address, worker_service_.Methods());
  const auto start = std::chrono::steady_clock::now();
  while (!GetStatus().ok()) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
    std::this_thread::yield();
  }
}

TEST_F(GrpcTransportTest, ATakenPortIsAnError) {
  GrpcServer::Options options;
  options.bind_address = server_->address();
  EXPECT_THAT(GrpcServer::Start(options), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(server_->address())));
  options.bind_address = "203.0.113.1:0";
  EXPECT_THAT(GrpcServer::Start(options), StatusIs(absl::StatusCode::kInvalidArgument));
}

// gRPC's own listener would never accept again.
TEST_F(GrpcTransportTest, AServerWithoutFilesServesAgainOnceThereAreSome) {
  sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ASSERT_OK_AND_ASSIGN(const Address address, Address::Parse(server_->address()));
  name.sin_port = htons(static_cast<uint16_t>(address.port()));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = 200, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> files;
  for (int i = 0; i < 10; ++i) files.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  while (files.back() >= 0) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(errno, EMFILE);
  for (int i = 0; i < 10; ++i) connect(files[i], reinterpret_cast<sockaddr*>(&name), sizeof(name));
  files.pop_back();
  close(files.back());  // one file is not enough: it is for other work
  files.pop_back();
  char byte;
  EXPECT_LE(recv(files[0], &byte, 1, 0), 0);
  for (const int file : files) close(file);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  GrpcMasterClient client(GrpcChannelOptions{.address = server_->address()});
  EXPECT_THAT(client.RunStep({.deadline = MonotonicNow() + absl::Seconds(30)}, {}), IsOk());
}

TEST_F(GrpcTransportTest, ACallerWithoutFilesNamesTheirLimit) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = 150, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> files;
  do {
    files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (files.back() >= 0);
  files.pop_back();
  GrpcMasterClient client(GrpcChannelOptions{.address = server_->address()});
  const absl::Status failed = client.RunStep({.deadline = MonotonicNow() + absl::Seconds(30)}, {}).status();
  for (const int file : files) close(file);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("150 open files"), HasSubstr("ulimit -n"), HasSubstr("LimitNOFILE"))));
  EXPECT_THAT(client.RunStep({.deadline = MonotonicNow() + absl::Seconds(30)}, {}), IsOk());
}

TEST_F(GrpcTransportTest, AServerStartsAndStopsAHundredTimes) {
  for (int i = 0; i < 100; ++i) {
    FakeWorker worker;
    GrpcWorkerService service(&worker);
    GrpcServer::Options options;
    options.methods = service.Methods();
    ASSERT_OK_AND_ASSIGN(auto server, GrpcServer::Start(std::move(options)));
  }
}

TEST_F(GrpcTransportTest, ShutdownCancelsWhatIsInFlight) {
  RegisterGraph();
  std::promise<void> running;
  fake_worker_.run_graph = [&](const CallOptions& options, const RunGraphArgs&, auto done) {
    options.cancellation->Register([done] { done(errors::Cancelled("stopped")); });
    running.set_value();
  };
  RunGraphArgs args;
  args.feeds = {AsScalar<float>(1), AsScalar<float>(2)};
  auto result = RunGraph(args);
  running.get_future().wait();
  server_->Shutdown(absl::Milliseconds(10));
  EXPECT_FALSE(result.get().ok());
}

TEST_F(GrpcTransportTest, AnOversizedRequestIsRejected) {
  GrpcServer::Options options;
  options.max_request_bytes = 1000;
  options.methods = master_service_.Methods();
  ASSERT_OK_AND_ASSIGN(auto server, GrpcServer::Start(std::move(options)));
  GrpcMasterClient client(GrpcChannelOptions{.address = server->address()});
  RunStepArgs step;
  step.feeds = {{"x", Tensor(DT_FLOAT, TensorShape({1000}))}};
  EXPECT_THAT(client.RunStep({}, step), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(GrpcTransportTest, AnAcknowledgedTensorIsAnswered) {
  EXPECT_TRUE(RawCall("/tensorflow.WorkerService/MarkRecvFinished", "").ok());
}

TEST_F(GrpcTransportTest, AnUnknownTaskIsNotFound) {
  EXPECT_THAT(pool_->Get("/job:ps/replica:0/task:7"), StatusIs(absl::StatusCode::kNotFound, HasSubstr(kTask)));
}

}  // namespace
}  // namespace weir
