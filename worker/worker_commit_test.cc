// A worker as a participant of commits, whose coordinator the test plays.
#include <deque>

#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "tensorflow/core/framework/function.pb.h"
#include "worker/worker_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kCoordinator[] = "/job:ps/replica:0/task:0";
constexpr char kCoordinatorCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr uint64_t kIncarnation = 77;

// Keeps questions until the test answers them.
class AskedCoordinator : public FakeWorker {
 public:
  void ResolveStepAsync(const CallOptions&, const ResolveStepRequest*, ResolveStepResponse* response,
                        DoneCallback done) override {
    MutexLock lock(mu_);
    questions_.emplace_back(response, std::move(done));
    asked_.notify_all();
  }
  // Blocks until there is a question.
  void Answer(bool committed) {
    std::pair<ResolveStepResponse*, DoneCallback> question;
    {
      MutexLock lock(mu_);
      while (questions_.empty()) lock.Wait(asked_);
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    question.first->set_committed(committed);
    question.first->set_incarnation(kIncarnation);
    question.second(absl::OkStatus());
  }

 private:
  Mutex mu_;
  std::condition_variable asked_;
  std::deque<std::pair<ResolveStepResponse*, DoneCallback>> questions_ GUARDED_BY(mu_);
};

class WorkerCommitTest : public WorkerTest {
 protected:
  WorkerCommitTest() {
    peers_ = [this](absl::string_view task) -> absl::StatusOr<std::shared_ptr<WorkerInterface>> {
      if (task == kCoordinator) return coordinator_;
      return errors::NotFound("There is no task ", task);
    };
    StartWorker();
  }
  ~WorkerCommitTest() override {
    HeldKernels::Release();
    worker_.reset();
  }

  Node* On(const char* device, Out out) {
    out.node->set_assigned_device(device);
    return out.node;
  }
  Out Variable(const std::string& name, const char* device) {
    const Out handle = g_.Add(
        "VarHandleOp", {},
        {TestGraph::A("dtype", DT_INT64), TestGraph::A("shape", TensorShape({})), TestGraph::A("shared_name", name)});
    On(device, handle);
    return handle;
  }
  // Of a variable, by an op like AssignVariableOp.
  Out Update(const std::string& op, const std::string& name, const char* device, int64_t value,
             const std::vector<Node*>& controls = {}) {
    const Out number = g_.Int(value);
    On(device, number);
    const Out update = g_.Add(op, {Variable(name, device), number}, {TestGraph::A("dtype", DT_INT64)}, controls);
    On(device, update);
    return update;
  }
  void Assign(const std::string& name, const char* device) {
    Update("AssignVariableOp", name, device, 0);
    const auto handle = Register({}, {});
    ASSERT_THAT(handle, IsOk());
    ASSERT_THAT(Run({.graph_handle = *handle, .step_id = 1}), IsOk());
  }
  int64_t Read(const std::string& name, const char* device) {
    const Out value = g_.Add("ReadVariableOp", {Variable(name, device)}, {TestGraph::A("dtype", DT_INT64)});
    On(device, value);
    const Out here = g_.I64("Identity", {value});
    On(kCpu0, here);
    Fetch(here, "value");
    for (Node* node : g_.graph().nodes()) {
      if (node->IsSend()) node->set_assigned_device(kCpu0);
    }
    const auto handle = Register({}, {"value"});
    EXPECT_THAT(handle, IsOk());
    if (!handle.ok()) return -1;
    const int64_t step_id = next_read_++;
    const Fetched fetched = Run({.graph_handle = *handle, .step_id = step_id});
    Cleanup(step_id);
    EXPECT_THAT(fetched, IsOk());
    return fetched.ok() ? fetched->fetches[0].scalar<int64_t>() : -1;
  }

  static TestGraph::Attr ComponentTypes() {
    tensorflow::AttrValue types;
    types.mutable_list()->add_type(tensorflow::DT_INT64);
    return {"component_types", types};
  }

  // Adds the participant's nodes; returns the one that waits for the decision.
  Node* AddCommit() {
    Node* const ready = On(kCpu0, g_.Add("_CommitReady"));
    const Out one = g_.Int(1, {ready});
    On(kCpu0, one);
    std::vector<TestGraph::Attr> attrs = TransferAttrs("ready", false, true);
    for (TestGraph::Attr& attr : attrs) {
      if (attr.first == "recv_device") attr = TestGraph::A("recv_device", std::string(kCoordinatorCpu));
    }
    On(kCpu0, g_.Add("_Send", {one}, attrs, {}, "_ready"));
    const std::string key = RendezvousKey::Create(kCoordinatorCpu, kIncarnation, kCpu0, "_commit", {});
    return On(kCpu0, g_.Add("_CommitWait", {},
                            {TestGraph::A("key", key), TestGraph::A("coordinator", std::string(kCoordinator))}));
  }
  // Until the task is ready for the step.
  void AwaitReady(int64_t step_id) {
    const std::string key = RendezvousKey::Create(kCpu0, devices_[0]->incarnation(), kCoordinatorCpu, "ready", {});
    Promise<absl::StatusOr<Rendezvous::Received>> received;
    worker_->RecvTensorAsync({}, step_id, key, [&](auto r) { received.Set(std::move(r)); });
    EXPECT_THAT(received.Wait(), IsOk());
  }

  int64_t next_read_ = 100;  // a step's id
  std::shared_ptr<AskedCoordinator> coordinator_ = std::make_shared<AskedCoordinator>();
};

// The master has given up and cleans up, while the task waits for the decision.
TEST_F(WorkerCommitTest, UpdatesOnAnotherDeviceOutliveTheCleanup) {
  Assign("v", kCpu0);
  Assign("w", kCpu1);
  Node* const wait = AddCommit();
  Update("AssignAddVariableOp", "v", kCpu0, 1, {wait});
  Update("AssignAddVariableOp", "w", kCpu1, 1, {wait});
  const auto handle = Register({}, {});
  ASSERT_THAT(handle, IsOk());
  Promise<Fetched> result;
  Start({.graph_handle = *handle, .step_id = 5}, &result);
  AwaitReady(5);
  Cleanup(5);
  coordinator_->Answer(/*committed=*/true);
  EXPECT_THAT(result.Wait(), IsOk());
  EXPECT_EQ(Read("v", kCpu0), 1);
  EXPECT_EQ(Read("w", kCpu1), 1);
}

// As if the master's requests overtook each other.
TEST_F(WorkerCommitTest, AStepThatWasFencedIsNeverCommitted) {
  Assign("v", kCpu0);
  Node* const decide = On(kCpu0, g_.Add("_CommitDecide"));
  Update("AssignAddVariableOp", "v", kCpu0, 1, {decide});
  const auto handle = Register({}, {});
  ASSERT_THAT(handle, IsOk());
  EXPECT_THAT(Fence("s", {7}), IsOk());
  EXPECT_THAT(Run({.graph_handle = *handle, .step_id = 7}), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(Read("v", kCpu0), 0);
  EXPECT_THAT(Run({.graph_handle = *handle, .step_id = 8}), IsOk());
  EXPECT_EQ(Read("v", kCpu0), 1);
}

TEST_F(WorkerCommitTest, AParticipantRefusesAStepThatWasFenced) {
  Assign("v", kCpu0);
  Update("AssignAddVariableOp", "v", kCpu0, 1, {AddCommit()});
  const auto handle = Register({}, {});
  ASSERT_THAT(handle, IsOk());
  EXPECT_THAT(Fence("s", {7}), IsOk());
  Promise<Fetched> result;
  Start({.graph_handle = *handle, .step_id = 7}, &result);
  ASSERT_TRUE(result.IsSetWithin(std::chrono::seconds(20)));
  EXPECT_THAT(result.Wait(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(WorkerCommitTest, AStepIsCommittedOnce) {
  Assign("v", kCpu0);
  Node* const decide = On(kCpu0, g_.Add("_CommitDecide"));
  Update("AssignAddVariableOp", "v", kCpu0, 1, {decide});
  const auto handle = Register({}, {});
  ASSERT_THAT(handle, IsOk());
  EXPECT_THAT(Run({.graph_handle = *handle, .step_id = 7}), IsOk());
  EXPECT_THAT(Run({.graph_handle = *handle, .step_id = 7}), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(Read("v", kCpu0), 1);
}

TEST_F(WorkerCommitTest, GraphsWithSeveralDecisionsAreRejected) {
  AddCommit();
  On(kCpu0, g_.Add("_CommitDecide"));
  EXPECT_THAT(Register({}, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one commit only")));
  tensorflow::FunctionDef function;
  function.mutable_signature()->set_name("f");
  tensorflow::NodeDef& node = *function.add_node_def();
  node.set_name("decide");
  node.set_op("_CommitDecide");
  ASSERT_THAT(g_.graph().mutable_functions()->Add(function), IsOk());
  EXPECT_THAT(Register({}, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("function f")));
}

TEST_F(WorkerCommitTest, ACommitWithoutAValidKeyIsRejected) {
  g_.Add("_CommitWait", {},
         {TestGraph::A("key", std::string("no key")), TestGraph::A("coordinator", std::string(kCoordinator))});
  EXPECT_THAT(Register({}, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no key")));
}

// The client gives up while the step's updates run, and another node waits for another step.
TEST_F(WorkerCommitTest, ACommittedStepThatIsGivenUpMakesAllItsUpdates) {
  Assign("v", kCpu0);
  Assign("w", kCpu1);
  Node* const decide = On(kCpu0, g_.Add("_CommitDecide"));
  Node* const hold = On(kCpu0, g_.Add("TestHold", {}, {}, {decide}));
  const Out queue = g_.Add("FIFOQueueV2", {}, {ComponentTypes(), TestGraph::A("shared_name", std::string("empty"))});
  On(kCpu0, queue);
  Node* const dequeue = On(kCpu0, g_.Add("QueueDequeueV2", {queue}, {ComponentTypes()}, {decide}, "dequeue"));
  Update("AssignAddVariableOp", "v", kCpu0, 1, {hold});
  Update("AssignAddVariableOp", "w", kCpu1, 1, {hold});
  Update("AssignAddVariableOp", "w", kCpu1, 10, {dequeue});  // only what waits in vain is lost
  const auto handle = Register({}, {});
  ASSERT_THAT(handle, IsOk());
  Promise<Fetched> result;
  CancellationManager client;
  Start({.graph_handle = *handle, .step_id = 6}, &result, {.cancellation = &client});
  HeldKernels::Await(1);
  client.StartCancel(errors::Cancelled("the client has gone"));
  HeldKernels::Release();
  EXPECT_THAT(result.Wait(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("the client has gone")));
  EXPECT_EQ(Read("v", kCpu0), 1);
  EXPECT_EQ(Read("w", kCpu1), 1);
}

}  // namespace
}  // namespace weir
