// Links between two ends with separate pollers, as in two processes.
#include "distribute/transport/shared_memory/ring_link.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/frames/frame_link_conformance_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Both ends of a link.
class Rings : public FrameLinkPair {
 public:
  Rings() = default;
  Rings(const std::shared_ptr<FrameLink::Receiver>& asker, const std::shared_ptr<FrameLink::Receiver>& answerer) {
    Connect(asker, answerer);
  }
  ~Rings() override {
    if (asker_poller_ != nullptr) asker_poller_->Stop();
    if (answerer_poller_ != nullptr) answerer_poller_->Stop();
  }
  FrameLink& asker() override { return *asker_; }
  FrameLink& answerer() override { return *answerer_; }
  void DescribeAsker(ListLinksResponse::Link* description) override { asker_->Describe(description); }

  void Connect(const std::shared_ptr<FrameLink::Receiver>& asker,
               const std::shared_ptr<FrameLink::Receiver>& answerer) {
    ASSERT_OK_AND_ASSIGN(asker_poller_, LinkPoller::Create());
    ASSERT_OK_AND_ASSIGN(answerer_poller_, LinkPoller::Create());
    ASSERT_OK_AND_ASSIGN(auto rings, RingLink::MakeRings(LinkUse::BUFFERS));
    ASSERT_OK_AND_ASSIGN(auto opened, RingLink::OpenRings(LinkUse::BUFFERS, rings->name()));
    EXPECT_THAT(RingLink::OpenRings(LinkUse::BUFFERS, rings->name()), StatusIs(absl::StatusCode::kAlreadyExists));
    ASSERT_OK_AND_ASSIGN(
        raw_, SharedSegment::Open("weir-rings", rings->name().bytes() - SharedSegment::kDataOffset, rings->name()));
    ASSERT_OK_AND_ASSIGN(auto to_answerer, Doorbell::Open(answerer_poller_->doorbell()));
    ASSERT_OK_AND_ASSIGN(auto to_asker, Doorbell::Open(asker_poller_->doorbell()));
    asker_ = std::make_shared<RingLink>(RingLink::Options{LinkUse::BUFFERS, std::move(rings), std::move(to_answerer),
                                                          asker_poller_.get(), true, "/job:b"});
    answerer_ = std::make_shared<RingLink>(RingLink::Options{LinkUse::BUFFERS, std::move(opened), std::move(to_asker),
                                                             answerer_poller_.get(), false, "/job:a"});
    ASSERT_THAT(asker_->Start(asker), IsOk());
    ASSERT_THAT(answerer_->Start(answerer), IsOk());
  }

  std::unique_ptr<LinkPoller> asker_poller_, answerer_poller_;
  std::unique_ptr<SharedSegment> raw_;
  std::shared_ptr<RingLink> asker_, answerer_;
};

INSTANTIATE_TEST_SUITE_P(Rings, FrameLinkConformance,
                         testing::Values(FrameLinkBackend{
                             "SharedMemory",
                             [](auto asker, auto answerer) { return std::make_unique<Rings>(asker, answerer); }}),
                         BackendName);

class RingLinkTest : public ::testing::Test, protected Rings {};

TEST_F(RingLinkTest, AwaitRunsWhatArrivesOnItsThread) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  answerer_->Send({FrameKind::kBuffer, 1}, OwnedBytes("answer"));
  while (at_asker->texts().empty()) asker_poller_->Await([&] { return !at_asker->texts().empty(); });
  EXPECT_EQ(at_asker->texts().back(), "answer");
}

// Receives one frame and keeps the turn.
void StayAfter(int channel, RingLink& sender, LinkPoller& poller, FrameRecorder& recorder) {
  const size_t before = recorder.texts().size();
  sender.Send({FrameKind::kBuffer, static_cast<uint32_t>(channel)}, OwnedBytes("first"));
  while (recorder.texts().size() == before) poller.AwaitAndStay([&] { return recorder.texts().size() > before; });
}

TEST_F(RingLinkTest, AThreadThatStaysTakesInTheRestWhenItRests) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  for (int i = 0; i < 100; ++i) {
    StayAfter(1, *answerer_, *asker_poller_, *at_asker);
    answerer_->Send({FrameKind::kBuffer, 2}, OwnedBytes("second"));
    asker_poller_->Rest();
    at_asker->AwaitFrames(2 * i + 2);
  }
}

// Counts the frames read on this thread, inside and outside Await.
class AwaitRecorder : public FrameRecorder {
 public:
  // `poller` is set before the first frame.
  AwaitRecorder(const std::unique_ptr<LinkPoller>& poller, std::thread::id thread) : poller_(poller), thread_(thread) {}
  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override {
    if (std::this_thread::get_id() == thread_) (poller_->IsInAwait() ? in_await : outside)++;
    FrameRecorder::OnFrame(head, std::move(bytes));
  }
  std::atomic<int> in_await{0}, outside{0};

 private:
  const std::unique_ptr<LinkPoller>& poller_;
  const std::thread::id thread_;
};

// Work deferred by RunElsewhere rings the doorbell, because this thread has other work.
TEST_F(RingLinkTest, AThreadThatRestsTakesInWhatHasComeAsOneThatAwaits) {
  auto at_asker = std::make_shared<AwaitRecorder>(asker_poller_, std::this_thread::get_id());
  auto at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  for (int i = 0, before = 0; i < 100 && before == at_asker->in_await + at_asker->outside; ++i) {
    StayAfter(1, *answerer_, *asker_poller_, *at_asker);
    answerer_->Send({FrameKind::kBuffer, 2}, OwnedBytes("second"));
    before = at_asker->in_await + at_asker->outside;
    asker_poller_->Rest();
    at_asker->AwaitFrames(2 * i + 2);
  }
  EXPECT_GT(at_asker->in_await, 0);
  EXPECT_EQ(at_asker->outside, 0);
}

TEST_F(RingLinkTest, AThreadThatStaysMakesRoomForOneThatAwaits) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  StayAfter(1, *answerer_, *asker_poller_, *at_asker);
  std::async(std::launch::async, [&] {
    StayAfter(2, *answerer_, *asker_poller_, *at_asker), asker_poller_->Rest();
  }).get();
  StayAfter(3, *answerer_, *asker_poller_, *at_asker);
  asker_poller_->Rest();
}

TEST_F(RingLinkTest, WhatComesToAThreadThatNeverRestsArrives) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  StayAfter(1, *answerer_, *asker_poller_, *at_asker);
  answerer_->Send({FrameKind::kBuffer, 2}, OwnedBytes("second"));
  at_asker->AwaitFrames(2);
  asker_poller_->Rest();
}

TEST(LookTurnTest, OneThreadHasTheTurnAndOneThatPausesLosesIt) {
  PollTurn turn;
  const PollTurn::Id first = turn.TryBegin();
  ASSERT_NE(first, PollTurn::kNone);
  EXPECT_EQ(turn.TryBegin(), PollTurn::kNone);
  EXPECT_EQ(turn.TryTakeOver(), PollTurn::kNone);
  turn.Pause(first);
  EXPECT_EQ(turn.TryBegin(), PollTurn::kNone);
  EXPECT_TRUE(turn.Resume(first));
  turn.Pause(first);
  const PollTurn::Id second = turn.TryTakeOver();
  ASSERT_NE(second, PollTurn::kNone);
  turn.Pause(second);
  EXPECT_FALSE(turn.Resume(first));  // although the holder pauses
  EXPECT_TRUE(turn.Resume(second));
  turn.End();
  EXPECT_NE(turn.TryTakeOver(), PollTurn::kNone);
}

// The first frame's work waits for the second frame.
class LongWork : public FrameLink::Receiver {
 public:
  void OnFrame(const FrameHead& head, ReceivedBytes) override {
    if (head.channel == 2) return second_.set_value();
    LinkPoller::RunElsewhere([this] {
      second_.get_future().wait();
      done_.set_value();
    });
  }
  void OnBroken(const absl::Status&) override {}
  void AwaitDone() { done_.get_future().wait(); }

 private:
  std::promise<void> second_, done_;
};

TEST_F(RingLinkTest, AwaitLeavesLongWorkToAnotherThread) {
  auto at_asker = std::make_shared<LongWork>();
  auto at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  std::atomic<bool> is_done{false};
  auto waiter = std::async(std::launch::async, [&] {
    while (!is_done) asker_poller_->Await([&] { return is_done.load(); });
  });
  answerer_->Send({FrameKind::kAnswer, 1}, OwnedBytes("long"));
  answerer_->Send({FrameKind::kAnswer, 2}, OwnedBytes("short"));
  at_asker->AwaitDone();
  is_done = true;
  waiter.get();
}

TEST_F(RingLinkTest, APeerThatWritesNonsenseLosesTheLink) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  Connect(at_asker, at_answerer);
  reinterpret_cast<FrameRingState*>(raw_->data())->written = 100;  // requests
  EXPECT_THAT(at_answerer->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:a")));
  EXPECT_THAT(at_asker->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(RingLinkTest, RingsThatTheirMakerAbandonsAreLetGoOf) {
  ASSERT_OK_AND_ASSIGN(asker_poller_, LinkPoller::Create());
  ASSERT_OK_AND_ASSIGN(answerer_poller_, LinkPoller::Create());
  ASSERT_OK_AND_ASSIGN(auto rings, RingLink::MakeRings(LinkUse::CALLS));
  ASSERT_OK_AND_ASSIGN(auto opened, RingLink::OpenRings(LinkUse::CALLS, rings->name()));
  ASSERT_OK_AND_ASSIGN(auto to_asker, Doorbell::Open(asker_poller_->doorbell()));
  answerer_ = std::make_shared<RingLink>(RingLink::Options{LinkUse::CALLS, std::move(opened), std::move(to_asker),
                                                           answerer_poller_.get(), false, "/job:a"});
  auto at_answerer = std::make_shared<FrameRecorder>();
  ASSERT_THAT(answerer_->Start(at_answerer), IsOk());
  RingLink::Abandon(*rings);
  rings.reset();
  EXPECT_THAT(at_answerer->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("closed its link")));
}

TEST(RingLinkProcessTest, APeerThatIsKilledIsMissed) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto rings = RingLink::MakeRings(LinkUse::BUFFERS);
    auto doorbell = Doorbell::Create();
    if (!rings.ok() || !doorbell.ok()) _exit(1);
    OpenRingsRequest request;
    *request.mutable_rings() = (*rings)->name();
    *request.mutable_doorbell() = (*doorbell)->name();
    const std::string bytes = request.SerializeAsString();
    if (write(pipe_ends[1], bytes.data(), bytes.size()) > 0) pause();
    _exit(1);
  }
  char buffer[512];
  const ssize_t length = read(pipe_ends[0], buffer, sizeof(buffer));
  ASSERT_GT(length, 0);
  OpenRingsRequest request;
  ASSERT_TRUE(request.ParseFromArray(buffer, static_cast<int>(length)));
  ASSERT_OK_AND_ASSIGN(auto poller, LinkPoller::Create());
  ASSERT_OK_AND_ASSIGN(auto rings, RingLink::OpenRings(LinkUse::BUFFERS, request.rings()));
  ASSERT_OK_AND_ASSIGN(auto doorbell, Doorbell::Open(request.doorbell()));
  auto recorder = std::make_shared<FrameRecorder>();
  auto link = std::make_shared<RingLink>(
      RingLink::Options{LinkUse::BUFFERS, std::move(rings), std::move(doorbell), poller.get(), false, "/job:killed"});
  ASSERT_THAT(link->Start(recorder), IsOk());
  link->Send({FrameKind::kBuffer, 1}, OwnedBytes("x"));
  const absl::Time killed = MonotonicNow();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(recorder->AwaitBroken(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Task /job:killed is not there any more")));
  EXPECT_LT(MonotonicNow() - killed, absl::Seconds(30));
  // This process alone has the memory.
  EXPECT_THAT(RingLink::OpenRings(LinkUse::BUFFERS, request.rings()), StatusIs(absl::StatusCode::kPermissionDenied));
  link->Send({FrameKind::kBuffer, 2}, OwnedBytes("y"));
  poller->Stop();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(SharedSegmentTest, ANameThatLiesIsRejected) {
  ASSERT_OK_AND_ASSIGN(const auto segment, SharedSegment::Create("weir-test", 4096));
  const auto rejected = [&](auto change) {
    SharedSegmentName bad = segment->name();
    change(bad);
    const auto opened = SharedSegment::Open("weir-test", 4096, bad);
    EXPECT_THAT(opened, ::testing::AnyOf(StatusIs(absl::StatusCode::kInvalidArgument),
                                         StatusIs(absl::StatusCode::kPermissionDenied)))
        << bad.ShortDebugString();
  };
  rejected([](auto& name) { name.set_pid(0); });
  rejected([](auto& name) { name.set_pid(-1); });
  rejected([](auto& name) { name.set_pid(int64_t{1} << 40); });
  rejected([](auto& name) { name.set_fd(0); });
  rejected([](auto& name) { name.set_fd(-1); });
  rejected([](auto& name) { name.set_bytes(name.bytes() * 2); });
  rejected([](auto& name) { name.set_token("short"); });
  rejected([](auto& name) { name.set_token(std::string(SharedSegment::kTokenBytes, 'x')); });
  rejected([](auto& name) { name.Clear(); });
  EXPECT_THAT(SharedSegment::Open("weir-other", 4096, segment->name()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SharedSegment::Open("weir-test", 8192, segment->name()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SharedSegment::Open("weir-test", 4096, segment->name()), IsOk());
}

}  // namespace
}  // namespace weir
