// Clients of a PythonService over gRPC, and calls of the same and of another task.
#include "distribute/transport/python/python_service.h"

#include <chrono>
#include <future>
#include <thread>

#include "absl/synchronization/notification.h"
#include "core/testing.h"
#include "distribute/transport/python/python_codec.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kSecret[] = "0123456789abcdef";

// Its value; a failure, and a default, if there is none in time.
template <typename T>
T Get(std::future<T> future, T otherwise) {
  if (future.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return future.get();
  ADD_FAILURE() << "nothing came within 60 s";
  return otherwise;
}
absl::StatusOr<std::vector<Tensor>> Get(std::future<absl::StatusOr<std::vector<Tensor>>> future) {
  return Get<absl::StatusOr<std::vector<Tensor>>>(std::move(future), errors::Internal("no result"));
}
absl::Status Get(std::future<absl::Status> future) {
  return Get<absl::Status>(std::move(future), errors::Internal("no status"));
}
WirePythonCall Get(std::future<WirePythonCall> future) { return Get<WirePythonCall>(std::move(future), {}); }
std::string Get(std::future<std::string> future) { return Get<std::string>(std::move(future), {}); }

// A client that greets the task and hands its calls to the test.
class Client : public MessageStream::Listener {
 public:
  Client(GrpcChannel* channel, const std::string& service)
      : stream_(channel->OpenStream("/weir.PythonService/Serve")), service_(service) {}

  void OnReady() override {
    ServePythonRequest request;
    request.set_service(service_);
    stream_->Write(MessageToBuffer(request).value());
    stream_->Read();
  }
  void OnMessage(const grpc::ByteBuffer& message) override {
    if (!std::exchange(is_greeted_, true)) {
      ServePythonResponse response;
      task_.set_value(MessageFromBuffer(message, &response).ok() ? response.task() : "malformed");
    } else {
      call_.set_value(DecodePythonCall(message, CpuAllocator()).value());
    }
    stream_->Read();
  }
  void OnWritten() override {}
  void OnEnd(const absl::Status& status) override {
    end_.set_value(status);
    has_ended_.Notify();
  }
  void AwaitEnd() const { has_ended_.WaitForNotification(); }

  MessageStream& stream() { return *stream_; }
  std::future<std::string> Task() { return task_.get_future(); }
  // The next call; before it is made.
  std::future<WirePythonCall> NextCall() {
    call_ = {};
    return call_.get_future();
  }
  std::future<absl::Status> End() { return end_.get_future(); }
  void Answer(const WirePythonResult& result) { stream_->Write(EncodePythonResult(result).value()); }

 private:
  const std::shared_ptr<MessageStream> stream_;
  const std::string service_;
  bool is_greeted_ = false;
  std::promise<std::string> task_;
  std::promise<WirePythonCall> call_;
  std::promise<absl::Status> end_;
  absl::Notification has_ended_;
};

// Memory that claims to be large, but is never read.
class PretendElements : public TensorBuffer {
 public:
  explicit PretendElements(size_t size) : TensorBuffer(byte_, size) {}

 private:
  alignas(64) char byte_[64] = {};
};

tensorflow::GraphOptions SessionOptions(const std::string& service, const std::string& task, int64_t timeout_in_ms) {
  tensorflow::GraphOptions options;
  auto* const optimizer = options.mutable_rewrite_options()->add_custom_optimizers();
  optimizer->set_name(PythonService::kOptimizer);
  auto& parameters = *optimizer->mutable_parameter_map();
  parameters["service"].set_s(service);
  parameters["task"].set_s(task);
  parameters["timeout_in_ms"].set_i(timeout_in_ms);
  return options;
}

ClusterSpec Cluster(const std::string& address) {
  return ClusterSpec::FromJson(absl::StrCat(R"({"w": [")", address, R"(", "127.0.0.1:1"]})")).value();
}

class PythonServiceTest : public ::testing::Test {
 protected:
  static constexpr char kTask[] = "/job:w/replica:0/task:0";

  PythonServiceTest() {
    server_ = GrpcServer::Start({.methods = service_.Methods(), .streams = service_.Streams()}).value();
    channel_ = std::make_unique<GrpcChannel>(GrpcChannelOptions{.address = server_->address()}, &queue_);
  }
  ~PythonServiceTest() override {
    server_->Shutdown(absl::ZeroDuration());
    // A stream that has not ended may still start an operation.
    for (const auto& client : clients_) client->AwaitEnd();
    queue_.Shutdown();
    threads_.reset();
  }

  std::shared_ptr<Client> Connect(const std::string& service = kSecret) {
    auto client = std::make_shared<Client>(channel_.get(), service);
    client->stream().Start(client);
    clients_.push_back(client);
    return client;
  }
  std::shared_ptr<Client> Connected() {
    auto client = Connect();
    EXPECT_EQ(Get(client->Task()), kTask);
    return client;
  }
  static std::shared_ptr<PythonFunctions> Functions(PythonService& service, int64_t timeout_in_ms = 60'000) {
    return service.FunctionsOf(SessionOptions(kSecret, kTask, timeout_in_ms)).value();
  }
  using Result = absl::StatusOr<std::vector<Tensor>>;
  static std::future<Result> Call(PythonFunctions& functions, CancellationManager* cancellation = nullptr) {
    auto result = std::make_shared<std::promise<Result>>();
    functions.CallAsync({.token = "pyfunc_1", .eager = true, .inputs = {AsTensor<float>({1, 2})}}, cancellation,
                        [result](Result outputs) { result->set_value(std::move(outputs)); });
    return result->get_future();
  }

  std::vector<std::shared_ptr<Client>> clients_;
  ClusterMembership membership_{kTask, Cluster("127.0.0.1:2")};
  PythonService service_{&membership_};
  grpc::CompletionQueue queue_;
  std::unique_ptr<PollingThreads> threads_ = std::make_unique<PollingThreads>(&queue_, PollingThreads::Options());
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcChannel> channel_;
};

TEST_F(PythonServiceTest, CallsGoToTheClient) {
  const auto client = Connected();
  auto taken = client->NextCall();
  auto result = Call(*Functions(service_));
  const WirePythonCall call = Get(std::move(taken));
  EXPECT_EQ(call.call.token, "pyfunc_1");
  EXPECT_TRUE(call.call.eager);
  ExpectTensorEqual(call.call.inputs.at(0), AsTensor<float>({1, 2}));
  EXPECT_EQ(call.service, "");
  client->Answer({.id = call.id, .outputs = {AsScalar<tstring>("a"), AsScalar<int32_t>(3)}});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, Get(std::move(result)));
  ExpectTensorEqual(outputs.at(0), AsScalar<tstring>("a"));
  ExpectTensorEqual(outputs.at(1), AsScalar<int32_t>(3));
}

TEST_F(PythonServiceTest, ErrorsArePassedOn) {
  const auto client = Connected();
  auto taken = client->NextCall();
  auto result = Call(*Functions(service_));
  client->Answer({.id = Get(std::move(taken)).id, .status = errors::OutOfRange("StopIteration")});
  EXPECT_THAT(Get(std::move(result)), StatusIs(absl::StatusCode::kOutOfRange, "StopIteration"));
}

TEST_F(PythonServiceTest, AnotherTaskPassesItsCallsOn) {
  const auto client = Connected();
  ClusterMembership membership("/job:w/replica:0/task:1", Cluster(server_->address()));
  PythonService other(&membership);
  auto taken = client->NextCall();
  auto result = Call(*Functions(other));
  client->Answer({.id = Get(std::move(taken)).id, .outputs = {AsScalar<int32_t>(4)}});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, Get(std::move(result)));
  ExpectTensorEqual(outputs.at(0), AsScalar<int32_t>(4));

  taken = client->NextCall();
  result = Call(*Functions(other));
  const absl::Status error = errors::Unavailable(std::string(100'000, 'x'));
  client->Answer({.id = Get(std::move(taken)).id, .status = error});
  EXPECT_EQ(Get(std::move(result)).status(), error);  // neither cut nor a loss of the other task
}

TEST_F(PythonServiceTest, WithoutItsClientACallFails) {
  EXPECT_THAT(Get(Call(*Functions(service_))), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not connected")));
  const auto client = Connected();
  auto taken = client->NextCall();
  auto result = Call(*Functions(service_));
  Get(std::move(taken));
  client->stream().Cancel();
  EXPECT_THAT(Get(std::move(result)), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("its process ended")));
}

TEST_F(PythonServiceTest, AnotherClientOfTheServiceReplacesIt) {
  const auto first = Connected();
  auto taken = first->NextCall();
  auto result = Call(*Functions(service_));
  Get(std::move(taken));
  const auto second = Connected();
  EXPECT_THAT(Get(std::move(result)), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("connected anew")));
  taken = second->NextCall();
  result = Call(*Functions(service_));
  second->Answer({.id = Get(std::move(taken)).id});
  EXPECT_THAT(Get(std::move(result)), IsOk());
}

TEST_F(PythonServiceTest, CancellationAndTimeEndACall) {
  const auto client = Connected();
  CancellationManager cancellation;
  auto taken = client->NextCall();
  auto result = Call(*Functions(service_), &cancellation);
  const uint64_t id = Get(std::move(taken)).id;
  cancellation.StartCancel(errors::Cancelled("the step is over"));
  EXPECT_THAT(Get(std::move(result)), StatusIs(absl::StatusCode::kCancelled, "the step is over"));
  client->Answer({.id = id});  // too late: has no effect
  EXPECT_THAT(Get(Call(*Functions(service_), &cancellation)), StatusIs(absl::StatusCode::kCancelled));
  taken = client->NextCall();
  EXPECT_THAT(Get(Call(*Functions(service_, 1))), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("1ms")));
}

TEST_F(PythonServiceTest, MalformedMessagesEndTheStream) {
  const auto short_secret = Connect("short");
  EXPECT_THAT(Get(short_secret->End()), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16 to 128")));
  const auto client = Connected();
  auto taken = client->NextCall();
  auto result = Call(*Functions(service_));
  Get(std::move(taken));
  const grpc::Slice bytes("\x22\xff\xff");
  client->stream().Write(grpc::ByteBuffer(&bytes, 1));
  EXPECT_THAT(Get(std::move(result)), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PythonResult")));
  EXPECT_FALSE(Get(client->End()).ok());
}

// A stream whose peer reads nothing.
class StuckStream : public MessageStream {
 public:
  void Start(std::shared_ptr<Listener> listener) override { listener_ = std::move(listener); }
  void Read() override {}
  void Write(const grpc::ByteBuffer& message) override { written.push_back(message); }
  uint64_t BytesFromPeer() const override { return 0; }
  void Cancel() override { cancelled.Notify(); }
  void Reject(const absl::Status&) override {}

  // Breaks the cycle of a listener that owns its stream.
  void Release() { listener_.reset(); }

  std::vector<grpc::ByteBuffer> written;
  absl::Notification cancelled;

 private:
  std::shared_ptr<Listener> listener_;
};

TEST(PythonClientTest, CallsForASlowReaderAreBounded) {
  TimerQueue timers;
  const auto stream = std::make_shared<StuckStream>();
  const auto client = std::make_shared<PythonClient>(
      PythonClient::Options{.stream = stream, .timers = &timers, .ended = [](const PythonClient*) {}});
  CancellationManager cancellation;
  std::vector<absl::Status> ended;
  const auto call = [&](const std::string& token, size_t bytes) {
    std::vector<Tensor> inputs;
    inputs.push_back(
        Tensor::FromBuffer(DT_INT8, TensorShape({static_cast<int64_t>(bytes)}), new PretendElements(bytes)));
    client->CallAsync({.token = token, .inputs = std::move(inputs)}, absl::Hours(1), &cancellation,
                      [&ended](auto result) { ended.push_back(result.status()); });
  };
  call("written", 1);
  call("queued", PythonClient::kMaxQueuedBytes - 1000);
  EXPECT_TRUE(ended.empty());
  call("too large", 1 << 20);  // its bytes are shared, never read
  ASSERT_EQ(ended.size(), 1);
  EXPECT_THAT(ended[0], StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("reads too slowly")));

  cancellation.StartCancel(errors::Cancelled("the step is over"));
  EXPECT_EQ(ended.size(), 3);
  client->OnWritten();  // the cancelled call is not sent
  EXPECT_EQ(stream->written.size(), 1);
  client->CallAsync({.token = "later"}, absl::Hours(1), nullptr, [](auto) {});
  EXPECT_EQ(stream->written.size(), 2);
}

TEST(PythonClientTest, AClientThatDoesNotGreetIsDisconnected) {
  TimerQueue timers;
  const auto stream = std::make_shared<StuckStream>();
  std::make_shared<PythonClient>(PythonClient::Options{.stream = stream,
                                                       .timers = &timers,
                                                       .greeting_timeout = absl::Milliseconds(1),
                                                       .ended = [](const PythonClient*) {}})
      ->Start();
  EXPECT_TRUE(stream->cancelled.WaitForNotificationWithTimeout(absl::Seconds(60)));
  stream->Release();
}

TEST(PythonCodecTest, MessagesHaveALimit) {
  const Tensor large = Tensor::FromBuffer(DT_INT8, TensorShape({1 << 30}), new PretendElements(1 << 30));
  EXPECT_THAT(EncodePythonCall({.call = {.token = "f", .inputs = {large, large}}}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("one PythonCall take")));
  EXPECT_THAT(EncodePythonResult({.outputs = {large, large}}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("one PythonResult take")));
}

TEST_F(PythonServiceTest, OptionsAreChecked) {
  ASSERT_OK_AND_ASSIGN(const auto none, service_.FunctionsOf({}));
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(service_.FunctionsOf(SessionOptions("", kTask, 1)), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(service_.FunctionsOf(SessionOptions(kSecret, "", 1)), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(service_.FunctionsOf(SessionOptions(kSecret, kTask, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout_in_ms")));
  ASSERT_OK_AND_ASSIGN(const auto stranger,
                       service_.FunctionsOf(SessionOptions(kSecret, "/job:x/replica:0/task:0", 1)));
  EXPECT_THAT(Get(Call(*stranger)), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/job:x")));
}

}  // namespace
}  // namespace weir
