// Sessions of a master that forgets them, as one does that restarts.
#include "client/master_session_client.h"

#include <atomic>
#include <thread>

#include "client/initializers.h"
#include "client/local_runtime.h"
#include "client/ops.h"
#include "client/variables.h"
#include "core/testing.h"
#include "distribute/transport/lost_graph.h"
#include "kernels/device/gpu/machine_gpus.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class MasterSessionClientTest : public ::testing::Test {
 protected:
  MasterSessionClientTest() {
    count_ = ResourceVariable::Make(scope_.WithName("count"), TensorShape(), DT_FLOAT, initializers::Zeros());
    add_ = count_.AssignAdd(scope_, 1.0f);
    initialize_ = InitializeAll(scope_);
  }

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(runtime_, LocalRuntime::Create({}, MachineGpus()));
    const std::shared_ptr<MasterInterface> master(runtime_, runtime_->master());
    ASSERT_OK_AND_ASSIGN(session_, MasterSessionClient::Create(master, runtime_, scope_, {}));
    ASSERT_THAT(session_->RunTargets({initialize_}), IsOk());
  }

  // Variables are kept.
  void ForgetSessions() {
    tensorflow::ResetRequest request;
    request.add_container("no such container");
    tensorflow::ResetResponse response;
    ASSERT_THAT(runtime_->master()->Reset({}, request, &response), IsOk());
  }
  float Count() {
    const auto result = session_->Run({count_.value()});
    EXPECT_THAT(result, IsOk());
    return result.ok() ? (*result)[0].scalar<float>() : -1;
  }

  Scope scope_ = Scope::NewRoot();
  ResourceVariable count_;
  Operation add_, initialize_;
  std::shared_ptr<LocalRuntime> runtime_;
  std::unique_ptr<Session> session_;
};

TEST_F(MasterSessionClientTest, AStepAfterTheLossRunsOnceInANewSession) {
  ASSERT_THAT(session_->RunTargets({add_}), IsOk());
  ForgetSessions();
  ASSERT_THAT(session_->RunTargets({add_}), IsOk());
  EXPECT_EQ(Count(), 2);
  EXPECT_THAT(session_->Close(), IsOk());
}

TEST_F(MasterSessionClientTest, NodesAddedAfterTheLossAreSentWithTheGraph) {
  ForgetSessions();
  const Operation more = count_.AssignAdd(scope_, 10.0f);
  ASSERT_THAT(session_->RunTargets({more}), IsOk());
  ForgetSessions();
  const Operation most = count_.AssignAdd(scope_, 100.0f);
  ASSERT_THAT(session_->RunTargets({add_}), IsOk());
  ASSERT_THAT(session_->RunTargets({most}), IsOk());
  EXPECT_EQ(Count(), 111);
}

TEST_F(MasterSessionClientTest, ACallableIsMadeAgain) {
  const Output x = ops::Placeholder(scope_.WithName("x"), DT_FLOAT);
  const Output y = ops::AddV2(scope_, x, 1.0f);
  ASSERT_OK_AND_ASSIGN(const auto first, session_->MakeCallable({}, {}, {add_}));
  ASSERT_OK_AND_ASSIGN(const auto second, session_->MakeCallable({x}, {y}));
  for (int round = 0; round < 2; ++round) {
    ForgetSessions();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> result, second->Run({AsScalar<float>(2)}));
    EXPECT_EQ(result[0].scalar<float>(), 3);
    ASSERT_THAT(first->Run({}), IsOk());
  }
  EXPECT_EQ(Count(), 2);
}

TEST_F(MasterSessionClientTest, ThreadsShareTheNewSession) {
  ForgetSessions();
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { ran += session_->RunTargets({add_}).ok() ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(Count(), 4);
}

TEST_F(MasterSessionClientTest, AClosedSessionIsNotOpenedAgain) {
  ASSERT_OK_AND_ASSIGN(const auto callable, session_->MakeCallable({}, {}, {add_}));
  ASSERT_THAT(session_->Close(), IsOk());
  EXPECT_THAT(session_->RunTargets({add_}), StatusIs(absl::StatusCode::kAborted, HasSubstr("closed by its client")));
  EXPECT_THAT(callable->Run({}), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(MasterSessionClientTest, ALostSessionCanBeClosed) {
  ForgetSessions();
  EXPECT_THAT(session_->Close(), IsOk());
}

TEST(LostSessionTest, BothRuntimesMastersAreUnderstood) {
  EXPECT_TRUE(IsSessionLost(SessionIsLost("abc"), "abc"));
  EXPECT_TRUE(IsSessionLost(absl::AbortedError("Session abc is not found."), "abc"));
  EXPECT_FALSE(IsSessionLost(absl::AbortedError("Session abc is not found."), "b"));
  EXPECT_FALSE(IsSessionLost(absl::NotFoundError("Session abc is not found."), "abc"));
}

}  // namespace
}  // namespace weir
