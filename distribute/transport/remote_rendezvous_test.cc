#include "distribute/transport/remote_rendezvous.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "core/rendezvous/rendezvous_conformance_testing.h"
#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/workers/grpc_worker_pool.h"
#include "distribute/transport/workers/grpc_worker_service.h"
#include "distribute/transport/workers/transport_service.h"

namespace weir {
namespace {

constexpr char kReceiver[] = "/job:worker/replica:0/task:1";

constexpr char kSender[] = "/job:worker/replica:0/task:0";

// The sender's task behind a server; the receiver pulls from it.
struct Loopback {
  FakeWorker worker;
  GrpcWorkerService service{&worker};
  std::unique_ptr<LinkPoller> sender_links, receiver_links;       // null: there are none
  std::unique_ptr<StreamLinks> sender_streams, receiver_streams;  // the same
  std::unique_ptr<TransportService> transport;
  std::unique_ptr<GrpcServer> server;
  std::unique_ptr<GrpcWorkerPool> pool;

  ~Loopback() {
    StopSender();
    if (receiver_links != nullptr) receiver_links->Stop();
    if (receiver_streams != nullptr) receiver_streams->Stop();
    pool.reset();
  }
  void StopSender() {
    server.reset();
    BreakLinks();
  }
  // gRPC's server waits for its own handlers, but not for those of links.
  void BreakLinks() {
    if (sender_links != nullptr) sender_links->Stop();
    if (sender_streams != nullptr) sender_streams->Stop();
  }

  // Calls until one has used the link.
  absl::Status AwaitLink() {
    ASSIGN_OR_RETURN(const auto sender, pool->Get(kSender));
    tensorflow::CleanupGraphRequest request;
    tensorflow::CleanupGraphResponse response;
    ListLinksResponse links;
    do {
      std::promise<absl::Status> done;
      sender->CleanupGraphAsync({}, &request, &response, [&done](const absl::Status& s) { done.set_value(s); });
      RETURN_IF_ERROR(done.get_future().get());
      links.Clear();
      if (receiver_links != nullptr) receiver_links->Describe(&links);
      if (receiver_streams != nullptr) receiver_streams->Describe(&links);
    } while (absl::c_none_of(links.link(), [](const auto& link) { return link.frames_sent() > 0; }));
    return absl::OkStatus();
  }
};

RendezvousPair Over(const std::shared_ptr<Loopback>& loopback) {
  GrpcServer::Options options;
  options.methods = loopback->service.Methods();
  if (loopback->sender_links != nullptr || loopback->sender_streams != nullptr) {
    loopback->transport = std::make_unique<TransportService>(
        &loopback->worker, options.methods, loopback->sender_links.get(), loopback->sender_streams.get());
    options.streams = loopback->transport->Streams();
    for (ServerMethod& method : loopback->transport->Methods()) options.methods.push_back(std::move(method));
  }
  auto server = GrpcServer::Start(std::move(options));
  EXPECT_THAT(server, IsOk());
  loopback->server = *std::move(server);
  GrpcWorkerPool::Options pool;
  pool.local_task = kReceiver;
  pool.channel.links = loopback->receiver_links.get();
  pool.channel.streams = loopback->receiver_streams.get();
  EXPECT_THAT(pool.cluster.AddTask("worker", 0, loopback->server->address()), IsOk());
  EXPECT_THAT(pool.cluster.AddTask("worker", 1, "127.0.0.1:0"), IsOk());
  loopback->pool = std::make_unique<GrpcWorkerPool>(std::move(pool));
  RendezvousPair pair;
  pair.sender = loopback->worker.rendezvous;
  pair.receiver =
      NewRemoteRendezvous({.step_id = 1,
                           .local_task = kReceiver,
                           .local = NewLocalRendezvous(),
                           .workers = std::shared_ptr<WorkerPool>(std::shared_ptr<void>(), loopback->pool.get()),
                           .variants = nullptr,
                           .log = nullptr});
  pair.keep_alive = loopback;
  return pair;
}

RendezvousPair OverGrpc() { return Over(std::make_shared<Loopback>()); }

RendezvousPair OverLink() {
  auto loopback = std::make_shared<Loopback>();
  for (auto* poller : {&loopback->sender_links, &loopback->receiver_links}) {
    auto created = LinkPoller::Create();
    EXPECT_THAT(created, IsOk());
    *poller = *std::move(created);
  }
  RendezvousPair pair = Over(loopback);
  EXPECT_THAT(loopback->AwaitLink(), IsOk());
  return pair;
}

RendezvousPair OverStream() {
  auto loopback = std::make_shared<Loopback>();
  loopback->sender_streams = std::make_unique<StreamLinks>();
  loopback->receiver_streams = std::make_unique<StreamLinks>();
  RendezvousPair pair = Over(loopback);
  EXPECT_THAT(loopback->AwaitLink(), IsOk());
  return pair;
}

INSTANTIATE_TEST_SUITE_P(Grpc, RendezvousConformance, testing::Values(RendezvousFactory(OverGrpc)));
INSTANTIATE_TEST_SUITE_P(Link, RendezvousConformance, testing::Values(RendezvousFactory(OverLink)));
INSTANTIATE_TEST_SUITE_P(Stream, RendezvousConformance, testing::Values(RendezvousFactory(OverStream)));
// A task's own keys stay within the task.
INSTANTIATE_TEST_SUITE_P(RemoteLocal, RendezvousConformance, testing::Values(RendezvousFactory([] {
                           auto rendezvous = NewRemoteRendezvous({.step_id = 1,
                                                                  .local_task = kSender,
                                                                  .local = NewLocalRendezvous(),
                                                                  .workers = nullptr,
                                                                  .variants = nullptr,
                                                                  .log = nullptr});
                           return RendezvousPair{rendezvous, rendezvous, nullptr};
                         })));

class RemoteRendezvousTest : public testing::TestWithParam<RendezvousFactory> {};

TEST_P(RemoteRendezvousTest, ADeadSenderIsNamed) {
  RendezvousPair pair = GetParam()();
  static_cast<Loopback*>(pair.keep_alive.get())->StopSender();
  const std::string key = RendezvousKey::Create(pair.src_device, 1, pair.dst_device, "edge", {});
  std::promise<absl::Status> done;
  pair.receiver->RecvAsync(key, {},
                           [&](absl::StatusOr<Rendezvous::Received> received) { done.set_value(received.status()); });
  const absl::Status status = done.get_future().get();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_TRUE(OriginOf(status).has_value());
  EXPECT_EQ(OriginOf(status)->task, kSender);
}

TEST_P(RemoteRendezvousTest, ASenderThatGoesIsNamed) {
  RendezvousPair pair = GetParam()();
  const std::string key = RendezvousKey::Create(pair.src_device, 1, pair.dst_device, "edge", {});
  std::promise<absl::Status> done;
  pair.receiver->RecvAsync(key, {},
                           [&](absl::StatusOr<Rendezvous::Received> received) { done.set_value(received.status()); });
  auto* const loopback = static_cast<Loopback*>(pair.keep_alive.get());
  loopback->BreakLinks();
  loopback->StopSender();
  const absl::Status status = done.get_future().get();
  EXPECT_FALSE(status.ok());
  ASSERT_TRUE(OriginOf(status).has_value()) << status;
  EXPECT_EQ(OriginOf(status)->task, kSender);
}

// Of every size: in one frame, in many, and through shared memory.
TEST_P(RemoteRendezvousTest, TensorsArriveAsTheyAre) {
  RendezvousPair pair = GetParam()();
  for (const int64_t size : {0, 1, 1000, 100'000, 3'000'000}) {
    const std::string key = RendezvousKey::Create(pair.src_device, 1, pair.dst_device, absl::StrCat("edge", size), {});
    Tensor sent(DT_STRING, {size / 1000});
    for (int64_t i = 0; i < size / 1000; ++i)
      sent.data<std::string>()[i] = std::string(1000, static_cast<char>('a' + i % 26));
    Tensor floats(DT_FLOAT, {size});
    for (int64_t i = 0; i < size; ++i) floats.data<float>()[i] = static_cast<float>(i);
    for (const Tensor& tensor : {sent, floats}) {
      std::promise<absl::StatusOr<Rendezvous::Received>> done;
      pair.receiver->RecvAsync(
          key, {}, [&](absl::StatusOr<Rendezvous::Received> received) { done.set_value(std::move(received)); });
      ASSERT_THAT(pair.sender->Send(key, tensor, false), IsOk());
      ASSERT_OK_AND_ASSIGN(const Rendezvous::Received received, done.get_future().get());
      EXPECT_EQ(received.tensor.shape(), tensor.shape());
      EXPECT_EQ(received.tensor.dtype(), tensor.dtype());
      const bool is_same =
          tensor.dtype() == DT_STRING
              ? std::equal(sent.data<std::string>(), sent.data<std::string>() + size / 1000,
                           received.tensor.data<std::string>())
              : std::equal(floats.data<float>(), floats.data<float>() + size, received.tensor.data<float>());
      EXPECT_TRUE(is_same) << size;
    }
  }
}

TEST_P(RemoteRendezvousTest, AMalformedKeyIsAnError) {
  RendezvousPair pair = GetParam()();
  std::promise<absl::Status> done;
  pair.receiver->RecvAsync("no key", {},
                           [&](absl::StatusOr<Rendezvous::Received> received) { done.set_value(received.status()); });
  EXPECT_THAT(done.get_future().get(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TransferLogTest, ATracedStepKnowsTheWayOfEachTensor) {
  const auto route = [](const RendezvousPair& pair, absl::string_view edge, const Tensor& tensor) {
    auto log = std::make_shared<TransferLog>();
    const auto receiver =
        NewRemoteRendezvous({.step_id = 1,
                             .local_task = kReceiver,
                             .local = NewLocalRendezvous(),
                             .workers = std::shared_ptr<WorkerPool>(
                                 std::shared_ptr<void>(), static_cast<Loopback*>(pair.keep_alive.get())->pool.get()),
                             .variants = nullptr,
                             .log = log});
    log->Start();
    const std::string key = RendezvousKey::Create(pair.src_device, 1, pair.dst_device, edge, {3, 7});
    EXPECT_THAT(pair.sender->Send(key, tensor, false), IsOk());
    std::promise<absl::Status> done;
    receiver->RecvAsync(key, {}, [&](const absl::StatusOr<Rendezvous::Received>& r) { done.set_value(r.status()); });
    EXPECT_THAT(done.get_future().get(), IsOk());
    return std::string(log->routes().at(RendezvousKey::Prefix(pair.src_device, 1, pair.dst_device, edge)));
  };
  EXPECT_EQ(route(OverGrpc(), "small", Tensor::Scalar<float>(1)), "over gRPC");
  EXPECT_EQ(route(OverLink(), "small", Tensor::Scalar<float>(1)), "through a link");
  EXPECT_EQ(route(OverStream(), "small", Tensor::Scalar<float>(1)), "through a stream");
  EXPECT_EQ(route(OverStream(), "large", Tensor(DT_FLOAT, {1'000'000})), "through a stream");
}

INSTANTIATE_TEST_SUITE_P(Transports, RemoteRendezvousTest,
                         testing::Values(RendezvousFactory(OverGrpc), RendezvousFactory(OverLink),
                                         RendezvousFactory(OverStream)),
                         [](const auto& info) {
                           return info.index == 0 ? "Grpc" : info.index == 1 ? "Link" : "Stream";
                         });

}  // namespace
}  // namespace weir
