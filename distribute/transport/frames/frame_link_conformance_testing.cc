#include "distribute/transport/frames/frame_link_conformance_testing.h"

#include <atomic>
#include <map>
#include <thread>

#include "core/testing.h"

namespace weir {

using ::testing::HasSubstr;

void FrameRecorder::OnFrame(const FrameHead& head, ReceivedBytes bytes) {
  MutexLock lock(mu_);
  heads_.push_back(head);
  texts_.emplace_back(bytes.bytes().data(), bytes.bytes().size());
  if (keeps_) kept_.push_back(std::move(bytes));
  changed_.notify_all();
}

void FrameRecorder::AwaitFrames(size_t count) {
  MutexLock lock(mu_);
  while (texts_.size() < count) lock.Wait(changed_);
}

std::vector<FrameHead> FrameRecorder::heads() const {
  MutexLock lock(mu_);
  return heads_;
}

std::vector<std::string> FrameRecorder::texts() const {
  MutexLock lock(mu_);
  return texts_;
}

void FrameRecorder::LetGo() {
  std::vector<ReceivedBytes> kept;
  MutexLock lock(mu_);
  kept.swap(kept_);
  keeps_ = false;
}

namespace {

constexpr int kFrames = 12;  // of the largest size: more than any link has room for

void AwaitCount(const std::atomic<int>& count, int expected) {
  while (count < expected) std::this_thread::yield();
  EXPECT_EQ(count, expected);
}

TEST_P(FrameLinkConformance, FramesPassBothWays) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  const auto pair = GetParam().connect(at_asker, at_answerer);
  for (int i = 0; i < 100; ++i) {
    pair->asker().Send({FrameKind::kRequest, 1}, OwnedBytes("ask"));
    pair->answerer().Send({FrameKind::kBuffer, 1}, OwnedBytes("answer"));
  }
  at_asker->AwaitFrames(100);
  at_answerer->AwaitFrames(100);
  EXPECT_EQ(at_asker->texts().back(), "answer");
  EXPECT_EQ(at_answerer->texts().back(), "ask");
  ListLinksResponse::Link link;
  pair->DescribeAsker(&link);
  EXPECT_EQ(link.task(), "/job:b");
  EXPECT_FALSE(link.accepted());
  EXPECT_EQ(link.frames_sent(), 100);
  EXPECT_EQ(link.bytes_received(), 600);
}

TEST_P(FrameLinkConformance, FramesOfAChannelArriveInOrderWhateverTheirSize) {
  auto at_asker = std::make_shared<FrameRecorder>(), at_answerer = std::make_shared<FrameRecorder>();
  const auto pair = GetParam().connect(at_asker, at_answerer);
  constexpr size_t kSizes[] = {0, 1, 100, 5'000, 70'000, 200'000};
  std::map<uint32_t, std::vector<size_t>> sent, received;
  for (size_t i = 0; i < 300; ++i) {
    const uint32_t channel = i % 7;
    const size_t size = kSizes[(i * 31 / 7) % 6];
    sent[channel].push_back(size);
    pair->answerer().Send({FrameKind::kBuffer, channel},
                          OwnedBytes(std::string(size, static_cast<char>('a' + i % 26))));
  }
  at_asker->AwaitFrames(300);
  const std::vector<FrameHead> heads = at_asker->heads();
  const std::vector<std::string> texts = at_asker->texts();
  for (size_t i = 0; i < heads.size(); ++i) received[heads[i].channel].push_back(texts[i].size());
  EXPECT_EQ(received, sent);
}

TEST_P(FrameLinkConformance, WhatHasNoRoomWaitsWithItsSender) {
  auto at_asker = std::make_shared<FrameRecorder>(/*keeps=*/true), at_answerer = std::make_shared<FrameRecorder>();
  const auto pair = GetParam().connect(at_asker, at_answerer);
  const std::string large(pair->answerer().max_frame_bytes(), 'x');
  std::atomic<int> let_go{0};
  for (int i = 0; i < kFrames; ++i) {
    pair->answerer().Send({FrameKind::kBuffer, 1}, ReceivedBytes(large, [&let_go] { ++let_go; }));
  }
  at_asker->AwaitFrames(3);
  EXPECT_LT(let_go, kFrames);
  EXPECT_LT(at_asker->texts().size(), kFrames);
  at_asker->LetGo();
  at_asker->AwaitFrames(kFrames);
  EXPECT_EQ(at_asker->texts().back(), large);
  pair->answerer().Break(errors::Unavailable("the end"));
  AwaitCount(let_go, kFrames);
}

TEST_P(FrameLinkConformance, ABrokenLinkLetsGoOfWhatWaits) {
  auto at_asker = std::make_shared<FrameRecorder>(/*keeps=*/true), at_answerer = std::make_shared<FrameRecorder>();
  auto pair = GetParam().connect(at_asker, at_answerer);
  const std::string large(pair->answerer().max_frame_bytes(), 'x');
  std::atomic<int> let_go{0};
  for (int i = 0; i < kFrames; ++i) {
    pair->answerer().Send({FrameKind::kBuffer, 1}, ReceivedBytes(large, [&let_go] { ++let_go; }));
  }
  pair->answerer().Break(errors::Unavailable("the end"));
  pair->answerer().Send({FrameKind::kBuffer, 1}, ReceivedBytes(large, [&let_go] { ++let_go; }));
  EXPECT_THAT(at_answerer->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the end")));
  EXPECT_THAT(at_asker->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:b")));
  pair.reset();  // a transport may have begun to send some
  AwaitCount(let_go, kFrames + 1);
}

// The first frame's work waits for the second frame.
class LongWork : public FrameLink::Receiver {
 public:
  void Receive(FrameLink* link) { link_.set_value(link); }
  void OnFrame(const FrameHead& head, ReceivedBytes) override {
    if (head.channel == 2) return second_.set_value();
    link_.get_future().get()->RunElsewhere([this] {
      second_.get_future().wait();
      done_.set_value();
    });
  }
  void OnBroken(const absl::Status&) override {}
  void AwaitDone() { done_.get_future().wait(); }

 private:
  std::promise<FrameLink*> link_;
  std::promise<void> second_, done_;
};

TEST_P(FrameLinkConformance, FramesArriveWhileWorkThatOneBroughtRuns) {
  auto at_asker = std::make_shared<FrameRecorder>();
  auto at_answerer = std::make_shared<LongWork>();
  const auto pair = GetParam().connect(at_asker, at_answerer);
  at_answerer->Receive(&pair->answerer());
  pair->asker().Send({FrameKind::kCall, 1}, OwnedBytes("long"));
  pair->asker().Send({FrameKind::kCall, 2}, OwnedBytes("short"));
  at_answerer->AwaitDone();
}

}  // namespace
}  // namespace weir
