#include "distribute/collective/step_exchanges.h"

#include <optional>

#include "core/testing.h"
#include "distribute/collective/shared_step_id.h"

namespace weir {
namespace {

using testing::HasSubstr;

const int64_t kStep = SharedStepId::First(77, 5);
const InstanceKey kInstance{.group = 1, .formation = 10, .instance = 2};

// The result of a peer's wait.
struct PeerWait {
  explicit PeerWait(const std::shared_ptr<MessageExchange>& exchange) {
    exchange->Take({.from = 0, .to = 1}, CallSignature(), 4, nullptr,
                   [this](const absl::StatusOr<ReceivedBytes>& received) { status = received.status(); });
  }
  std::optional<absl::Status> status;
};

TEST(StepExchangesTest, WhoWaitsForAStepThatIsOvertakenIsToldByWhich) {
  StepExchanges exchanges(nullptr);
  ASSERT_OK_AND_ASSIGN(const auto step, exchanges.Find(kStep));
  ASSERT_OK_AND_ASSIGN(const auto exchange, step->Find(kInstance));
  const PeerWait wait(exchange);
  EXPECT_THAT(exchanges.Begin(kStep + 2), IsOk());
  ASSERT_TRUE(wait.status);
  EXPECT_THAT(*wait.status, StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(StepExchanges::LaterStep(Annotate(*wait.status, "From a member")), kStep + 2);
  EXPECT_EQ(StepExchanges::LaterStep(exchanges.Find(kStep + 1).status()), kStep + 2);
}

TEST(StepExchangesTest, AStepThatRunsIsNotOvertaken) {
  StepExchanges exchanges(nullptr);
  EXPECT_THAT(exchanges.Begin(kStep), IsOk());
  EXPECT_THAT(exchanges.Begin(kStep + 1), IsOk());
  EXPECT_THAT(exchanges.Find(kStep), IsOk());
  exchanges.End(kStep, absl::AbortedError("failed"));
  EXPECT_THAT(exchanges.Find(kStep), StatusIs(absl::StatusCode::kAborted, HasSubstr("failed")));
  EXPECT_EQ(StepExchanges::LaterStep(exchanges.Find(kStep).status()), kStep + 1);
}

TEST(StepExchangesTest, AStepThatIsAboutToRunIsNotOvertaken) {
  StepSequences sequences;
  sequences.Lead(1);
  const int64_t first = *sequences.Take(1);
  StepExchanges exchanges(&sequences);
  EXPECT_THAT(exchanges.Begin(first + 1), IsOk());
  EXPECT_THAT(exchanges.Find(first), IsOk());
  sequences.End(first, false);
  EXPECT_THAT(exchanges.Find(first), StatusIs(absl::StatusCode::kAborted));
}

TEST(StepExchangesTest, WhoComesLateLearnsWhyTheStepFailed) {
  StepExchanges exchanges(nullptr);
  ASSERT_OK_AND_ASSIGN(const auto step, exchanges.Begin(kStep));
  step->Abort(absl::UnavailableError("task 2 is gone"));
  exchanges.End(kStep, absl::AbortedError("ended"));
  EXPECT_THAT(exchanges.Find(kStep), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("task 2 is gone")));
}

// The leader has restarted, or another fetch set has the same collectives.
TEST(StepExchangesTest, StepsOfAnotherCountAreNotOvertaken) {
  StepExchanges exchanges(nullptr);
  EXPECT_THAT(exchanges.Begin(SharedStepId::First(78, 1000)), IsOk());
  EXPECT_THAT(exchanges.Begin(SharedStepId::First(76, 0)), IsOk());
  EXPECT_THAT(exchanges.Find(SharedStepId::First(76, 1)), IsOk());
  EXPECT_THAT(exchanges.Find(SharedStepId::First(78, 1001)), IsOk());
}

TEST(StepExchangeTest, PeersWithAnotherFormationOfTheGroupAreTold) {
  StepExchange step;
  InstanceKey old = kInstance, other_group = kInstance;
  old.formation = 9;
  other_group.group = 3;
  ASSERT_OK_AND_ASSIGN(const auto waits_for_old, step.Find(old));
  ASSERT_OK_AND_ASSIGN(const auto waits_for_other_group, step.Find(other_group));
  const PeerWait wait(waits_for_old), wait_other_group(waits_for_other_group);
  EXPECT_THAT(step.Open(kInstance), IsOk());
  ASSERT_TRUE(wait.status);
  EXPECT_THAT(*wait.status, StatusIs(absl::StatusCode::kAborted, HasSubstr("formed anew")));
  EXPECT_FALSE(wait_other_group.status);
  EXPECT_THAT(step.Find(old), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(step.Open(old), StatusIs(absl::StatusCode::kAborted));
  step.Abort(absl::AbortedError("the end"));
  EXPECT_TRUE(wait_other_group.status);
}

TEST(StepExchangeTest, WhatStrangersAskForIsForgottenWithTheirCalls) {
  StepExchange step;
  EXPECT_THAT(step.Open(kInstance), IsOk());
  std::weak_ptr<MessageExchange> strangers, own = step.Find(kInstance).value();
  InstanceKey key = kInstance;
  for (key.instance = 100; key.instance < 200; ++key.instance) strangers = step.Find(key).value();
  EXPECT_TRUE(strangers.expired());
  EXPECT_FALSE(own.expired());
}

}  // namespace
}  // namespace weir
