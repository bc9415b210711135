// Tests the ring: frames are read as written, whichever are held; impossible writes and releases are rejected.
#include "distribute/transport/shared_memory/frame_ring.h"

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/testing.h"

namespace weir {
namespace {

constexpr uint64_t kCapacity = 4096;

class FrameRingTest : public ::testing::Test {
 protected:
  bool Write(uint32_t channel, const std::string& bytes) {
    const absl::StatusOr<bool> written = writer_.Write({1, channel, bytes.size()}, bytes);
    EXPECT_THAT(written, IsOk());
    return written.ok() && *written;
  }
  FrameRingReader::Frame Read() {
    auto frame = reader_.Read();
    EXPECT_THAT(frame, IsOk());
    EXPECT_TRUE(frame.ok() && frame->has_value());
    return **frame;
  }
  static std::string Text(const FrameRingReader::Frame& frame) { return {frame.bytes.data(), frame.bytes.size()}; }
  void ExpectRejected() { EXPECT_THAT(reader_.Read(), StatusIs(absl::StatusCode::kInvalidArgument)); }
  FrameRingHead& head() { return *reinterpret_cast<FrameRingHead*>(frames_); }

  FrameRingState state_ = {};
  alignas(64) char frames_[kCapacity] = {};
  FrameRingWriter writer_{&state_, frames_, kCapacity};
  FrameRingReader reader_{&state_, frames_, kCapacity};
};

TEST_F(FrameRingTest, FramesComeInOrderWithTheirChannels) {
  EXPECT_FALSE(reader_.HasFrame());
  ASSERT_TRUE(Write(7, "seven") && Write(8, ""));
  EXPECT_TRUE(reader_.HasFrame());
  const auto first = Read(), second = Read();
  EXPECT_EQ(first.head.channel, 7);
  EXPECT_EQ(Text(first), "seven");
  EXPECT_EQ(second.head.channel, 8);
  EXPECT_EQ(Text(second), "");
  EXPECT_FALSE(reader_.HasFrame());
}

TEST_F(FrameRingTest, AFullRingTakesNothingUntilSomethingIsReleased) {
  uint32_t written = 0;
  while (Write(written, std::string(1000, 'x'))) ++written;
  EXPECT_EQ(written, 3);
  EXPECT_FALSE(writer_.HasRoomAgain());
  const auto first = Read();
  Read();
  EXPECT_FALSE(Write(written, std::string(1000, 'y')));
  EXPECT_TRUE(reader_.Release(first.begin));  // the writer wants a ring
  EXPECT_TRUE(writer_.HasRoomAgain());
  EXPECT_TRUE(Write(written, std::string(500, 'y')));
}

TEST_F(FrameRingTest, MemoryGoesBackInOrder) {
  ASSERT_TRUE(Write(1, std::string(1000, 'a')) && Write(2, std::string(1000, 'b')) && Write(3, std::string(1000, 'c')));
  const auto first = Read(), second = Read();
  EXPECT_FALSE(Write(4, std::string(1900, 'd')));
  EXPECT_FALSE(reader_.Release(second.begin));  // the first is still held
  EXPECT_FALSE(Write(4, std::string(1900, 'd')));
  EXPECT_TRUE(reader_.Release(first.begin));
  EXPECT_TRUE(Write(4, std::string(1900, 'd')));
  EXPECT_EQ(Text(Read()), std::string(1000, 'c'));
  EXPECT_EQ(Text(Read()), std::string(1900, 'd'));
}

TEST_F(FrameRingTest, FramesOfAllLengthsPassWhateverIsHeld) {
  std::mt19937 random(1);
  std::vector<FrameRingReader::Frame> held;
  uint32_t written = 0, read = 0;
  const auto text = [](uint32_t i) {
    return std::string(i * 37 % (kCapacity / 2 - 64), static_cast<char>('a' + i % 26));
  };
  while (read < 5000) {
    if (random() % 2 == 0 && Write(written, text(written))) ++written;
    if (random() % 2 == 0 && reader_.HasFrame()) {
      held.push_back(Read());
      EXPECT_EQ(held.back().head.channel, read);
      ++read;
    }
    while (held.size() > random() % 4) {
      std::swap(held[random() % held.size()], held.back());
      EXPECT_EQ(Text(held.back()), text(held.back().head.channel));
      reader_.Release(held.back().begin);
      held.pop_back();
    }
  }
}

TEST_F(FrameRingTest, TwoThreads) {
  constexpr uint32_t kFrames = 2000;
  std::thread writer([&] {
    for (uint32_t i = 0; i < kFrames;) {
      if (Write(i, std::string(i % 300, static_cast<char>(i)))) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (uint32_t i = 0; i < kFrames;) {
    if (!reader_.HasFrame()) {
      std::this_thread::yield();
      continue;
    }
    const auto frame = Read();
    ASSERT_EQ(frame.head.channel, i);
    ASSERT_EQ(Text(frame), std::string(i % 300, static_cast<char>(i)));
    reader_.Release(frame.begin);
    ++i;
  }
  writer.join();
}

TEST_F(FrameRingTest, AWriterThatLiesAboutItsPositionIsRejected) {
  for (const uint64_t written : {kCapacity + 64, UINT64_MAX, UINT64_MAX - 63, uint64_t{1}, uint64_t{100}}) {
    state_.written = written;
    ExpectRejected();
  }
}

TEST_F(FrameRingTest, AWriterThatGoesBackIsRejected) {
  ASSERT_TRUE(Write(1, "a") && Write(2, "b"));
  Read();
  Read();
  state_.written = 128;
  ExpectRejected();
}

TEST_F(FrameRingTest, AWriterThatWritesOverWhatIsHeldIsRejected) {
  ASSERT_TRUE(Write(1, std::string(1000, 'a')) && Write(2, std::string(1000, 'b')));
  const auto first = Read();
  reader_.Release(Read().begin);
  state_.written = kCapacity + 64;
  ExpectRejected();
  EXPECT_EQ(Text(first), std::string(1000, 'a'));
}

TEST_F(FrameRingTest, FramesThatLieAboutTheirLengthAreRejected) {
  for (const uint64_t bytes : {uint64_t{65}, kCapacity, UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63}) {
    state_.written = 128;
    head() = {1, 0, bytes};
    ExpectRejected();
  }
  head() = {0, 0, 0};  // a skip from the start
  ExpectRejected();
}

TEST_F(FrameRingTest, AReaderThatReleasesWhatIsNotWrittenIsRejected) {
  ASSERT_TRUE(Write(1, std::string(1900, 'a')) && Write(2, std::string(1900, 'b')));
  for (const uint64_t released : {uint64_t{1} << 40, UINT64_MAX}) {
    state_.released = released;
    EXPECT_THAT(writer_.Write({1, 3, 1000}, std::string(1000, 'c')), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace weir
