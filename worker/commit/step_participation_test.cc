#include "worker/commit/step_participation.h"

#include <algorithm>
#include <deque>

#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kCoordinator[] = "/job:ps/replica:0/task:0";
constexpr char kSession[] = "s";
constexpr int64_t kStep = 5;
constexpr uint64_t kIncarnation = 77, kDeciderIncarnation = 78;
constexpr char kDecider[] = "/job:ps/replica:0/task:2";

// A fake coordinator: keeps questions until the test answers them.
class Coordinator : public FakeWorker {
 public:
  std::deque<std::pair<ResolveStepResponse*, DoneCallback>> questions;

  void ResolveStepAsync(const CallOptions&, const ResolveStepRequest* request, ResolveStepResponse* response,
                        DoneCallback done) override {
    EXPECT_EQ(request->session_handle(), kSession);
    EXPECT_EQ(request->step_id(), kStep);
    relay = request->relay();
    questions.emplace_back(response, std::move(done));
  }
  std::string relay;  // of the newest question

  void Answer(bool committed, uint64_t incarnation = kIncarnation, const absl::Status& status = absl::OkStatus()) {
    auto [response, done] = std::move(questions.front());
    questions.pop_front();
    response->set_committed(committed);
    response->set_incarnation(incarnation);
    done(status);
  }
};

class StepParticipationTest : public testing::Test {
 protected:
  StepParticipationTest() { outcomes_.Open(kSession); }
  // Ends what still waits, as the end of a step does.
  ~StepParticipationTest() override {
    rendezvous_->StartAbort(errors::Cancelled("The test is over"));
    later_.clear();
  }

  std::shared_ptr<StepParticipation> Make(const std::string& coordinator) {
    return std::make_shared<StepParticipation>(StepParticipation::Options{
        .session_handle = kSession,
        .step_id = kStep,
        .task = "/job:ps/replica:0/task:1",
        .coordinator = coordinator,
        .coordinator_incarnation = kIncarnation,
        .relays = relays_,
        .decider = decider_,
        .decider_incarnation = decider_.empty() ? 0 : kDeciderIncarnation,
        .has_lost_standby = [this] { return has_lost_standby_; },
        .outcomes = &outcomes_,
        .peers = [this](absl::string_view task) -> absl::StatusOr<std::shared_ptr<WorkerInterface>> {
          asked_ = std::string(task);
          return coordinator_;
        },
        .rendezvous = rendezvous_,
        .now = [this] { return now_; },
        .after = [this](absl::Duration pause, std::function<void()> call) { later_.emplace_back(pause, call); },
        .cancel = [this](absl::Status reason) { cancelled_ = std::move(reason); },
        .cancel_waits = [this](absl::Status reason) { waits_ended_ = std::move(reason); },
        .is_ending = &is_ending_});
  }

  // Acts as a participant that waits for the decision.
  std::shared_ptr<StepParticipation> Wait(bool ready = true) {
    auto participation = Make(kCoordinator);
    participation->AwaitDecision(key_, [this](absl::Status decided) { decided_ = std::move(decided); });
    if (ready) {
      EXPECT_THAT(participation->SetReady(), IsOk());
    }
    return participation;
  }
  void Send() { EXPECT_THAT(rendezvous_->Send(key_, AsScalar<bool>(true), false), IsOk()); }

  const std::string key_ = RendezvousKey::Create("/job:ps/replica:0/task:0/device:CPU:0", kIncarnation,
                                                 "/job:ps/replica:0/task:1/device:CPU:0", "_commit", {});
  bool relays_ = false, has_lost_standby_ = false;
  std::string decider_, asked_;
  StepOutcomes outcomes_;
  std::shared_ptr<Coordinator> coordinator_ = std::make_shared<Coordinator>();
  std::shared_ptr<Rendezvous> rendezvous_ = NewLocalRendezvous();
  absl::Time now_ = absl::UnixEpoch();
  std::deque<std::pair<absl::Duration, std::function<void()>>> later_;
  std::atomic<bool> is_ending_{false};
  absl::Status cancelled_, waits_ended_;
  std::optional<absl::Status> decided_;
};

TEST_F(StepParticipationTest, TheCoordinatorDecidesOnce) {
  EXPECT_THAT(Make("")->Decide(), IsOk());
  EXPECT_TRUE(outcomes_.IsCommittedElseAbort(kSession, kStep).value());
  // Another run of the step.
  EXPECT_THAT(Make("")->Decide(), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(StepParticipationTest, ARunThatDidNotDecideIsCancelledThoughTheStepIsCommitted) {
  ASSERT_THAT(Make("")->Decide(), IsOk());
  Make("")->Cancel(errors::Unavailable("the master has gone"));
  EXPECT_THAT(cancelled_, StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(StepParticipationTest, ADecisionOutlivesItsOutcome) {
  auto participation = Make("");
  ASSERT_THAT(participation->Decide(), IsOk());
  for (int64_t step = 100; step < 5000; ++step) ASSERT_THAT(outcomes_.Commit(kSession, step), IsOk());
  participation->Cancel(errors::Unavailable("the master has gone"));
  EXPECT_THAT(cancelled_, IsOk());
}

TEST_F(StepParticipationTest, ACoordinatorThatWasCancelledDecidesAgainstIt) {
  auto participation = Make("");
  participation->Cancel(errors::Unavailable("the master has gone"));
  EXPECT_THAT(cancelled_, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(participation->Decide(), StatusIs(absl::StatusCode::kAborted, HasSubstr("the master has gone")));
}

TEST_F(StepParticipationTest, ATaskThatHasAbortedIsNotReady) {
  auto participation = Make(kCoordinator);
  participation->Cancel(errors::Unavailable("the master has gone"));
  EXPECT_THAT(participation->SetReady(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the master has gone")));
}

TEST_F(StepParticipationTest, OnlyTheWaitsOfACommittedStepEnd) {
  auto participation = Make("");
  ASSERT_THAT(participation->Decide(), IsOk());
  participation->Cancel(errors::Unavailable("the master has gone"));
  EXPECT_THAT(cancelled_, IsOk());
  EXPECT_THAT(waits_ended_, StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(StepParticipationTest, OnlyTheWaitsOfAParticipantEndOnceTheDecisionIsThere) {
  const auto participation = Wait();
  Send();
  participation->Cancel(errors::Unavailable("the master has gone"));
  EXPECT_THAT(cancelled_, IsOk());
  EXPECT_THAT(waits_ended_, StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(StepParticipationTest, TheDecisionArrives) {
  const auto participation = Wait();
  EXPECT_FALSE(decided_.has_value());
  Send();
  ASSERT_TRUE(decided_.has_value());
  EXPECT_THAT(*decided_, IsOk());
}

TEST_F(StepParticipationTest, ATaskThatIsNotReadyAbortsWithoutAQuestion) {
  Wait(/*ready=*/false)->Cancel(errors::Unavailable("the master has gone"));
  ASSERT_TRUE(decided_.has_value());
  EXPECT_THAT(*decided_, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(cancelled_, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(coordinator_->questions.empty());
}

TEST_F(StepParticipationTest, ATaskThatIsReadyFollowsTheCoordinator) {
  for (const bool committed : {true, false}) {
    decided_.reset();
    cancelled_ = waits_ended_ = absl::OkStatus();
    Wait()->Cancel(errors::Unavailable("the master has gone"));
    ASSERT_EQ(coordinator_->questions.size(), 1u);
    EXPECT_FALSE(decided_.has_value());
    EXPECT_THAT(cancelled_, IsOk());
    coordinator_->Answer(committed);
    ASSERT_TRUE(decided_.has_value());
    EXPECT_EQ(decided_->ok(), committed);
    EXPECT_EQ(cancelled_.ok(), committed);
    EXPECT_EQ(waits_ended_.ok(), !committed);
    rendezvous_ = NewLocalRendezvous();
  }
}

TEST_F(StepParticipationTest, ALostDecisionIsAskedFor) {
  const auto participation = Wait();
  rendezvous_->StartAbort(errors::Unavailable("the connection broke"));
  ASSERT_EQ(coordinator_->questions.size(), 1u);
  coordinator_->Answer(true);
  ASSERT_TRUE(decided_.has_value());
  EXPECT_THAT(*decided_, IsOk());
  EXPECT_THAT(waits_ended_, IsOk());
}

TEST_F(StepParticipationTest, TheAnswerMayComeBeforeTheKernelWaits) {
  auto participation = Make(kCoordinator);
  ASSERT_THAT(participation->SetReady(), IsOk());
  participation->Cancel(errors::Unavailable("the master has gone"));
  coordinator_->Answer(/*committed=*/true);
  participation->AwaitDecision(key_, [this](absl::Status decided) { decided_ = std::move(decided); });
  ASSERT_TRUE(decided_.has_value());
  EXPECT_THAT(*decided_, IsOk());
  EXPECT_THAT(cancelled_, IsOk());
}

TEST_F(StepParticipationTest, AStepWaitsOnce) {
  const auto participation = Wait();
  absl::Status second;
  participation->AwaitDecision(key_, [&](absl::Status decided) { second = std::move(decided); });
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("waits twice")));
  Send();
  ASSERT_TRUE(decided_.has_value());
  EXPECT_THAT(*decided_, IsOk());
}

TEST_F(StepParticipationTest, ACoordinatorThatRestartedHasNotDecided) {
  Wait()->Cancel(errors::Unavailable("the master has gone"));
  coordinator_->Answer(/*committed=*/true, kIncarnation + 1);
  ASSERT_TRUE(decided_.has_value());
  EXPECT_FALSE(decided_->ok());
}

TEST_F(StepParticipationTest, ACoordinatorThatDoesNotAnswerIsAskedForTenMinutes) {
  Wait()->Cancel(errors::Unavailable("the master has gone"));
  absl::Duration longest;
  int asked = 0;
  for (; !coordinator_->questions.empty(); ++asked) {
    coordinator_->Answer(false, 0, errors::Unavailable("connection refused"));
    if (later_.empty()) break;
    EXPECT_FALSE(decided_.has_value());
    const auto [pause, ask] = later_.front();
    later_.pop_front();
    longest = std::max(longest, pause);
    now_ += pause;
    ask();
  }
  EXPECT_EQ(longest, absl::Seconds(2));
  EXPECT_GT(asked, 300);
  EXPECT_GT(now_ - absl::UnixEpoch(), absl::Minutes(10));
  EXPECT_LT(now_ - absl::UnixEpoch(), absl::Minutes(10) + absl::Seconds(3));
  ASSERT_TRUE(decided_.has_value());
  EXPECT_FALSE(decided_->ok());
}

TEST_F(StepParticipationTest, AForgottenOutcomeOrSessionEndsTheQuestions) {
  for (const absl::Status& forgotten :
       {errors::FailedPrecondition("no longer known"), errors::NotFound("the session has no steps here")}) {
    decided_.reset();
    Wait()->Cancel(errors::Unavailable("the master has gone"));
    coordinator_->Answer(false, kIncarnation, forgotten);
    ASSERT_TRUE(decided_.has_value());
    EXPECT_FALSE(decided_->ok());
    EXPECT_TRUE(coordinator_->questions.empty());
    EXPECT_TRUE(later_.empty());
    rendezvous_ = NewLocalRendezvous();
  }
}

TEST_F(StepParticipationTest, AWorkerThatEndsDoesNotWait) {
  const auto participation = Wait();
  is_ending_ = true;
  participation->Cancel(errors::Cancelled("the worker ends"));
  ASSERT_TRUE(decided_.has_value());
  EXPECT_FALSE(decided_->ok());
  EXPECT_TRUE(coordinator_->questions.empty());
}

// The relay has no say once it is ready: whoever asks it must wait, and nobody can abort the step there.
TEST_F(StepParticipationTest, ARelayAnswersForTheDecisionOfItsStandby) {
  relays_ = true;
  const auto participation = Wait();
  EXPECT_THAT(outcomes_.IsCommittedElseAbort(kSession, kStep), StatusIs(absl::StatusCode::kUnavailable));
  Send();
  EXPECT_THAT(decided_, testing::Optional(IsOk()));
  EXPECT_EQ(*outcomes_.IsCommittedElseAbort(kSession, kStep), true);
}

TEST_F(StepParticipationTest, ARelayIsNotReadyForAStepThatWasAbortedThere) {
  relays_ = true;
  const auto participation = Wait(/*ready=*/false);
  EXPECT_EQ(*outcomes_.IsCommittedElseAbort(kSession, kStep), false);
  EXPECT_THAT(participation->SetReady(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(StepParticipationTest, ARelayAbortsWhatItsLostStandbyDidNotTellIt) {
  relays_ = true;
  const auto participation = Wait();
  participation->Cancel(errors::Unavailable("the standby is lost"));
  coordinator_->Answer(false, 0, errors::Unavailable("no answer"));
  EXPECT_EQ(decided_, std::nullopt) << "it may still take over";
  has_lost_standby_ = true;
  later_.back().second();
  coordinator_->Answer(false, 0, errors::Unavailable("no answer"));
  EXPECT_THAT(decided_, testing::Optional(testing::Not(IsOk())));
  EXPECT_EQ(*outcomes_.IsCommittedElseAbort(kSession, kStep), false);
}

TEST_F(StepParticipationTest, ALostRelayIsReplacedByTheDecider) {
  decider_ = kDecider;
  const auto participation = Wait();
  participation->Cancel(errors::Unavailable("the relay is lost"));
  EXPECT_EQ(asked_, kCoordinator);
  coordinator_->Answer(false, /*incarnation=*/1);  // it has restarted
  later_.back().second();
  EXPECT_EQ(asked_, kDecider);
  EXPECT_EQ(coordinator_->relay, kCoordinator);
  coordinator_->Answer(true, kDeciderIncarnation);
  EXPECT_THAT(decided_, testing::Optional(IsOk()));
}

TEST_F(StepParticipationTest, ARelayThatDoesNotAnswerAndTheDeciderAreAskedInTurn) {
  decider_ = kDecider;
  const auto participation = Wait();
  participation->Cancel(errors::Unavailable("cut off"));
  for (const char* expected : {kCoordinator, kDecider, kCoordinator}) {
    EXPECT_EQ(asked_, expected);
    coordinator_->Answer(false, 0, errors::Unavailable("no answer"));
    later_.back().second();
  }
  // The decider has restarted: its decision may have reached the relay.
  coordinator_->Answer(false, /*incarnation=*/1);
  later_.back().second();
  EXPECT_EQ(decided_, std::nullopt);
  EXPECT_EQ(asked_, kCoordinator);
  coordinator_->Answer(false, /*incarnation=*/1);
  later_.back().second();
  EXPECT_EQ(asked_, kDecider);
  coordinator_->Answer(false, /*incarnation=*/1);
  EXPECT_THAT(decided_, testing::Optional(testing::Not(IsOk())))
      << "both are lost, with all state that the step updated";
}

}  // namespace
}  // namespace weir
