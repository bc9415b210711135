// Steps in several calls, and calls that are cancelled: what a Session does not offer, at the master itself.
#include <functional>
#include <future>
#include <limits>
#include <thread>

#include "absl/time/clock.h"
#include "client/ops.h"
#include "core/clock.h"
#include "core/threads/cancellation.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }

class PartialRunTest : public SessionSuite {
 protected:
  // a, b → sum = a + b on the second device → result = sum * c on the first.
  void MakeGraph() {
    const Output a = ops::Placeholder(On(0).WithName("a"), DT_FLOAT);
    const Output b = ops::Placeholder(On(1).WithName("b"), DT_FLOAT);
    const Output c = ops::Placeholder(On(0).WithName("c"), DT_FLOAT);
    const Output sum = ops::AddV2(On(1).WithName("sum"), a, b);
    ops::Mul(On(0).WithName("result"), sum, c);
    handle_ = CreateRawSession();
  }

  absl::StatusOr<std::string> SetUpRun(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches) {
    tensorflow::PartialRunSetupRequest request;
    tensorflow::PartialRunSetupResponse response;
    request.set_session_handle(handle_);
    for (const auto& feed : feeds) request.add_feed(feed);
    for (const auto& fetch : fetches) request.add_fetch(fetch);
    RETURN_IF_ERROR(backend_->master()->PartialRunSetup(Soon(), request, &response));
    return response.partial_run_handle();
  }

  absl::StatusOr<std::vector<Tensor>> Part(const std::string& run, std::vector<std::pair<std::string, Tensor>> feeds,
                                           std::vector<std::string> fetches) {
    RunStepArgs args{
        .session_handle = handle_, .partial_run_handle = run, .feeds = std::move(feeds), .fetches = std::move(fetches)};
    ASSIGN_OR_RETURN(RunStepResult result, backend_->master()->RunStep(Soon(), args));
    return std::move(result.fetches);
  }

  std::string handle_;
};
WEIR_SESSION_SUITE(PartialRunTest);

TEST_P(PartialRunTest, GivesEachFetchAsSoonAsItsFeedsAreThere) {
  MakeGraph();
  for (const float c : {10.0f, 100.0f}) {
    ASSERT_OK_AND_ASSIGN(const std::string run, SetUpRun({"a:0", "b:0", "c:0"}, {"sum:0", "result:0"}));
    ASSERT_OK_AND_ASSIGN(auto first, Part(run, {{"a:0", AsScalar<float>(1)}, {"b:0", AsScalar<float>(2)}}, {"sum:0"}));
    ExpectTensorEqual(first[0], AsScalar<float>(3));
    ASSERT_OK_AND_ASSIGN(auto second, Part(run, {{"c:0", AsScalar<float>(c)}}, {"result:0"}));
    ExpectTensorEqual(second[0], AsScalar<float>(3 * c));
  }
}

TEST_P(PartialRunTest, TwoRunsMayInterleave) {
  MakeGraph();
  ASSERT_OK_AND_ASSIGN(const std::string one, SetUpRun({"a:0", "b:0", "c:0"}, {"sum:0", "result:0"}));
  ASSERT_OK_AND_ASSIGN(const std::string two, SetUpRun({"a:0", "b:0", "c:0"}, {"sum:0", "result:0"}));
  EXPECT_NE(one, two);
  ASSERT_OK_AND_ASSIGN(auto a, Part(one, {{"a:0", AsScalar<float>(1)}, {"b:0", AsScalar<float>(1)}}, {"sum:0"}));
  ASSERT_OK_AND_ASSIGN(auto b, Part(two, {{"a:0", AsScalar<float>(5)}, {"b:0", AsScalar<float>(5)}}, {"sum:0"}));
  ASSERT_OK_AND_ASSIGN(auto c, Part(one, {{"c:0", AsScalar<float>(2)}}, {"result:0"}));
  ASSERT_OK_AND_ASSIGN(auto d, Part(two, {{"c:0", AsScalar<float>(3)}}, {"result:0"}));
  ExpectTensorEqual(a[0], AsScalar<float>(2));
  ExpectTensorEqual(b[0], AsScalar<float>(10));
  ExpectTensorEqual(c[0], AsScalar<float>(4));
  ExpectTensorEqual(d[0], AsScalar<float>(30));
}

TEST_P(PartialRunTest, WhatWasNotDeclaredIsRefused) {
  MakeGraph();
  ASSERT_OK_AND_ASSIGN(const std::string run, SetUpRun({"a:0", "b:0"}, {"sum:0"}));
  EXPECT_THAT(Part(run, {{"c:0", AsScalar<float>(1)}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("c:0")));
  EXPECT_THAT(Part("no such run", {}, {"sum:0"}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(PartialRunTest, AFetchNeedsItsFeeds) {
  MakeGraph();
  ASSERT_OK_AND_ASSIGN(const std::string run, SetUpRun({"a:0", "b:0", "c:0"}, {"sum:0", "result:0"}));
  EXPECT_THAT(Part(run, {{"a:0", AsScalar<float>(1)}}, {"sum:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sum")));
}

TEST_P(PartialRunTest, ALaterCallFailsWithItsOwnError) {
  const Output a = ops::Placeholder(On(0).WithName("a"), DT_FLOAT);
  const Output b = ops::Placeholder(On(1).WithName("b"), DT_FLOAT);
  ops::Neg(On(0).WithName("first"), a);
  ops::CheckNumerics(On(1).WithName("second"), b, "too much");
  handle_ = CreateRawSession();
  ASSERT_OK_AND_ASSIGN(const std::string run, SetUpRun({"a:0", "b:0"}, {"first:0", "second:0"}));
  ASSERT_THAT(Part(run, {{"a:0", AsScalar<float>(1)}}, {"first:0"}), IsOk());
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Part(run, {{"b:0", AsScalar<float>(infinity)}}, {"second:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too much")));
}

TEST_P(PartialRunTest, ALaterCallCanBeCancelled) {
  const Output a = ops::Placeholder(On(0).WithName("a"), DT_FLOAT);
  ops::Neg(On(0).WithName("first"), a);
  const Output queue = ops::FIFOQueueV2(On(1), {DT_FLOAT});
  ops::AddV2(On(1).WithName("second"), ops::QueueDequeueV2(On(1), queue, {DT_FLOAT})[0],
             ops::Placeholder(On(1).WithName("b"), DT_FLOAT));
  handle_ = CreateRawSession();
  ASSERT_OK_AND_ASSIGN(const std::string run, SetUpRun({"a:0", "b:0"}, {"first:0", "second:0"}));
  ASSERT_THAT(Part(run, {{"a:0", AsScalar<float>(1)}}, {"first:0"}), IsOk());
  CancellationManager cancellation;
  RunStepArgs args{.session_handle = handle_,
                   .partial_run_handle = run,
                   .feeds = {{"b:0", AsScalar<float>(1)}},
                   .fetches = {"second:0"}};
  CallOptions options = Soon();
  options.cancellation = &cancellation;
  auto waiting = std::async(std::launch::async, [&] { return backend_->master()->RunStep(options, args).status(); });
  cancellation.StartCancel(errors::Cancelled("the test is tired of it"));
  EXPECT_THAT(waiting.get(), StatusIs(absl::StatusCode::kCancelled));
}

class CancellationTest : public PartialRunTest {
 protected:
  // A step that waits on the second device until somebody cancels it, or enqueues.
  void MakeWaitingGraph() {
    const Output queue = ops::FIFOQueueV2(On(1), {DT_FLOAT});
    const Output value = ops::QueueDequeueV2(On(1), queue, {DT_FLOAT})[0];
    ops::Neg(On(0).WithName("waits"), value);
    ops::QueueEnqueueV2(On(1).WithName("enqueue"), queue, {On(0).Constant(1.0f)});
    ops::Identity(On(1).WithName("size"), ops::QueueSizeV2(On(1), queue));
    handle_ = CreateRawSession();
  }
  absl::StatusOr<std::vector<Tensor>> Step(const CallOptions& options, std::vector<std::string> fetches,
                                           std::vector<std::string> targets = {}) {
    RunStepArgs args{.session_handle = handle_, .fetches = std::move(fetches), .targets = std::move(targets)};
    ASSIGN_OR_RETURN(RunStepResult result, backend_->master()->RunStep(options, args));
    return std::move(result.fetches);
  }
  // The size of the queue after an element was put there, which nobody may take: 1. A step may end a moment after its
  // call, and then takes the element, so `end_a_step` runs up to five times.
  int32_t SizeAfter(const std::function<void()>& end_a_step) {
    int32_t size = 0;
    for (int round = 0; round < 5 && size == 0; ++round) {
      end_a_step();
      EXPECT_THAT(Step(Soon(), {}, {"enqueue"}), IsOk());
      const auto fetched = Step(Soon(), {"size:0"});
      EXPECT_THAT(fetched, IsOk());
      if (fetched.ok()) size = (*fetched)[0].scalar<int32_t>();
    }
    return size;
  }
};
WEIR_SESSION_SUITE(CancellationTest);

TEST_P(CancellationTest, ACancelledStepEndsEverywhere) {
  MakeWaitingGraph();
  const int32_t size = SizeAfter([this] {
    CancellationManager cancellation;
    CallOptions options = Soon();
    options.cancellation = &cancellation;
    auto waiting = std::async(std::launch::async, [&] { return Step(options, {"waits:0"}).status(); });
    // A second step runs while the first waits, and so comes after its start or before; the end is the same.
    EXPECT_THAT(Step(Soon(), {"size:0"}), IsOk());
    cancellation.StartCancel(errors::Cancelled("the test is tired of it"));
    EXPECT_THAT(waiting.get(), StatusIs(absl::StatusCode::kCancelled));
  });
  EXPECT_EQ(size, 1);
}

TEST_P(CancellationTest, ACallThatWasCancelledBeforehandDoesNotRun) {
  MakeWaitingGraph();
  CancellationManager cancellation;
  cancellation.StartCancel(errors::Cancelled("too late"));
  CallOptions options = Soon();
  options.cancellation = &cancellation;
  EXPECT_THAT(Step(options, {}, {"enqueue"}), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_OK_AND_ASSIGN(auto size, Step(Soon(), {"size:0"}));
  ExpectTensorEqual(size[0], AsScalar<int32_t>(0));
}

TEST_P(CancellationTest, ADeadlineEndsAStepThatWaits) {
  MakeWaitingGraph();
  const int32_t size = SizeAfter([this] {
    const CallOptions options{.deadline = MonotonicNow() + absl::Milliseconds(200)};
    EXPECT_THAT(Step(options, {"waits:0"}), StatusIs(absl::StatusCode::kDeadlineExceeded));
  });
  ASSERT_EQ(size, 1);
  ASSERT_OK_AND_ASSIGN(auto result, Step(Soon(), {"waits:0"}));
  ExpectTensorEqual(result[0], AsScalar<float>(-1));
}

TEST_P(CancellationTest, ClosingTheSessionEndsItsSteps) {
  MakeWaitingGraph();
  auto waiting = std::async(std::launch::async, [&] { return Step(Soon(), {"waits:0"}).status(); });
  ASSERT_THAT(Step(Soon(), {"size:0"}), IsOk());
  tensorflow::CloseSessionRequest request;
  tensorflow::CloseSessionResponse response;
  request.set_session_handle(handle_);
  ASSERT_THAT(backend_->master()->CloseSession(Soon(), request, &response), IsOk());
  // It was waiting, or found no session.
  EXPECT_THAT(waiting.get(), StatusIs(::testing::AnyOf(absl::StatusCode::kCancelled, absl::StatusCode::kAborted,
                                                       absl::StatusCode::kFailedPrecondition)));
  EXPECT_THAT(Step(Soon(), {"size:0"}), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace weir
