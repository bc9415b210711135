#include "distribute/transport/repeated_requests.h"

#include <malloc.h>

#include <atomic>
#include <future>

#include "absl/synchronization/notification.h"
#include "core/clock.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }

class RepeatedRequestsTest : public ::testing::Test {
 protected:
  // Answers with the number of calls so far.
  RepeatedRequests::Answer Count(const CallOptions&) { return Bytes(absl::StrCat(++calls_)); }
  RepeatedRequests::Answer Ask(RepeatedRequests& requests, int64_t id) {
    return requests.RunOnce(id, "RunStep", Soon(), [this](const CallOptions& options) { return Count(options); });
  }

  std::atomic<int> calls_{0};
};

TEST_F(RepeatedRequestsTest, ARepeatGetsTheAnswerOfTheFirst) {
  RepeatedRequests requests;
  for (int i = 0; i < 11; ++i) EXPECT_EQ(Text(Ask(requests, 7).value()), "1");
  EXPECT_EQ(Text(Ask(requests, 8).value()), "2");
}

TEST_F(RepeatedRequestsTest, ARepeatGetsTheErrorOfTheFirst) {
  RepeatedRequests requests;
  const auto fail = [this](const CallOptions&) -> RepeatedRequests::Answer {
    return errors::InvalidArgument("attempt ", ++calls_);
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(requests.RunOnce(7, "RunStep", Soon(), fail).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "attempt 1"));
  }
}

TEST_F(RepeatedRequestsTest, RequestsWithoutAnIdAllRun) {
  RepeatedRequests requests;
  EXPECT_EQ(Text(Ask(requests, 0).value()), "1");
  EXPECT_EQ(Text(Ask(requests, 0).value()), "2");
}

TEST_F(RepeatedRequestsTest, AnAnswerThatIsNotKeptIsAborted) {
  RepeatedRequests requests({.max_answer_bytes = 600});
  const auto large = [](const CallOptions&) -> RepeatedRequests::Answer { return Bytes(std::string(1000, 'x')); };
  EXPECT_EQ(requests.RunOnce(7, "RunStep", Soon(), large)->Length(), 1000);
  EXPECT_THAT(Ask(requests, 7).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("after it had run")));
  EXPECT_EQ(calls_, 0);
}

TEST_F(RepeatedRequestsTest, TheOldestAnswersGoFirst) {
  RepeatedRequests requests({.max_kept_bytes = 3000, .max_known = 20});
  for (int id = 1; id <= 30; ++id) ASSERT_THAT(Ask(requests, id).status(), IsOk());
  EXPECT_EQ(Text(Ask(requests, 30).value()), "30");
  EXPECT_THAT(Ask(requests, 20).status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(Text(Ask(requests, 10).value()), "31");  // not remembered at all
}

TEST_F(RepeatedRequestsTest, SmallAnswersTakeNoMoreThanTheirLimit) {
  constexpr size_t kLimit = 2 << 20;
  RepeatedRequests requests({.max_kept_bytes = kLimit, .max_known = 8000});
  const auto used = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const size_t before = used();
  for (int id = 1; id <= 8000; ++id) ASSERT_THAT(Ask(requests, id).status(), IsOk());
  EXPECT_LT(used() - before, kLimit * 5 / 4);
}

// A request that runs until End or a cancellation.
class RunningRequest {
 public:
  RunningRequest(RepeatedRequests* requests, int64_t id) {
    answer_ = std::async(std::launch::async, [this, requests, id] {
      return requests->RunOnce(id, "RunStep", {.deadline = Soon().deadline, .cancellation = &caller_},
                               [this](const CallOptions& options) { return Run(options); });
    });
    started_.WaitForNotification();
  }
  void BreakConnection() {
    absl::Status gone = absl::CancelledError("gone");
    gone.SetPayload("weir/may_come_again", absl::Cord());
    caller_.StartCancel(gone);
  }
  void Cancel() { caller_.StartCancel(absl::CancelledError("enough")); }
  void End() { end_.Notify(); }
  RepeatedRequests::Answer answer() { return answer_.get(); }

 private:
  RepeatedRequests::Answer Run(const CallOptions& options) {
    const auto token = options.cancellation->Register([this] { end_.Notify(); });
    started_.Notify();
    end_.WaitForNotification();
    options.cancellation->Deregister(token);
    if (options.cancellation->IsCancelled()) return options.cancellation->status();
    return Bytes("ran");
  }

  CancellationManager caller_;
  absl::Notification started_, end_;
  std::future<RepeatedRequests::Answer> answer_;
};

TEST_F(RepeatedRequestsTest, ARepeatJoinsARunningRequestWhoseCallerIsGone) {
  RepeatedRequests requests({.patience = absl::Hours(1)});
  RunningRequest first(&requests, 7);
  first.BreakConnection();
  auto second = std::async(std::launch::async, [&] { return Ask(requests, 7); });
  first.End();
  EXPECT_EQ(Text(second.get().value()), "ran");
  EXPECT_EQ(Text(first.answer().value()), "ran");
  EXPECT_EQ(calls_, 0);
}

TEST_F(RepeatedRequestsTest, ARequestThatNobodyAsksForAgainIsCancelled) {
  RepeatedRequests requests({.patience = absl::Milliseconds(1)});
  RunningRequest request(&requests, 7);
  request.BreakConnection();
  EXPECT_THAT(request.answer().status(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(RepeatedRequestsTest, ACallerThatCancelsIsObeyedAtOnce) {
  RepeatedRequests requests({.patience = absl::Hours(1)});
  RunningRequest request(&requests, 7);
  request.Cancel();
  EXPECT_THAT(request.answer().status(), StatusIs(absl::StatusCode::kCancelled, "enough"));
}

TEST_F(RepeatedRequestsTest, ARepeatWaitsNoLongerThanItsDeadline) {
  RepeatedRequests requests;
  RunningRequest first(&requests, 7);
  const auto run = [this](const CallOptions& options) { return Count(options); };
  EXPECT_THAT(requests.RunOnce(7, "RunStep", {.deadline = MonotonicNow()}, run).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  first.End();
  EXPECT_EQ(Text(first.answer().value()), "ran");
}

}  // namespace
}  // namespace weir
