// Buffer requests and answers over a link that the test controls.
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "distribute/transport/frames/buffer_answers.h"
#include "distribute/transport/frames/buffer_requests.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"
#include "distribute/transport/frames/held_link_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Holds its answers until the test releases them.
class WaitingWorker : public FakeWorker {
 public:
  void RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> asked,
                    ResultCallback<ReceivedBytes> done) override {
    args.push_back(std::move(asked));
    cancellations.push_back(options.cancellation);
    answers.push_back(std::move(done));
  }
  std::vector<std::shared_ptr<const RecvBufArgs>> args;
  std::vector<CancellationManager*> cancellations;
  std::vector<ResultCallback<ReceivedBytes>> answers;
};

class BufferFramesTest : public ::testing::Test {
 protected:
  using Result = absl::StatusOr<std::string>;

  BufferFramesTest() {
    asking_->receiver = requests_;
    answering_->receiver = answers_;
  }

  ~BufferFramesTest() override {
    asking_->Break(errors::Unavailable("the end"));
    answering_->Break(errors::Unavailable("the end"));
  }

  std::future<Result> Ask(int64_t num_bytes, CancellationManager* cancellation = nullptr) {
    auto result = std::make_shared<std::promise<Result>>();
    auto future = result->get_future();
    const RecvBufArgs args{.step_id = 5, .key = "key", .num_bytes = num_bytes, .src_device = "a", .dst_device = "b"};
    EXPECT_TRUE(requests_->Begin({.cancellation = cancellation}, args, [result](absl::StatusOr<ReceivedBytes> bytes) {
      if (!bytes.ok()) return result->set_value(bytes.status());
      result->set_value(std::string(bytes->bytes().data(), bytes->bytes().size()));
    }));
    return future;
  }

  WaitingWorker worker_;
  std::shared_ptr<HeldLink> asking_ = std::make_shared<HeldLink>(), answering_ = std::make_shared<HeldLink>();
  std::shared_ptr<BufferRequests> requests_ = std::make_shared<BufferRequests>("/job:b", asking_);
  std::shared_ptr<BufferAnswers> answers_ = std::make_shared<BufferAnswers>(&worker_, "/job:a", answering_);
};

TEST_F(BufferFramesTest, BuffersComeUnderTheirChannels) {
  auto first = Ask(3), second = Ask(6);
  asking_->DeliverTo(*answers_);
  ASSERT_EQ(worker_.args.size(), 2);
  EXPECT_EQ(worker_.args[0]->key, "key");
  EXPECT_EQ(worker_.args[0]->step_id, 5);
  EXPECT_EQ(worker_.args[1]->num_bytes, 6);
  worker_.answers[1](OwnedBytes("second"));
  worker_.answers[0](OwnedBytes("one"));
  answering_->DeliverTo(*requests_);
  EXPECT_EQ(first.get().value(), "one");
  EXPECT_EQ(second.get().value(), "second");
}

TEST_F(BufferFramesTest, AnErrorComesWithItsPayloads) {
  auto result = Ask(3);
  asking_->DeliverTo(*answers_);
  absl::Status error = WithOrigin(errors::Aborted("over"), {.task = "/job:b"});
  error.SetPayload("weir/test", absl::Cord("17"));
  worker_.answers[0](error);
  answering_->DeliverTo(*requests_);
  const absl::Status status = result.get().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, "over"));
  EXPECT_EQ(status.GetPayload("weir/test"), absl::Cord("17"));
  EXPECT_EQ(OriginOf(status)->task, "/job:b");
}

TEST_F(BufferFramesTest, ACancelledRequestEndsOnBothSides) {
  CancellationManager cancellation;
  auto result = Ask(3, &cancellation);
  asking_->DeliverTo(*answers_);
  cancellation.StartCancel(errors::Aborted("enough"));
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  asking_->DeliverTo(*answers_);
  EXPECT_TRUE(worker_.cancellations[0]->IsCancelled());
  worker_.answers[0](OwnedBytes("one"));
  EXPECT_TRUE(answering_->sent.empty());
  // A late answer finds no request.
  requests_->OnFrame({FrameKind::kBuffer, 1}, OwnedBytes("one"));
  EXPECT_FALSE(asking_->broken);
}

TEST_F(BufferFramesTest, WhatIsCancelledBeforeIsNotAskedFor) {
  CancellationManager cancellation;
  cancellation.StartCancel(errors::Aborted("enough"));
  EXPECT_THAT(Ask(3, &cancellation).get(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_TRUE(asking_->sent.empty());
}

TEST_F(BufferFramesTest, ACancellationThatOvertakesItsRequestCancelsIt) {
  CancellationManager cancellation;
  asking_->before_send = [&] { cancellation.StartCancel(errors::Aborted("enough")); };
  EXPECT_THAT(Ask(3, &cancellation).get(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  asking_->DeliverTo(*answers_);
  EXPECT_TRUE(worker_.cancellations[0]->IsCancelled());
}

TEST_F(BufferFramesTest, ABrokenLinkEndsWhatIsPendingAndTakesNoMore) {
  auto result = Ask(3);
  asking_->DeliverTo(*answers_);
  asking_->Break(errors::Unavailable("gone"));
  answering_->Break(errors::Unavailable("gone"));
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kUnavailable, "gone"));
  EXPECT_TRUE(worker_.cancellations[0]->IsCancelled());
  worker_.answers[0](errors::Cancelled("x"));
  EXPECT_FALSE(requests_->is_open());
  EXPECT_FALSE(requests_->Begin({}, {.num_bytes = 3}, nullptr));
}

TEST_F(BufferFramesTest, WhatDoesNotFitIsLeftToCalls) {
  EXPECT_FALSE(requests_->Begin({}, {.num_bytes = 1001}, nullptr));
  EXPECT_FALSE(requests_->Begin({}, {.num_bytes = -1}, nullptr));
  EXPECT_FALSE(requests_->Begin({}, {.key = std::string(kMaxRequestBytes, 'x'), .num_bytes = 1}, nullptr));
  for (size_t i = 0; i < kMaxChannels; ++i) {
    ASSERT_TRUE(requests_->Begin({}, {.num_bytes = 1}, [](const absl::StatusOr<ReceivedBytes>&) {}));
  }
  EXPECT_FALSE(requests_->Begin({}, {.num_bytes = 1}, nullptr));
}

TEST_F(BufferFramesTest, ABufferOfAnotherSizeIsAnError) {
  auto result = Ask(3);
  asking_->DeliverTo(*answers_);
  worker_.answers[0](OwnedBytes("four"));
  answering_->DeliverTo(*requests_);
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kInternal, HasSubstr("sent 4 bytes where 3")));
}

TEST_F(BufferFramesTest, AnAskerThatBreaksTheRulesLosesItsLink) {
  const auto breaks = [&](const std::vector<std::pair<FrameHead, std::string>>& frames) {
    auto link = std::make_shared<HeldLink>();
    link->receiver = std::make_shared<BufferAnswers>(&worker_, "/job:a", link);
    const auto receiver = link->receiver;
    for (const auto& [head, bytes] : frames) receiver->OnFrame(head, OwnedBytes(bytes));
    const bool is_broken = link->broken.has_value();
    link->Break(errors::Unavailable("the end"));
    return is_broken;
  };
  EXPECT_TRUE(breaks({{{FrameKind::kRequest, 1}, "\xff\xff\xff"}}));
  EXPECT_TRUE(breaks({{{FrameKind::kRequest, 1}, std::string(kMaxRequestBytes + 1, '\0')}}));
  EXPECT_TRUE(breaks({{{FrameKind::kBuffer, 1}, "x"}}));
  EXPECT_TRUE(breaks({{{static_cast<FrameKind>(77), 1}, "x"}}));
  EXPECT_TRUE(breaks({{{FrameKind::kRequest, 1}, ""}, {{FrameKind::kRequest, 1}, ""}}));
  EXPECT_FALSE(breaks({{{FrameKind::kCancel, 9}, ""}, {{FrameKind::kRequest, 1}, ""}, {{FrameKind::kRequest, 2}, ""}}));
  std::vector<std::pair<FrameHead, std::string>> many;
  for (uint32_t i = 0; i <= 2 * kMaxChannels; ++i) many.push_back({{FrameKind::kRequest, i}, ""});
  EXPECT_TRUE(breaks(many));
  for (auto& answer : worker_.answers) answer(errors::Cancelled("x"));
}

TEST_F(BufferFramesTest, AnAnswererThatBreaksTheRulesLosesItsLink) {
  auto result = Ask(3);
  requests_->OnFrame({FrameKind::kRequest, 1}, OwnedBytes("x"));
  EXPECT_TRUE(asking_->broken);
  EXPECT_THAT(result.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:b")));
}

TEST(FrameStatusTest, WhatDoesNotParseIsAnErrorAllTheSame) {
  const std::string good = EncodeFrameStatus(errors::NotFound("x"));
  EXPECT_THAT(DecodeFrameStatus(good), StatusIs(absl::StatusCode::kNotFound, "x"));
  for (const std::string& bad : {std::string(), std::string("abc"), std::string(12, '\0'), std::string(12, '\xff'),
                                 good + "y", good.substr(0, good.size() - 1), std::string(100'000, '\1')}) {
    EXPECT_THAT(DecodeFrameStatus(bad), StatusIs(absl::StatusCode::kInternal));
  }
}

}  // namespace
}  // namespace weir
