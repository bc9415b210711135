#include "worker/worker.h"

#include "core/clock.h"
#include "core/testing.h"
#include "tensorflow/core/framework/function.pb.h"
#include "worker/worker_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST_F(WorkerTest, ReportsItsDevices) {
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
  worker_->GetStatusAsync({}, &request, &response, [](const absl::Status& s) { EXPECT_TRUE(s.ok()); });
  ASSERT_EQ(response.device_attributes_size(), 2);
  EXPECT_EQ(response.device_attributes(1).name(), kCpu1);
  EXPECT_EQ(response.device_attributes(0).incarnation(), devices_[0]->incarnation());
}

TEST_F(WorkerTest, FeedsAndFetchesByPosition) {
  Out x = Feed("x"), y = Feed("y");
  Fetch(g_.I64("Sub", {x, y}), "difference");
  Fetch(x, "x_again");
  auto handle = Register({"y", "x"}, {"x_again", "difference"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  auto all = Run({.graph_handle = *handle, .step_id = 1, .feeds = Ints({3, 10})});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->fetches[0].scalar<int64_t>(), 10);
  EXPECT_EQ(all->fetches[1].scalar<int64_t>(), 7);
  auto one = Run(
      {.graph_handle = *handle, .step_id = 2, .feed_indices = {1, 0}, .feeds = Ints({10, 3}), .fetch_indices = {1}});
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->fetches.size(), 1);
  EXPECT_EQ(one->fetches[0].scalar<int64_t>(), 7);
}

TEST_F(WorkerTest, RejectsBadFeedsAndFetches) {
  Fetch(Feed("x"), "y");
  auto handle = Register({"x"}, {"y"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  const auto code = [](const Fetched& result) { return result.status().code(); };
  EXPECT_EQ(code(Run({.graph_handle = *handle})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Run({.graph_handle = *handle, .feed_indices = {7}, .feeds = Ints({1})})),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Run({.graph_handle = *handle, .feeds = Ints({1}), .fetch_indices = {-1}})),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Run({.graph_handle = *handle, .feeds = {Tensor::Scalar<float>(1)}})),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(WorkerTest, UnitsOnTwoDevicesMeet) {
  Out x = Feed("x");
  Out there = g_.I64("Mul", {x, x});
  Out back = g_.I64("AddV2", {there, x});
  Fetch(back, "y");
  for (Node* node : g_.graph().nodes()) node->set_assigned_device(node == there.node ? kCpu1 : kCpu0);
  auto handle = Register({"x"}, {"y"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  for (int64_t step = 1; step < 20; ++step) {
    auto result = Run({.graph_handle = *handle, .step_id = step, .feeds = Ints({step})});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->fetches[0].scalar<int64_t>(), step * step + step);
    EXPECT_EQ(worker_->num_open_steps(), 1);
    Cleanup(step);
    EXPECT_EQ(worker_->num_open_steps(), 0);
  }
}

TEST_F(WorkerTest, AFailureOnOneDeviceEndsTheOther) {
  Out x = Feed("x");
  Out fails = g_.Add("TestFail");
  Out there = g_.Int(1, {fails.node});
  Fetch(g_.I64("AddV2", {there, x}), "y");
  for (Node* node : g_.graph().nodes()) {
    node->set_assigned_device(node == there.node || node == fails.node ? kCpu1 : kCpu0);
  }
  auto handle = Register({"x"}, {"y"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  absl::Status status = Run({.graph_handle = *handle, .step_id = 1, .feeds = Ints({1})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(OriginOf(status)->node, "TestFail");
  EXPECT_EQ(OriginOf(status)->device, kCpu1);
}

TEST_F(WorkerTest, MissingKernelsAreRejectedAtOnce) {
  Fetch(g_.I64("TestMissing", {}), "y");
  auto handle = Register({}, {"y"});
  EXPECT_EQ(handle.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(handle.status().message()), HasSubstr("TestMissing"));
}

TEST_F(WorkerTest, KernelsThatFunctionsMissAreRejectedAtOnce) {
  tensorflow::FunctionDef function;
  function.mutable_signature()->set_name("F");
  tensorflow::OpDef::ArgDef* output = function.mutable_signature()->add_output_arg();
  output->set_name("y");
  output->set_type(tensorflow::DT_INT64);
  tensorflow::NodeDef* node = function.add_node_def();
  node->set_name("inside");
  node->set_op("TestMissing");
  (*node->mutable_attr())["T"].set_type(tensorflow::DT_INT64);
  (*function.mutable_ret())["y"] = "inside:out:0";
  ASSERT_TRUE(g_.graph().mutable_functions()->Add(function).ok());
  Fetch(g_.Add("F"), "y");
  auto handle = Register({}, {"y"});
  EXPECT_EQ(handle.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(handle.status().message()), HasSubstr("In function F"));
}

TEST_F(WorkerTest, UnknownHandlesAreAborted) {
  EXPECT_THAT(std::string(Run({.graph_handle = "nope"}).status().message()),
              HasSubstr("Graph handle is not found: nope. Possibly, this worker just restarted."));
  EXPECT_EQ(Run({.graph_handle = "nope"}).status().code(), absl::StatusCode::kAborted);
  Fetched result = Run({.session_handle = "other", .graph_handle = "nope"});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("Session handle is not found: other"));
}

TEST_F(WorkerTest, HandlesOfAnEarlierLifeMeanNothing) {
  Fetch(g_.Int(1), "y");
  const absl::StatusOr<std::string> earlier = Register({}, {"y"});
  ASSERT_TRUE(earlier.ok()) << earlier.status();
  StartWorker();
  Fetch(g_.Int(1), "y");
  const absl::StatusOr<std::string> handle = Register({}, {"y"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_NE(*earlier, *handle);
}

TEST_F(WorkerTest, SessionsAreCreatedOnce) {
  EXPECT_TRUE(CreateSession("s").ok());  // a retry
  EXPECT_EQ(CreateSession("s", 1, true).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(CreateSession("").code(), absl::StatusCode::kInvalidArgument);
  // A new incarnation of the master has forgotten the old one's sessions.
  EXPECT_TRUE(CreateSession("t", 2).ok());
  EXPECT_EQ(Run({.graph_handle = "x"}).status().message(),
            "Session handle is not found: s. Possibly this worker (\"/job:worker/replica:0/task:0\") just restarted.");
}

TEST_F(WorkerTest, ARestartedMasterOpensItsSessionsAgain) {
  Fetch(g_.Int(1), "y");
  const absl::StatusOr<std::string> graph = Register({}, {"y"});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(CreateSession("s", 2).ok());
  EXPECT_EQ(Run({.graph_handle = *graph}).status().code(), absl::StatusCode::kAborted);
  Fetch(g_.Int(1), "y");
  const absl::StatusOr<std::string> again = Register({}, {"y"});
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST_F(WorkerTest, ARequestFromBeforeAMastersRestartEndsNoSession) {
  const auto earlier = static_cast<int64_t>(NewIncarnation());
  int64_t later = earlier;
  while (later == earlier) later = static_cast<int64_t>(NewIncarnation());
  ASSERT_TRUE(CreateSession("new", later).ok());
  Fetch(g_.Int(1), "y");
  const absl::StatusOr<std::string> graph = Register({}, {"y"}, "new");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status late = CreateSession("old", earlier);
  EXPECT_EQ(late.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(late.message()), HasSubstr("a later start of /job:master/replica:0/task:0"));
  EXPECT_TRUE(Run({.session_handle = "new", .graph_handle = *graph}).ok());
}

TEST_F(WorkerTest, AMasterThatRestartedLaterOpensItsSessionAgain) {
  const auto earlier = static_cast<int64_t>(NewIncarnation());
  int64_t later = earlier;
  while (later == earlier) later = static_cast<int64_t>(NewIncarnation());
  ASSERT_TRUE(CreateSession("t", earlier).ok());
  Fetch(g_.Int(1), "y");
  const absl::StatusOr<std::string> graph = Register({}, {"y"}, "t");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(CreateSession("t", later).ok());
  EXPECT_EQ(Run({.session_handle = "t", .graph_handle = *graph}).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(CreateSession("t", earlier).code(), absl::StatusCode::kUnavailable);
}

// A session that brings its cluster along.
class ClusterSessionTest : public WorkerTest {
 protected:
  static constexpr char kSessionTask[] = "/job:trainer/replica:0/task:1";
  static constexpr char kSessionCpu[] = "/job:trainer/replica:0/task:1/device:CPU:0";

  void StartWorkerWithPeers() {
    worker_.reset();
    worker_ = *Worker::Create({.task = kTask,
                               .devices = {devices_[0].get(), devices_[1].get()},
                               .ops = &ExecutorTestOps(),
                               .kernels = &ExecutorTestKernels(),
                               .cluster_rendezvous = [this](const ClusterSpec& cluster, const std::string& task)
                                   -> absl::StatusOr<StepTable::RemoteFactory> {
                                 session_tasks_ = cluster.TaskNames();
                                 return [this, task](int64_t, const StepRendezvous& step) {
                                   served_as_ = task;
                                   return step.local;
                                 };
                               }});
  }

  absl::Status CreateClusterSession(const std::string& handle, int index) {
    tensorflow::CreateWorkerSessionRequest request;
    tensorflow::CreateWorkerSessionResponse response;
    request.set_session_handle(handle);
    request.mutable_server_def()->set_job_name("trainer");
    request.mutable_server_def()->set_task_index(index);
    tensorflow::JobDef* job = request.mutable_server_def()->mutable_cluster()->add_job();
    job->set_name("trainer");
    (*job->mutable_tasks())[0] = "127.0.0.1:1";
    (*job->mutable_tasks())[1] = "127.0.0.1:2";
    Promise<absl::Status> done;
    worker_->CreateWorkerSessionAsync({}, &request, &response, [&](absl::Status s) { done.Set(std::move(s)); });
    return done.Wait();
  }

  absl::Status ReceiveFrom(const std::string& device) {
    CancellationManager cancelled;
    cancelled.StartCancel();
    Promise<absl::Status> done;
    const std::string key = RendezvousKey::Create(device, devices_[0]->incarnation(), kSessionCpu, "t", {});
    worker_->RecvTensorAsync({.cancellation = &cancelled}, 9, key, [&](auto r) { done.Set(r.status()); });
    return done.Wait();
  }

  std::vector<std::string> session_tasks_;
  std::string served_as_;
};

TEST_F(ClusterSessionTest, DevicesHaveTheSessionsNames) {
  StartWorkerWithPeers();
  ASSERT_TRUE(CreateClusterSession("c", 1).ok());
  EXPECT_EQ(session_tasks_, (std::vector<std::string>{"/job:trainer/replica:0/task:0", kSessionTask}));
  Out x = Feed("x");
  g_.Add("_Send", {x}, TransferAttrs("t", false, true), {}, "_send");
  for (Node* node : g_.graph().nodes()) node->set_assigned_device(kSessionCpu);
  const auto handle = Register({"x"}, {}, "c");
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_TRUE(Run({.session_handle = "c", .graph_handle = *handle, .step_id = 5, .feeds = Ints({42})}).ok());
  EXPECT_EQ(served_as_, kSessionTask);
  Fetch(g_.Int(1), "y");
  for (Node* node : g_.graph().nodes()) node->set_assigned_device(kCpu0);
  EXPECT_THAT(std::string(Register({}, {"y"}, "c").status().message()), HasSubstr("is not a device of this worker"));
}

TEST_F(ClusterSessionTest, TensorsAreSentUnderTheSessionsNames) {
  StartWorkerWithPeers();
  EXPECT_EQ(ReceiveFrom(kSessionCpu).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(CreateClusterSession("c", 1).ok());
  EXPECT_EQ(ReceiveFrom(kSessionCpu).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ReceiveFrom(kCpu0).code(), absl::StatusCode::kCancelled);
  DeleteSession("c");
  EXPECT_EQ(ReceiveFrom(kSessionCpu).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClusterSessionTest, ATaskOutsideTheClusterIsRejected) {
  EXPECT_EQ(CreateClusterSession("c", 1).code(), absl::StatusCode::kUnimplemented);  // knows no other tasks
  StartWorkerWithPeers();
  EXPECT_EQ(CreateClusterSession("c", 2).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(CreateClusterSession("c", 1).ok());
  EXPECT_TRUE(CreateClusterSession("c", 1).ok());  // a retry
  EXPECT_EQ(CreateClusterSession("c", 0).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(WorkerTest, RegisterGraphObeysTheDeadlineOfTheCall) {
  Fetch(Feed("x"), "y");
  EXPECT_THAT(Register({"x"}, {"y"}, "s", {.deadline = MonotonicNow() - absl::Seconds(1)}).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("RegisterGraph to task /job:worker/replica:0/task:0 did not end")));
  CancellationManager gone;
  gone.StartCancel(errors::Cancelled("the client has gone"));
  Fetch(Feed("x"), "y");
  EXPECT_THAT(Register({"x"}, {"y"}, "s", {.cancellation = &gone}).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("the client has gone")));
}

TEST_F(WorkerTest, CancellationEndsAStepThatWaits) {
  Fetch(g_.Add("_Recv", {}, TransferAttrs("never", false, false), {}, "_recv"), "y");
  auto handle = Register({}, {"y"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  CancellationManager cancellation;
  Promise<Fetched> result;
  Start({.graph_handle = *handle, .step_id = 1}, &result, {.cancellation = &cancellation});
  cancellation.StartCancel();
  EXPECT_EQ(result.Wait().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(WorkerTest, DeadlinesEndAStepThatWaits) {
  Fetch(g_.Add("_Recv", {}, TransferAttrs("never", false, false), {}, "_recv"), "y");
  auto handle = Register({}, {"y"});
  Fetched result = Run({.graph_handle = *handle, .step_id = 1}, {.deadline = MonotonicNow() + absl::Milliseconds(20)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(WorkerTest, DeletingASessionEndsItsSteps) {
  Fetch(g_.Add("_Recv", {}, TransferAttrs("never", false, false), {}, "_recv"), "y");
  auto handle = Register({}, {"y"});
  Promise<Fetched> result;
  Start({.graph_handle = *handle, .step_id = 1}, &result);
  DeleteSession("s");
  EXPECT_EQ(result.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Run({.graph_handle = *handle}).status().code(), absl::StatusCode::kAborted);
}

// As when the master has died, which would have cleaned up the step.
TEST_F(WorkerTest, TheEndOfASessionFreesItsSteps) {
  g_.Add("_Send", {g_.Int(1)}, TransferAttrs("t", false, true), {}, "_send");
  auto handle = Register({}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  ASSERT_TRUE(Run({.graph_handle = *handle, .step_id = 1}).ok());
  EXPECT_EQ(worker_->num_open_steps(), 1);
  EXPECT_TRUE(CreateSession("t", 2).ok());
  EXPECT_EQ(worker_->num_open_steps(), 0);
  Promise<absl::StatusOr<Rendezvous::Received>> late;
  worker_->RecvTensorAsync({}, 1, Key("t"), [&](auto r) { late.Set(std::move(r)); });
  EXPECT_EQ(late.Wait().status().code(), absl::StatusCode::kAborted);
}

TEST_F(WorkerTest, AWorkerThatGoesEndsItsSteps) {
  Fetch(g_.Add("_Recv", {}, TransferAttrs("never", false, false), {}, "_recv"), "y");
  auto handle = Register({}, {"y"});
  Promise<Fetched> result;
  Start({.graph_handle = *handle, .step_id = 1}, &result);
  worker_.reset();
  EXPECT_EQ(result.Wait().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(WorkerTest, RecvTensorMayComeBeforeTheStep) {
  Out x = Feed("x");
  g_.Add("_Send", {x}, TransferAttrs("t", false, true), {}, "_send");
  auto handle = Register({"x"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  Promise<absl::StatusOr<Rendezvous::Received>> received;
  worker_->RecvTensorAsync({}, 5, Key("t"), [&](auto r) { received.Set(std::move(r)); });
  EXPECT_TRUE(Run({.graph_handle = *handle, .step_id = 5, .feeds = Ints({42})}).ok());
  auto tensor = received.Wait();
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->tensor.scalar<int64_t>(), 42);
}

TEST_F(WorkerTest, AWorkerThatGoesEndsReceivesOfUnknownSteps) {
  std::optional<absl::Status> ended;
  worker_->RecvTensorAsync({}, 5, Key("t"), [&](const auto& received) { ended = received.status(); });
  EXPECT_FALSE(ended.has_value());
  worker_.reset();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code(), absl::StatusCode::kUnavailable);
}

TEST_F(WorkerTest, RecvTensorOfAnEndedStepIsAborted) {
  Promise<absl::StatusOr<Rendezvous::Received>> early, late;
  worker_->RecvTensorAsync({}, 5, Key("t"), [&](auto r) { early.Set(std::move(r)); });
  Cleanup(5);
  EXPECT_EQ(early.Wait().status().code(), absl::StatusCode::kAborted);
  worker_->RecvTensorAsync({}, 5, Key("t"), [&](auto r) { late.Set(std::move(r)); });
  EXPECT_EQ(late.Wait().status().code(), absl::StatusCode::kAborted);
}

// As from a peer that asks for steps that no master has begun.
TEST_F(WorkerTest, WhoWaitsForAStepThatNeverComesLeavesNothing) {
  CancellationManager first, second;
  Promise<absl::StatusOr<Rendezvous::Received>> one, two;
  worker_->RecvTensorAsync({.cancellation = &first}, 5, Key("t"), [&](auto r) { one.Set(std::move(r)); });
  worker_->RecvTensorAsync({.cancellation = &second}, 5, Key("u"), [&](auto r) { two.Set(std::move(r)); });
  EXPECT_EQ(worker_->num_open_steps(), 1);
  first.StartCancel();
  EXPECT_EQ(one.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(worker_->num_open_steps(), 1);
  second.StartCancel();
  EXPECT_EQ(two.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(worker_->num_open_steps(), 0);
}

TEST_F(WorkerTest, RecvTensorChecksTheKey) {
  Promise<absl::StatusOr<Rendezvous::Received>> malformed, restarted, elsewhere;
  worker_->RecvTensorAsync({}, 5, "what?", [&](auto r) { malformed.Set(std::move(r)); });
  EXPECT_EQ(malformed.Wait().status().code(), absl::StatusCode::kInvalidArgument);
  worker_->RecvTensorAsync({}, 5, RendezvousKey::Create(kCpu0, 77, kCpu0, "t", {}),
                           [&](auto r) { restarted.Set(std::move(r)); });
  absl::Status status = restarted.Wait().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was probably restarted"));
  worker_->RecvTensorAsync({}, 5, RendezvousKey::Create("/job:ps/replica:0/task:0/device:CPU:0", 1, kCpu0, "t", {}),
                           [&](auto r) { elsewhere.Set(std::move(r)); });
  EXPECT_EQ(elsewhere.Wait().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(WorkerTest, ReportsTimings) {
  Fetch(g_.I64("AddV2", {Feed("x"), g_.Int(1)}), "y");
  auto handle = Register({"x"}, {"y"});
  RunGraphArgs args{.graph_handle = *handle, .step_id = 1, .feeds = Ints({1})};
  args.exec_opts.set_record_timeline(true);
  args.exec_opts.set_record_costs(true);
  args.exec_opts.set_record_partition_graphs(true);
  auto result = Run(args);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->step_stats.dev_stats_size(), 1);
  EXPECT_EQ(result->step_stats.dev_stats(0).device(), kCpu0);
  ASSERT_EQ(result->step_stats.dev_stats(0).node_stats_size(), 1);
  EXPECT_EQ(result->step_stats.dev_stats(0).node_stats(0).node_name(), "AddV2");
  ASSERT_EQ(result->step_stats.dev_stats(0).node_stats(0).output_size(), 1);
  const auto& described = result->step_stats.dev_stats(0).node_stats(0).output(0).tensor_description();
  EXPECT_EQ(described.dtype(), tensorflow::DT_INT64);
  EXPECT_EQ(described.shape().dim_size(), 0);
  EXPECT_EQ(described.allocation_description().requested_bytes(), 8);
  EXPECT_EQ(described.allocation_description().allocator_name(), "cpu");
  EXPECT_EQ(result->cost_graph.node_size(), 4);
  ASSERT_EQ(result->partition_graphs.size(), 1);
  EXPECT_EQ(result->partition_graphs[0].node_size(), 4);
}

TEST_F(WorkerTest, DeregisteredGraphsAreGone) {
  Fetch(g_.Int(1), "y");
  auto handle = Register({}, {"y"});
  ASSERT_TRUE(Run({.graph_handle = *handle}).ok());
  tensorflow::DeregisterGraphRequest request;
  tensorflow::DeregisterGraphResponse response;
  request.set_session_handle("s");
  request.set_graph_handle(*handle);
  worker_->DeregisterGraphAsync({}, &request, &response, [](const absl::Status& s) { EXPECT_TRUE(s.ok()); });
  EXPECT_EQ(Run({.graph_handle = *handle}).status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace weir
