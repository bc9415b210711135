// Collectives among tasks, each with a server of its own, over gRPC.
#include "distribute/collective/task/task_collectives.h"

#include <future>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/fingerprint.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "distribute/collective/collective_conformance_testing.h"
#include "distribute/collective/scheduled_collective.h"
#include "distribute/collective/task_communicator.h"
#include "distribute/transport/fake_worker_testing.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/shared_memory/sending_arena.h"
#include "distribute/transport/workers/grpc_worker_pool.h"
#include "distribute/transport/workers/grpc_worker_service.h"
#include "distribute/transport/workers/transport_service.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The part of a worker that serves collectives.
class CollectiveWorker : public FakeWorker {
 public:
  TaskCollectives* collectives = nullptr;

  void RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                    ResultCallback<ReceivedBytes> done) override {
    collectives->RecvBuf(options, *args, std::move(done));
  }
  void JoinGroupAsync(const CallOptions& options, const JoinGroupRequest* request, JoinGroupResponse* response,
                      DoneCallback done) override {
    collectives->groups().Join(options, *request, response, std::move(done));
  }
  void CompleteInstanceAsync(const CallOptions& options, const tensorflow::CompleteInstanceRequest* request,
                             tensorflow::CompleteInstanceResponse* response, DoneCallback done) override {
    collectives->instances().Declare(options, *request, response, std::move(done));
  }
};

constexpr char kLeader[] = "/job:worker/replica:0/task:0";

// One task: a server, the channels to the others, devices.
class TestTask {
 public:
  enum class Links { kNone, kRings, kStreams };

  TestTask(int index, int num_devices, Links links) : name_(absl::StrCat("/job:worker/replica:0/task:", index)) {
    queue_ = WorkQueue::Create({.name = "test", .compute_threads = 1});
    const DeviceName task = DeviceName::Parse(name_).value();
    for (int i = 0; i < num_devices; ++i) devices_.push_back(NewCpuDevice(task, i, queue_.get()));
    shared_memory_ = std::make_unique<SharedMemorySender>(&timers_);
    service_ = std::make_unique<GrpcWorkerService>(&worker_, shared_memory_.get());
    std::vector<ServerMethod> methods = service_->Methods();
    std::vector<ServerStreamMethod> streams;
    if (links == Links::kRings) links_ = LinkPoller::Create().value();
    if (links == Links::kStreams) streams_ = std::make_unique<StreamLinks>();
    if (links != Links::kNone) {
      transport_ = std::make_unique<TransportService>(&worker_, methods, links_.get(), streams_.get());
      for (ServerMethod& method : transport_->Methods()) methods.push_back(std::move(method));
      streams = transport_->Streams();
    }
    server_ = GrpcServer::Start({.methods = std::move(methods), .streams = std::move(streams)}).value();
  }
  ~TestTask() { Stop(); }

  const std::string& address() const { return server_->address(); }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  TaskCollectives& collectives() { return *collectives_; }
  WorkerPool* workers() { return workers_.get(); }
  const std::string& name() const { return name_; }

  void Join(const ClusterSpec& cluster) {
    workers_ = std::make_unique<GrpcWorkerPool>(GrpcWorkerPool::Options{
        .cluster = cluster, .local_task = name_, .channel = {.links = links_.get(), .streams = streams_.get()}});
    workers_->SetLocalWorker(std::shared_ptr<WorkerInterface>(std::shared_ptr<void>(), &worker_));
    collectives_ = std::make_unique<TaskCollectives>(TaskCollectives::Options{
        .task = name_, .workers = workers_.get(), .timers = &timers_, .work_queue = queue_.get()});
    worker_.collectives = collectives_.get();
  }
  void Stop() {
    if (server_ != nullptr) server_->Shutdown(absl::ZeroDuration());
    if (links_ != nullptr) links_->Stop();
    if (streams_ != nullptr) streams_->Stop();
  }
  // How many frames its links have brought.
  uint64_t FramesReceived() const {
    ListLinksResponse response;
    if (links_ != nullptr) links_->Describe(&response);
    if (streams_ != nullptr) streams_->Describe(&response);
    uint64_t frames = 0;
    for (const auto& link : response.link()) frames += link.frames_received();
    return frames;
  }

 private:
  const std::string name_;
  TimerQueue timers_;
  std::unique_ptr<LinkPoller> links_;
  std::unique_ptr<StreamLinks> streams_;
  std::unique_ptr<WorkQueue> queue_;
  std::vector<std::unique_ptr<Device>> devices_;
  CollectiveWorker worker_;
  std::unique_ptr<SharedMemorySender> shared_memory_;
  std::unique_ptr<GrpcWorkerService> service_;
  std::unique_ptr<TransportService> transport_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcWorkerPool> workers_;
  std::unique_ptr<TaskCollectives> collectives_;
};

struct TestCluster {
  enum class Links { kNone, kAll, kAllButTheLast, kStreams, kStreamsButTheLast };

  TestCluster(int num_tasks, int devices_per_task, Links links = Links::kAll) {
    const bool are_streams = links == Links::kStreams || links == Links::kStreamsButTheLast;
    const bool has_last = links == Links::kAll || links == Links::kStreams;
    std::vector<std::string> addresses;
    for (int i = 0; i < num_tasks; ++i) {
      const bool has_links = links != Links::kNone && (has_last || i + 1 < num_tasks);
      const auto kind = are_streams ? TestTask::Links::kStreams : TestTask::Links::kRings;
      tasks.push_back(std::make_unique<TestTask>(i, devices_per_task, has_links ? kind : TestTask::Links::kNone));
      addresses.push_back(tasks.back()->address());
    }
    std::string json = "{\"worker\": [";
    for (size_t i = 0; i < addresses.size(); ++i) absl::StrAppend(&json, i > 0 ? ", " : "", "\"", addresses[i], "\"");
    const ClusterSpec cluster = ClusterSpec::FromJson(json + "]}").value();
    for (const auto& task : tasks) task->Join(cluster);
  }
  ~TestCluster() {
    for (const auto& task : tasks) task->Stop();
  }
  std::vector<std::unique_ptr<TestTask>> tasks;
};

// A group over all devices of a cluster, one rank each.
class TasksGroup : public CollectiveTestGroup {
 public:
  TasksGroup(int size, TestCluster::Links links) : cluster_((size + 1) / 2, 2, links), size_(size) {
    std::vector<std::promise<void>> joined(size);
    groups_.resize(size);
    for (int rank = 0; rank < size; ++rank) {
      Task(rank).collectives().FindGroup({}, {kLeader, {.key = 1, .size = size}, "test", &Device(rank)},
                                         [this, rank, &joined](auto group) {
                                           groups_[rank] = group.value();
                                           joined[rank].set_value();
                                         });
    }
    for (auto& one : joined) one.get_future().wait();
  }

  int size() const override { return size_; }
  std::vector<absl::Status> Run(const std::vector<CollectiveCall>& calls, const std::vector<bool>& absent) override {
    std::vector<std::promise<absl::Status>> results(size());
    std::vector<std::shared_ptr<StepExchange>> held;
    for (int rank = 0; rank < size(); ++rank) {
      if (!absent.empty() && absent[rank]) {
        results[rank].set_value(absl::OkStatus());
        continue;
      }
      CollectiveCall call = calls[rank];
      const int64_t step_id = std::exchange(call.sequence, 0);
      held.push_back(Task(rank).collectives().exchanges().Begin(step_id).value());
      const InstanceKey instance{1, groups_[rank]->formation, 1, ""};
      auto communicator = std::make_shared<TaskCommunicator>(
          TaskCommunicator::Options{.step_id = step_id,
                                    .instance = instance,
                                    .rank = groups_[rank]->rank_of.at(Device(rank).name()),
                                    .group = groups_[rank],
                                    .local_task = Task(rank).name(),
                                    .exchange = held.back()->Open(instance).value(),
                                    .workers = Task(rank).workers()});
      ScheduledCollective(communicator).RunAsync(call, [&results, rank](absl::Status status) {
        results[rank].set_value(std::move(status));
      });
    }
    std::vector<absl::Status> statuses;
    for (auto& result : results) statuses.push_back(result.get_future().get());
    return statuses;
  }

 private:
  TestTask& Task(int rank) { return *cluster_.tasks[rank / 2]; }
  const class Device& Device(int rank) { return *Task(rank).devices()[rank % 2]; }

  TestCluster cluster_;
  const int size_;
  std::vector<std::shared_ptr<const FormedGroup>> groups_;
};

CollectiveBackend Backend(const char* name, TestCluster::Links links) {
  return {name, [links](int size) { return std::make_unique<TasksGroup>(size, links); }, 5};
}

INSTANTIATE_TEST_SUITE_P(Tasks, CollectiveConformanceTest,
                         testing::Values(Backend("Grpc", TestCluster::Links::kNone),
                                         Backend("SharedMemory", TestCluster::Links::kAll),
                                         Backend("Mixed", TestCluster::Links::kAllButTheLast),
                                         Backend("Stream", TestCluster::Links::kStreams),
                                         Backend("MixedStream", TestCluster::Links::kStreamsButTheLast)),
                         BackendName);

// One op of one member, by an executor.
struct MemberOp {
  std::shared_ptr<CollectiveExecutor> executor;
  Tensor input, output;
  std::promise<absl::Status> status;

  void Start(TestTask& task, int64_t step_id, const CollectiveParams& params, int device = 0) {
    executor = task.collectives().NewStep(step_id, kLeader);
    executor->RunAsync(params, task.devices()[device].get(), input, &output, nullptr,
                       [this](absl::Status s) { status.set_value(std::move(s)); });
  }
};

CollectiveParams Sum(int size) {
  CollectiveParams params;
  params.name = "sum";
  params.group = {.key = 3, .size = size};
  params.instance_key = 9;
  return params;
}

TEST(StepCollectivesTest, AddsAcrossTasks) {
  TestCluster cluster(2, 1);
  MemberOp ops[2];
  for (int i = 0; i < 2; ++i) {
    ops[i].input = ops[i].output = AsTensor<float>({1.0f + i, 5});
    CollectiveParams params = Sum(2);
    params.is_mean = true;
    ops[i].Start(*cluster.tasks[i], 1, params);
  }
  for (MemberOp& op : ops) {
    EXPECT_THAT(op.status.get_future().get(), IsOk());
    ExpectTensorEqual(op.output, AsTensor<float>({1.5, 5}));
  }
}

TEST(StepCollectivesTest, AnOpWithoutItsPeersTimesOutWithTheirNames) {
  TestCluster cluster(2, 1);
  CollectiveParams params = Sum(2);
  params.timeout = absl::Milliseconds(100);
  absl::Status status;
  // The leader, which knows the names, may be too slow to answer within the second that it has.
  for (int64_t step_id = 1; step_id <= 20 && !absl::StrContains(status.message(), "none has from"); ++step_id) {
    MemberOp alone;
    alone.input = alone.output = AsTensor<float>({1});
    alone.Start(*cluster.tasks[1], step_id, params);
    status = alone.status.get_future().get();
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               AllOf(HasSubstr("timed out waiting for other workers"), HasSubstr("task:1/device:CPU:0"),
                                     HasSubstr("none has from /job:worker/replica:0/task:0"))));
}

TEST(StepCollectivesTest, AStepThatEndsFailsItsPeers) {
  TestCluster cluster(2, 1);
  MemberOp first[2];
  for (int i = 0; i < 2; ++i) {
    first[i].input = first[i].output = AsTensor<float>({1});
    first[i].Start(*cluster.tasks[i], 1, Sum(2));
  }
  for (MemberOp& op : first) EXPECT_THAT(op.status.get_future().get(), IsOk());
  // The second task's step ends before its collective.
  cluster.tasks[1]->collectives().NewStep(2, kLeader);
  MemberOp late;
  late.input = late.output = AsTensor<float>({1});
  late.Start(*cluster.tasks[0], 2, Sum(2));
  EXPECT_THAT(late.status.get_future().get(),
              StatusIs(absl::StatusCode::kAborted, AllOf(HasSubstr("Step 2 has ended"), HasSubstr("task:1"))));
}

TEST(StepCollectivesTest, ATaskThatIsGoneIsNamed) {
  TestCluster cluster(2, 1);
  MemberOp first[2], later;
  for (int i = 0; i < 2; ++i) {
    first[i].input = first[i].output = AsTensor<float>({1});
    first[i].Start(*cluster.tasks[i], 1, Sum(2));
  }
  for (MemberOp& op : first) EXPECT_THAT(op.status.get_future().get(), IsOk());
  cluster.tasks[1]->Stop();
  later.input = later.output = AsTensor<float>({1});
  later.Start(*cluster.tasks[0], 2, Sum(2));
  EXPECT_THAT(later.status.get_future().get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("task:1")));
}

// In the first step every member learns the group.
void RunOnce(TestCluster& cluster, int64_t step_id) {
  std::vector<MemberOp> ops(cluster.tasks.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].input = ops[i].output = AsTensor<float>({1});
    ops[i].Start(*cluster.tasks[i], step_id, Sum(static_cast<int>(ops.size())));
  }
  for (MemberOp& op : ops) EXPECT_THAT(op.status.get_future().get(), IsOk());
}

// The first of three members sums with the second alone. It waits for the second, which waits at the leader for the
// first to rejoin the group.
TEST(StepCollectivesTest, AMemberHearsThatItsGroupIsFormedAnewWhileItWaits) {
  TestCluster cluster(3, 1);
  RunOnce(cluster, 1);
  TaskCollectives& leader = cluster.tasks[0]->collectives();
  // The third member restarts.
  JoinGroupRequest joining;
  JoinGroupResponse formed;
  tensorflow::CompleteGroupRequest& again = *joining.mutable_group();
  again.set_group_key(3);
  again.set_group_size(3);
  again.set_device_type("CPU");
  cluster.tasks[2]->devices()[0]->ToProto(again.mutable_device_attributes());
  *joining.mutable_member() = DescribeMember(-1);
  again.mutable_device_attributes()->set_incarnation(again.device_attributes().incarnation() + 1);
  std::promise<absl::Status> third_joined;
  leader.groups().Join({}, joining, &formed, [&](absl::Status status) { third_joined.set_value(std::move(status)); });
  // The second has noticed, the first has not.
  const auto rejoin = [&](int i) {
    auto joined = std::make_shared<std::promise<std::shared_ptr<const FormedGroup>>>();
    cluster.tasks[i]->collectives().FindGroup({},
                                              {.leader = kLeader,
                                               .group = Sum(3).group,
                                               .op_name = "sum",
                                               .device = cluster.tasks[i]->devices()[0].get(),
                                               .step_id = 3,
                                               .begins_anew = true},
                                              [joined](auto group) { joined->set_value(group.value()); });
    return joined->get_future();
  };
  auto second_joined = rejoin(1);
  MemberOp first;
  first.input = first.output = AsTensor<float>({1});
  first.Start(*cluster.tasks[0], 2, Sum(3));
  EXPECT_THAT(first.status.get_future().get(), StatusIs(absl::StatusCode::kAborted, HasSubstr("formed anew")));
  auto first_joined = rejoin(0);
  EXPECT_THAT(third_joined.get_future().get(), IsOk());
  EXPECT_EQ(first_joined.get()->formation, Fingerprint64(formed.group().communicator_key()));
  EXPECT_EQ(second_joined.get()->formation, Fingerprint64(formed.group().communicator_key()));
}

// A step fails on one of two masters and succeeds on the other, which goes on to a step that the first does not run.
TEST(StepCollectivesTest, AMemberWhoseStepFailedEndsTheOthersWait) {
  TestCluster cluster(2, 1);
  StepSequences& sequences = cluster.tasks[1]->collectives().sequences();
  sequences.Lead(5);
  sequences.Lead(6);
  const int64_t failed = *sequences.Take(5);
  RunOnce(cluster, failed);
  sequences.End(failed, false);
  MemberOp ahead, other[2];
  ahead.input = ahead.output = AsTensor<float>({1});
  ahead.Start(*cluster.tasks[0], *sequences.Take(5), Sum(2));
  const int64_t next = *sequences.Take(6);
  other[1].input = other[1].output = AsTensor<float>({1});
  other[1].Start(*cluster.tasks[1], next, Sum(2));
  EXPECT_THAT(ahead.status.get_future().get(), StatusIs(absl::StatusCode::kAborted, HasSubstr("formed anew")));
  other[0].input = other[0].output = AsTensor<float>({2});
  other[0].Start(*cluster.tasks[0], next, Sum(2));
  for (MemberOp& op : other) {
    EXPECT_THAT(op.status.get_future().get(), IsOk());
    ExpectTensorEqual(op.output, AsTensor<float>({3}));
  }
}

// Two tasks, each with a master. They take their steps from one count, which the first leads.
class SharedStepsTest : public testing::Test {
 protected:
  SharedStepsTest() {
    sequences(0).Lead(5);
    const int64_t together = Take(0);
    EXPECT_EQ(Take(1), together);
    RunOnce(cluster_, together);
    for (int i = 0; i < 2; ++i) sequences(i).End(together, true);
  }

  StepSequences& sequences(int i) { return cluster_.tasks[i]->collectives().sequences(); }
  int64_t Take(int i) {
    if (const auto step_id = sequences(i).Take(5)) return *step_id;
    tensorflow::GetStepSequenceRequest request;
    tensorflow::GetStepSequenceResponse response;
    request.add_graph_key(5);
    EXPECT_THAT(sequences(0).Answer(request, &response), IsOk());
    sequences(i).Learn(response);
    return *sequences(i).Take(5);
  }
  absl::Status Run(int i, int64_t step_id, bool begins_anew) {
    MemberOp op;
    op.input = op.output = AsTensor<float>({1});
    CollectiveParams params = Sum(2);
    params.begins_anew = begins_anew;
    op.Start(*cluster_.tasks[i], step_id, params);
    absl::Status status = op.status.get_future().get();
    op.executor = nullptr;
    sequences(i).End(step_id, status.ok());
    return status;
  }
  // Runs steps that begin anew until one succeeds, and returns it.
  int64_t BeginAnew(int i) {
    constexpr int kTries = 10;
    for (int tried = 0; tried < kTries; ++tried) {
      const int64_t step_id = Take(i);
      if (Run(i, step_id, true).ok()) return step_id;
    }
    return -i;
  }
  void ExpectMeeting() {
    auto other = std::async(std::launch::async, [this] { return BeginAnew(1); });
    const int64_t met = BeginAnew(0);
    EXPECT_GT(met, 0);
    EXPECT_EQ(other.get(), met);
  }

  TestCluster cluster_{2, 1};
};

// No collective of the member that begins anew has failed, so that nothing else shows that it will not come.
TEST_F(SharedStepsTest, AMemberThatBeginsAnewEndsTheOthersWait) {
  auto anew = std::async(std::launch::async, [this] { return BeginAnew(1); });
  EXPECT_THAT(Run(0, Take(0), false), StatusIs(absl::StatusCode::kAborted, HasSubstr("formed anew")));
  const int64_t met = BeginAnew(0);
  EXPECT_GT(met, 0);
  EXPECT_EQ(anew.get(), met);
}

TEST_F(SharedStepsTest, MembersThatBeginAnewMeetThoughOneIsSomeStepsAhead) {
  for (const int ahead : {0, 1}) {
    for (int failed = 0; failed < 3; ++failed) {
      for (int k = 0; k < failed; ++k) sequences(ahead).End(Take(ahead), false);
      ExpectMeeting();
    }
  }
}

TEST_F(SharedStepsTest, ABroadcastAfterTheLeadersRestartIsAborted) {
  auto declared = std::make_shared<tensorflow::CompleteInstanceRequest>();
  declared->set_group_key(77);  // which the leader does not know
  declared->set_device(cluster_.tasks[1]->devices()[0]->name());
  std::promise<absl::Status> status;
  cluster_.tasks[1]->collectives().FindSource(
      {}, kLeader, declared, [&](const absl::StatusOr<int>& rank) { status.set_value(rank.status()); });
  EXPECT_THAT(status.get_future().get(), StatusIs(absl::StatusCode::kAborted, HasSubstr("leader was restarted")));
}

// A source only sends, so no receive reports its receivers' end.
TEST(StepCollectivesTest, ASourceHearsThatItsReceiverHasEnded) {
  TestCluster cluster(2, 1);
  RunOnce(cluster, 1);
  CollectiveParams params = Sum(2);
  params.type = CollectiveType::kBroadcast;
  params.is_source = true;
  MemberOp source;
  source.input = source.output = AsTensor<float>({1});
  source.Start(*cluster.tasks[0], 2, params);
  auto declared = std::make_shared<tensorflow::CompleteInstanceRequest>();
  declared->set_group_key(3);
  declared->set_group_size(2);
  declared->set_instance_key(9);
  declared->set_step_id(2);
  declared->set_type(static_cast<int>(CollectiveType::kBroadcast));
  declared->set_data_type(tensorflow::DT_FLOAT);
  source.output.shape().ToProto(declared->mutable_shape());
  declared->set_device(cluster.tasks[1]->devices()[0]->name());
  std::promise<int> source_rank;
  cluster.tasks[1]->collectives().FindSource({}, kLeader, declared,
                                             [&](absl::StatusOr<int> rank) { source_rank.set_value(rank.value()); });
  EXPECT_EQ(source_rank.get_future().get(), 0);
  cluster.tasks[1]->collectives().NewStep(2, kLeader);  // its destruction ends the step
  EXPECT_THAT(source.status.get_future().get(),
              StatusIs(absl::StatusCode::kAborted, AllOf(HasSubstr("Step 2 has ended"), HasSubstr("task:1"))));
}

class LinkedCollectivesTest : public testing::TestWithParam<TestCluster::Links> {};

INSTANTIATE_TEST_SUITE_P(Links, LinkedCollectivesTest,
                         testing::Values(TestCluster::Links::kAll, TestCluster::Links::kStreams),
                         [](const auto& info) { return info.index == 0 ? "SharedMemory" : "Stream"; });

TEST_P(LinkedCollectivesTest, MessagesGoThroughLinksOnceTheyAreThere) {
  TestCluster cluster(2, 1, GetParam());
  const auto frames = [&] { return cluster.tasks[0]->FramesReceived() + cluster.tasks[1]->FramesReceived(); };
  const absl::Time end = MonotonicNow() + absl::Minutes(1);
  for (int64_t step_id = 1; MonotonicNow() < end; ++step_id) {
    const uint64_t before = frames();
    RunOnce(cluster, step_id);
    if (frames() >= before + 4) return;  // a request and its answer for each of the two
  }
  FAIL() << "There are no links";
}

TEST(StepCollectivesTest, ATaskWithoutLinksIsAskedByCalls) {
  TestCluster cluster(2, 1, TestCluster::Links::kAllButTheLast);
  for (int64_t step_id = 1; step_id < 10; ++step_id) RunOnce(cluster, step_id);
  EXPECT_EQ(cluster.tasks[0]->FramesReceived(), 0);
}

TEST_P(LinkedCollectivesTest, ATaskThatIsGoneIsNamedThroughLinks) {
  TestCluster cluster(2, 1, GetParam());
  int64_t step_id = 0;
  while (cluster.tasks[0]->FramesReceived() == 0 && step_id < 1000) RunOnce(cluster, ++step_id);
  MemberOp waiting;
  waiting.input = waiting.output = AsTensor<float>({1});
  waiting.Start(*cluster.tasks[0], ++step_id, Sum(2));
  cluster.tasks[1]->Stop();
  EXPECT_THAT(waiting.status.get_future().get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("task:1")));
}

TEST(BufferKeyTest, ReadsWhatItWrites) {
  BufferKey key{.instance = {-3, 5, 4, "7:2"}, .message = {5, 6, {0, 7, 8}}, .signature = {"sum", DT_HALF, "[2,3]"}};
  ASSERT_OK_AND_ASSIGN(const BufferKey read, BufferKey::Parse(key.ToString()));
  EXPECT_EQ(read.instance, key.instance);
  EXPECT_EQ(read.message, key.message);
  EXPECT_EQ(read.signature, key.signature);
  for (const char* bad : {"", "weir2", "weir2|1|9|2||3|4|5|6", "weir2|a|9|2||3|4|5|6|x|float|[]",
                          "weir1|1|9|2||3|4|5|6|x|float|[]", "weir2|1|9|2||3|4|5|6|x|nothing|[]"}) {
    EXPECT_THAT(BufferKey::Parse(bad), StatusIs(absl::StatusCode::kInvalidArgument)) << bad;
  }
}

TEST(DefaultCollectiveLeaderTest, IsTheFirstOfTheLeadingJob) {
  EXPECT_EQ(DefaultCollectiveLeader({"/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"}),
            "/job:worker/replica:0/task:0");
  EXPECT_EQ(DefaultCollectiveLeader({"/job:chief/replica:0/task:0", "/job:worker/replica:0/task:0"}),
            "/job:chief/replica:0/task:0");
  EXPECT_EQ(DefaultCollectiveLeader({"/job:localhost/replica:0/task:0"}), "/job:localhost/replica:0/task:0");
}

TEST(GpuMemberTest, ALibraryThatTheGpuDoesNotHaveIsTheLeadersError) {
  const auto work_queue = WorkQueue::Create({.compute_threads = 1});
  ASSERT_OK_AND_ASSIGN(const auto gpu,
                       GpuDevice::Create(std::make_shared<SimulatedGpu>(SimulatedGpu::Options()), work_queue.get(),
                                         {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                          .config = {.memory_limit = 1 << 20}}));
  TaskCollectives task({.task = "/job:worker/replica:0/task:0"});
  FormedGroup group;
  group.members.push_back({.device = gpu->name(), .gpu = {.library = "nccl 9.9"}});
  EXPECT_THAT(task.GpuMemberOf("/job:leader", group, 0, *gpu).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("nccl 9.9")));
}

}  // namespace
}  // namespace weir
