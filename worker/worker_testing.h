// A worker with two CPU devices, and hand-made graphs for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/incarnation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "worker/executor/executor_testing.h"
#include "worker/worker.h"

namespace weir {

inline constexpr char kTask[] = "/job:worker/replica:0/task:0";
inline constexpr char kCpu0[] = "/job:worker/replica:0/task:0/device:CPU:0";
inline constexpr char kCpu1[] = "/job:worker/replica:0/task:0/device:CPU:1";

// The result of an asynchronous call.
template <typename T>
class Promise {
 public:
  void Set(T value) {
    std::lock_guard<std::mutex> lock(mu_);
    value_.emplace(std::move(value));
    cv_.notify_one();
  }
  T Wait() {
    std::unique_lock<std::mutex> lock(mu_);
    cv_.wait(lock, [this] { return value_.has_value(); });
    return *std::move(value_);
  }
  bool IsSet() {
    std::lock_guard<std::mutex> lock(mu_);
    return value_.has_value();
  }
  // False if it is not set within `patience`.
  bool IsSetWithin(std::chrono::seconds patience) {
    std::unique_lock<std::mutex> lock(mu_);
    return cv_.wait_for(lock, patience, [this] { return value_.has_value(); });
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::optional<T> value_;
};

class WorkerTest : public ::testing::Test {
 protected:
  using Fetched = absl::StatusOr<RunGraphResult>;

  WorkerTest() : queue_(WorkQueue::Create({.name = "test", .compute_threads = 2})) { StartWorker(); }

  // Like a starting process: a second one is the first after a restart.
  void StartWorker() {
    worker_.reset();
    devices_.clear();
    for (int i = 0; i < 2; ++i) devices_.push_back(NewCpuDevice(*DeviceName::Parse(kTask), i, queue_.get()));
    worker_ = *Worker::Create({.task = kTask,
                               .devices = {devices_[0].get(), devices_[1].get()},
                               .ops = &ExecutorTestOps(),
                               .kernels = &ExecutorTestKernels(),
                               .peers = peers_,
                               .timers = &timers_});
    EXPECT_TRUE(CreateSession("s").ok());
  }

  absl::Status CreateSession(const std::string& handle, int64_t incarnation = 1, bool isolate = false,
                             absl::Time deadline = absl::InfiniteFuture()) {
    Promise<absl::Status> done;
    StartSession(handle, incarnation, &done, isolate, deadline);
    return done.Wait();
  }
  void StartSession(const std::string& handle, int64_t incarnation, Promise<absl::Status>* done, bool isolate = false,
                    absl::Time deadline = absl::InfiniteFuture()) {
    auto request = std::make_shared<tensorflow::CreateWorkerSessionRequest>();
    auto response = std::make_shared<tensorflow::CreateWorkerSessionResponse>();
    request->set_session_handle(handle);
    request->set_master_task("/job:master/replica:0/task:0");
    request->set_master_incarnation(incarnation);
    request->set_isolate_session_state(isolate);
    worker_->CreateWorkerSessionAsync({.deadline = deadline}, request.get(), response.get(),
                                      [request, response, done](absl::Status s) { done->Set(std::move(s)); });
  }
  void StartFence(const std::string& session, const std::vector<int64_t>& steps, Promise<absl::Status>* done,
                  const CallOptions& options = {}) {
    auto request = std::make_shared<FenceStepsRequest>();
    auto response = std::make_shared<FenceStepsResponse>();
    request->set_session_handle(session);
    for (const int64_t id : steps) request->add_step_id(id);
    worker_->FenceStepsAsync(options, request.get(), response.get(),
                             [request, response, done](absl::Status s) { done->Set(std::move(s)); });
  }
  absl::Status Fence(const std::string& session, const std::vector<int64_t>& steps, const CallOptions& options = {}) {
    Promise<absl::Status> done;
    StartFence(session, steps, &done, options);
    return done.Wait();
  }
  void DeleteSession(const std::string& handle) {
    tensorflow::DeleteWorkerSessionRequest request;
    tensorflow::DeleteWorkerSessionResponse response;
    request.set_session_handle(handle);
    worker_->DeleteWorkerSessionAsync({}, &request, &response, [](const absl::Status& s) { EXPECT_TRUE(s.ok()); });
  }
  void Cleanup(int64_t step) {
    tensorflow::CleanupGraphRequest request;
    tensorflow::CleanupGraphResponse response;
    request.set_step_id(step);
    worker_->CleanupGraphAsync({}, &request, &response, [](const absl::Status& s) { EXPECT_TRUE(s.ok()); });
  }

  std::vector<TestGraph::Attr> TransferAttrs(const std::string& tensor, bool is_client, bool is_send) {
    return {TestGraph::A(is_send ? "T" : "tensor_type", DT_INT64),
            TestGraph::A("tensor_name", tensor),
            TestGraph::A("send_device", std::string(kCpu0)),
            TestGraph::A("send_device_incarnation", static_cast<int64_t>(devices_[0]->incarnation())),
            TestGraph::A("recv_device", std::string(kCpu0)),
            TestGraph::A("client_terminated", is_client)};
  }
  std::string Key(const std::string& tensor) {
    return RendezvousKey::Create(kCpu0, devices_[0]->incarnation(), kCpu0, tensor, {});
  }
  Out Feed(const std::string& name) {
    return g_.Add("_Recv", {}, TransferAttrs(name, true, false), {}, "_feed_" + name);
  }
  void Fetch(Out value, const std::string& name) {
    g_.Add("_Send", {value}, TransferAttrs(name, true, true), {}, "_fetch_" + name);
  }

  absl::StatusOr<std::string> Register(std::vector<std::string> feeds, std::vector<std::string> fetches,
                                       const std::string& session = "s", const CallOptions& call = {}) {
    auto args = std::make_shared<RegisterGraphArgs>();
    args->request.set_session_handle(session);
    *args->request.mutable_graph_def() = g_.graph().ToGraphDef();
    for (const auto& feed : feeds) args->feed_keys.push_back(Key(feed));
    for (const auto& fetch : fetches) args->fetch_keys.push_back(Key(fetch));
    g_ = TestGraph();
    Promise<absl::StatusOr<std::string>> handle;
    worker_->RegisterGraphAsync(call, args, [&](absl::StatusOr<std::string> h) { handle.Set(std::move(h)); });
    return handle.Wait();
  }
  static std::vector<Tensor> Ints(std::vector<int64_t> values) {
    std::vector<Tensor> tensors;
    for (int64_t value : values) tensors.push_back(Tensor::Scalar<int64_t>(value));
    return tensors;
  }
  void Start(RunGraphArgs args, Promise<Fetched>* result, CallOptions options = {}) {
    if (args.session_handle.empty()) args.session_handle = "s";
    worker_->RunGraphAsync(options, std::make_shared<RunGraphArgs>(std::move(args)),
                           [result](Fetched r) { result->Set(std::move(r)); });
  }
  Fetched Run(RunGraphArgs args, CallOptions options = {}) {
    Promise<Fetched> result;
    Start(std::move(args), &result, options);
    return result.Wait();
  }

  PeerFinder peers_;  // for StartWorker
  std::unique_ptr<WorkQueue> queue_;
  TimerQueue timers_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Worker> worker_;
  TestGraph g_;
};

}  // namespace weir
