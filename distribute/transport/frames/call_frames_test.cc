// Calls over a link that the test controls.
#include <cstring>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/frames/call_answers.h"
#include "distribute/transport/frames/call_requests.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"
#include "distribute/transport/frames/held_link_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer Buffer(const std::vector<std::string>& pieces) {
  std::vector<grpc::Slice> slices(pieces.begin(), pieces.end());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (buffer.Length() > 0) buffer.Dump(&slices);
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

class CallFramesTest : public ::testing::Test {
 protected:
  using Result = absl::StatusOr<std::string>;

  CallFramesTest() {
    asking_->receiver = requests_;
    answering_->receiver = answers_;
  }
  ~CallFramesTest() override {
    asking_->Break(errors::Unavailable("the end"));
    answering_->Break(errors::Unavailable("the end"));
    for (ServerCall* call : std::exchange(calls_, {})) call->Fail(errors::Cancelled("the end"));
  }

  std::future<Result> Call(const grpc::ByteBuffer& request, const CallOptions& options = {},
                           const LinkMethod& method = kLinkRunGraph) {
    auto result = std::make_shared<std::promise<Result>>();
    auto future = result->get_future();
    EXPECT_TRUE(requests_->Begin(method, options, request, [result](const absl::StatusOr<grpc::ByteBuffer>& answer) {
      if (!answer.ok()) return result->set_value(answer.status());
      result->set_value(Text(*answer));
    }));
    return future;
  }

  // Holds its answers until the test releases them.
  ServerMethod Waiting(const char* path) {
    return {path, [this](ServerCall* call) { calls_.push_back(call); }};
  }

  std::vector<ServerCall*> calls_;
  LinkHandlers handlers_{{Waiting(kLinkRunGraph.path), Waiting(kLinkRecvTensor.path), Waiting("/x.Y/Z")}};
  std::shared_ptr<HeldLink> asking_ = std::make_shared<HeldLink>(), answering_ = std::make_shared<HeldLink>();
  std::shared_ptr<CallRequests> requests_ = std::make_shared<CallRequests>("/job:b", asking_);
  std::shared_ptr<CallAnswers> answers_ = std::make_shared<CallAnswers>(&handlers_, "/job:a", answering_);
};

TEST_F(CallFramesTest, AnswersComeUnderTheirChannels) {
  auto first = Call(Buffer({"first ", "request"})), second = Call(Buffer({}), {}, kLinkRecvTensor);
  asking_->DeliverTo(*answers_);
  ASSERT_EQ(calls_.size(), 2);
  EXPECT_EQ(Text(calls_[0]->request()), "first request");
  EXPECT_EQ(Text(calls_[1]->request()), "");
  EXPECT_EQ(calls_[0]->options().deadline, absl::InfiniteFuture());
  calls_[1]->Finish(Buffer({"two"}));
  calls_[0]->Finish(Buffer({"o", "ne"}));
  calls_.clear();
  answering_->DeliverTo(*requests_);
  EXPECT_EQ(first.get().value(), "one");
  EXPECT_EQ(second.get().value(), "two");
}

TEST_F(CallFramesTest, LongAnswersComeInParts) {
  auto result = Call(Buffer({"x"}));
  asking_->DeliverTo(*answers_);
  const std::string head = "head", body(20'500, 'b'), tail = "tail";
  std::exchange(calls_, {})[0]->Finish(Buffer({head, body, tail}));
  EXPECT_EQ(answering_->sent.size(), 1 + 21 + 1 + 1);  // frames of 1000 bytes, and one that ends them
  for (const HeldLink::Sent& frame : answering_->sent) EXPECT_LE(frame.bytes.bytes().size(), 1000);
  answering_->DeliverTo(*requests_);
  EXPECT_EQ(result.get().value(), head + body + tail);
}

TEST_F(CallFramesTest, AnErrorComesWithItsPayloads) {
  auto result = Call(Buffer({"x"}));
  asking_->DeliverTo(*answers_);
  std::exchange(calls_, {})[0]->Fail(WithOrigin(errors::Aborted("over"), {.task = "/job:b"}));
  answering_->DeliverTo(*requests_);
  const absl::Status status = result.get().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, "over"));
  EXPECT_EQ(OriginOf(status)->task, "/job:b");
}

TEST_F(CallFramesTest, ACancelledCallEndsOnBothSides) {
  CancellationManager cancellation;
  auto result = Call(Buffer({"x"}), {.cancellation = &cancellation});
  asking_->DeliverTo(*answers_);
  cancellation.StartCancel(errors::Aborted("enough"));
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  asking_->DeliverTo(*answers_);
  EXPECT_TRUE(calls_[0]->options().cancellation->IsCancelled());
  std::exchange(calls_, {})[0]->Finish(Buffer({"late"}));
  EXPECT_TRUE(answering_->sent.empty());
  // A late answer finds no call.
  requests_->OnFrame({FrameKind::kPart, 1}, OwnedBytes("la"));
  requests_->OnFrame({FrameKind::kAnswer, 1}, OwnedBytes("te"));
  EXPECT_FALSE(asking_->broken);
}

TEST_F(CallFramesTest, WhatIsCancelledBeforeIsNotAskedFor) {
  CancellationManager cancellation;
  cancellation.StartCancel(errors::Aborted("enough"));
  EXPECT_THAT(Call(Buffer({"x"}), {.cancellation = &cancellation}).get(),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_TRUE(asking_->sent.empty());
}

TEST_F(CallFramesTest, ACancellationThatOvertakesItsCallCancelsIt) {
  CancellationManager cancellation;
  asking_->before_send = [&] { cancellation.StartCancel(errors::Aborted("enough")); };
  auto result = Call(Buffer({"x"}), {.cancellation = &cancellation});
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(asking_->sent[0].head.kind, FrameKind::kCancel);
  asking_->DeliverTo(*answers_);
  ASSERT_EQ(calls_.size(), 1);
  EXPECT_TRUE(calls_[0]->options().cancellation->IsCancelled());
}

TEST_F(CallFramesTest, ALateCallEndsAtTheNextTick) {
  const absl::Time deadline = MonotonicNow() + absl::Hours(1);
  auto result = Call(Buffer({"x"}), {.deadline = deadline});
  asking_->DeliverTo(*answers_);
  EXPECT_LE(calls_[0]->options().deadline, deadline + absl::Seconds(1));
  EXPECT_GE(calls_[0]->options().deadline, deadline - absl::Minutes(1));
  requests_->OnTick(deadline - absl::Milliseconds(1));
  EXPECT_TRUE(asking_->sent.empty());
  requests_->OnTick(deadline);
  const absl::Status status = result.get().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("RunGraph to task /job:b")));
  EXPECT_EQ(OriginOf(status)->task, "/job:b");
  asking_->DeliverTo(*answers_);
  EXPECT_TRUE(calls_[0]->options().cancellation->IsCancelled());
}

TEST_F(CallFramesTest, ABrokenLinkEndsWhatIsPendingAndTakesNoMore) {
  auto result = Call(Buffer({"x"}));
  asking_->DeliverTo(*answers_);
  asking_->Break(errors::Unavailable("gone"));
  answering_->Break(errors::Unavailable("gone"));
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kUnavailable, "gone"));
  EXPECT_TRUE(calls_[0]->options().cancellation->IsCancelled());
  std::exchange(calls_, {})[0]->Finish(Buffer({"late"}));
  EXPECT_TRUE(answering_->sent.empty());
  EXPECT_FALSE(requests_->is_open());
  EXPECT_FALSE(requests_->Begin(kLinkRunGraph, {}, Buffer({"x"}), nullptr));
}

TEST_F(CallFramesTest, WhatDoesNotFitGoesOverGrpc) {
  EXPECT_FALSE(requests_->Begin(kLinkRunGraph, {}, Buffer({std::string(kMaxCallBytes, 'x')}), nullptr));
  for (size_t i = 0; i < kMaxChannels; ++i) {
    ASSERT_TRUE(requests_->Begin(kLinkRunGraph, {}, Buffer({"x"}), [](const absl::StatusOr<grpc::ByteBuffer>&) {}));
  }
  EXPECT_FALSE(requests_->Begin(kLinkRunGraph, {}, Buffer({"x"}), nullptr));
}

TEST_F(CallFramesTest, AMethodThatLinksDoNotCarryIsUnimplemented) {
  for (const LinkMethod& method : {kLinkCleanupGraph, LinkMethod{77, "/x.Y/Z", false}}) {
    auto result = Call(Buffer({"x"}), {}, method);
    asking_->DeliverTo(*answers_);
    answering_->DeliverTo(*requests_);
    EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kUnimplemented));
  }
  EXPECT_TRUE(calls_.empty());
}

TEST_F(CallFramesTest, AServerThatShutsDownFinishesWhatItHasBegun) {
  auto begun = Call(Buffer({"x"}));
  asking_->DeliverTo(*answers_);
  handlers_.Reject();
  auto rejected = Call(Buffer({"x"}));
  asking_->DeliverTo(*answers_);
  answering_->DeliverTo(*requests_);
  EXPECT_THAT(rejected.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
  std::exchange(calls_, {})[0]->Finish(Buffer({"one"}));
  handlers_.Await(absl::InfiniteFuture());
  answering_->DeliverTo(*requests_);
  EXPECT_EQ(begun.get().value(), "one");
}

TEST_F(CallFramesTest, ACallerThatBreaksTheRulesLosesItsLink) {
  const auto breaks = [&](const std::vector<std::pair<FrameHead, std::string>>& frames) {
    auto link = std::make_shared<HeldLink>();
    link->receiver = std::make_shared<CallAnswers>(&handlers_, "/job:a", link);
    const auto receiver = link->receiver;
    for (const auto& [head, bytes] : frames) receiver->OnFrame(head, OwnedBytes(bytes));
    const bool is_broken = link->broken.has_value();
    link->Break(errors::Unavailable("the end"));
    return is_broken;
  };
  CallHead head{.method = kLinkRunGraph.id, .timeout_micros = -5};
  const std::string good(reinterpret_cast<const char*>(&head), sizeof(head));
  EXPECT_TRUE(breaks({{{FrameKind::kCall, 1}, good.substr(1)}}));
  EXPECT_TRUE(breaks({{{FrameKind::kCall, 1}, std::string(kMaxCallBytes + 1, '\0')}}));
  EXPECT_TRUE(breaks({{{FrameKind::kAnswer, 1}, "x"}}));
  EXPECT_TRUE(breaks({{{static_cast<FrameKind>(77), 1}, "x"}}));
  EXPECT_TRUE(breaks({{{FrameKind::kCall, 1}, good}, {{FrameKind::kCall, 1}, good}}));
  EXPECT_FALSE(breaks({{{FrameKind::kCancel, 9}, ""}, {{FrameKind::kCall, 1}, good}, {{FrameKind::kCall, 2}, good}}));
  std::vector<std::pair<FrameHead, std::string>> many;
  for (uint32_t i = 0; i <= 2 * kMaxChannels; ++i) many.push_back({{FrameKind::kCall, i}, good});
  EXPECT_TRUE(breaks(many));
}

TEST_F(CallFramesTest, AnAnswererThatBreaksTheRulesLosesItsLink) {
  auto result = Call(Buffer({"x"}));
  requests_->OnFrame({FrameKind::kCall, 1}, OwnedBytes("x"));
  EXPECT_TRUE(asking_->broken);
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:b")));
}

TEST_F(CallFramesTest, APartWithoutBytesBreaksTheRules) {
  auto result = Call(Buffer({"x"}));
  requests_->OnFrame({FrameKind::kPart, 1}, OwnedBytes("x"));
  EXPECT_FALSE(asking_->broken);
  requests_->OnFrame({FrameKind::kPart, 1}, OwnedBytes(""));
  EXPECT_TRUE(asking_->broken);
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("an empty part")));
}

}  // namespace
}  // namespace weir
