// Tensors through shared memory: correct use, and wrong data from either end.
#include <fcntl.h>
#include <google/protobuf/any.pb.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <random>

#include "absl/time/clock.h"
#include "core/testing.h"
#include "distribute/transport/shared_memory/arena_layout.h"
#include "distribute/transport/shared_memory/receiving_arena.h"
#include "distribute/transport/shared_memory/sending_arena.h"

namespace weir {
namespace {

using ::testing::AnyOf;

constexpr size_t kArenaBytes = size_t{64} << 20;

SharedMemoryOffer Parsed(const std::string& offer) {
  google::protobuf::Any any;
  SharedMemoryOffer parsed;
  EXPECT_TRUE(any.ParseFromString(offer) && any.UnpackTo(&parsed));
  return parsed;
}

std::string Packed(const SharedMemoryOffer& offer) {
  google::protobuf::Any any;
  any.PackFrom(offer);
  return any.SerializeAsString();
}

Tensor Numbers(int64_t elements, int32_t first) {
  Tensor tensor(DT_INT32, TensorShape({elements}));
  for (int64_t i = 0; i < elements; ++i) tensor.data<int32_t>()[i] = first + static_cast<int32_t>(i);
  return tensor;
}

class SharedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(receiving_, ReceivingArena::Create(kArenaBytes));
    offer_ = Parsed(receiving_->offer());
  }
  void Open() { ASSERT_OK_AND_ASSIGN(sending_, SendingArena::Open(offer_)); }

  std::shared_ptr<ReceivingArena> receiving_;
  SharedMemoryOffer offer_;
  std::shared_ptr<SendingArena> sending_;
};

TEST_F(SharedMemoryTest, ATensorArrivesWithoutACopy) {
  Open();
  const Tensor sent = Numbers(100'000, 7);
  SharedMemoryReply reply;
  ASSERT_TRUE(sending_->Write(sent, &reply));
  ASSERT_OK_AND_ASSIGN(const Tensor received, receiving_->Take(reply));
  ExpectTensorEqual(received, sent);
  EXPECT_TRUE(received.IsAligned());
}

TEST_F(SharedMemoryTest, ABlockIsUsedAgainWhenTheTensorIsGone) {
  Open();
  SharedMemoryReply first, second, third;
  ASSERT_TRUE(sending_->Write(Numbers(1000, 0), &first));
  {
    ASSERT_OK_AND_ASSIGN(const Tensor kept, receiving_->Take(first));
    const Tensor copy = kept;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
    ASSERT_TRUE(sending_->Write(Numbers(1000, 5), &second));
    EXPECT_NE(second.offset(), first.offset());
    ExpectTensorEqual(copy, Numbers(1000, 0));
  }
  ASSERT_TRUE(sending_->Write(Numbers(1000, 0), &third));
  EXPECT_EQ(third.offset(), first.offset());
}

TEST_F(SharedMemoryTest, TensorsNeverOverlap) {
  Open();
  std::mt19937 random(1);
  std::deque<std::pair<Tensor, int32_t>> held;
  for (int i = 0; i < 2000; ++i) {
    const int64_t elements = 1 + random() % (i % 10 == 0 ? 800'000 : 5000);
    SharedMemoryReply reply;
    if (sending_->Write(Numbers(elements, i), &reply)) {
      ASSERT_OK_AND_ASSIGN(Tensor tensor, receiving_->Take(reply));
      held.emplace_back(std::move(tensor), i);
    }
    while (held.size() > 20 || (!held.empty() && random() % 3 == 0)) {
      std::swap(held[random() % held.size()], held.back());
      const auto& [tensor, first] = held.back();
      ExpectTensorEqual(tensor, Numbers(tensor.NumElements(), first));
      held.pop_back();
    }
  }
  held.clear();
  // All free blocks are merged again.
  SharedMemoryReply reply;
  EXPECT_TRUE(sending_->Write(Tensor(DT_UINT8, TensorShape({48 << 20})), &reply));
}

TEST_F(SharedMemoryTest, WhatDoesNotFitIsNotWritten) {
  Open();
  SharedMemoryReply reply;
  EXPECT_FALSE(sending_->Write(Tensor(DT_UINT8, TensorShape({static_cast<int64_t>(kArenaBytes)})), &reply));
  std::vector<Tensor> held;
  while (sending_->Write(Tensor(DT_UINT8, TensorShape({8 << 20})), &reply)) {
    ASSERT_OK_AND_ASSIGN(Tensor tensor, receiving_->Take(reply));
    held.push_back(std::move(tensor));
  }
  EXPECT_GE(held.size(), 6);
  EXPECT_LE(held.size(), 8);
  held.clear();
  EXPECT_TRUE(sending_->Write(Tensor(DT_UINT8, TensorShape({8 << 20})), &reply));
}

TEST_F(SharedMemoryTest, OneSenderHasIt) {
  Open();
  EXPECT_THAT(SendingArena::Open(offer_), StatusIs(absl::StatusCode::kAlreadyExists));
  sending_.reset();
  // Another sender would not know which blocks are in use.
  EXPECT_THAT(SendingArena::Open(offer_), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(SharedMemoryTest, TrimmedMemoryComesBack) {
  Open();
  SharedMemoryReply reply;
  ASSERT_TRUE(sending_->Write(Numbers(1'000'000, 1), &reply));
  { ASSERT_THAT(receiving_->Take(reply), IsOk()); }
  sending_->Trim();
  ASSERT_TRUE(sending_->Write(Numbers(1'000'000, 2), &reply));
  ASSERT_OK_AND_ASSIGN(const Tensor received, receiving_->Take(reply));
  sending_->Trim();  // not while it is in use
  ExpectTensorEqual(received, Numbers(1'000'000, 2));
}

TEST_F(SharedMemoryTest, AnOfferThatLiesIsRejected) {
  const auto error = AnyOf(absl::StatusCode::kInvalidArgument, absl::StatusCode::kPermissionDenied);
  SharedMemoryOffer bad = offer_;
  bad.set_token(std::string(kArenaTokenBytes, 'x'));
  EXPECT_THAT(SendingArena::Open(bad), StatusIs(error));
  bad = offer_;
  bad.set_token("short");
  EXPECT_THAT(SendingArena::Open(bad), StatusIs(error));
  bad = offer_;
  bad.set_bytes(offer_.bytes() * 2);
  EXPECT_THAT(SendingArena::Open(bad), StatusIs(error));
  bad = offer_;
  bad.set_fd(0);
  EXPECT_THAT(SendingArena::Open(bad), StatusIs(error));
  for (const int64_t pid : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, int64_t{1}}) {
    bad = offer_;
    bad.set_pid(pid);
    EXPECT_THAT(SendingArena::Open(bad), StatusIs(error)) << pid;
  }
  EXPECT_THAT(SendingArena::Open(SharedMemoryOffer()), StatusIs(error));
  // None of them has claimed it.
  EXPECT_THAT(SendingArena::Open(offer_), IsOk());
}

TEST_F(SharedMemoryTest, MemoryThatCouldShrinkIsRejected) {
  const int fd = memfd_create(kArenaName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, kArenaBytes), 0);
  ASSERT_EQ(pwrite(fd, offer_.token().data(), kArenaTokenBytes, 0), kArenaTokenBytes);
  SharedMemoryOffer bad = offer_;
  bad.set_fd(fd);
  EXPECT_THAT(SendingArena::Open(bad), StatusIs(absl::StatusCode::kInvalidArgument));
  close(fd);
}

TEST_F(SharedMemoryTest, AReplyThatLiesIsRejected) {
  Open();
  SharedMemoryReply good;
  ASSERT_TRUE(sending_->Write(Numbers(1000, 0), &good));
  const auto rejected = [&](auto change) {
    SharedMemoryReply bad = good;
    change(bad);
    EXPECT_THAT(receiving_->Take(bad), StatusIs(absl::StatusCode::kInvalidArgument)) << bad.ShortDebugString();
  };
  rejected([](auto& r) { r.set_offset(0); });
  rejected([](auto& r) { r.set_offset(kArenaDataOffset + 1); });
  rejected([](auto& r) { r.set_offset(kArenaBytes); });
  rejected([](auto& r) { r.set_offset(kArenaBytes - 64); });
  rejected([](auto& r) { r.set_offset(UINT64_MAX - 63); });
  rejected([](auto& r) { r.set_block(kArenaBlocks); });
  rejected([](auto& r) { r.set_dtype(tensorflow::DT_STRING); });
  rejected([](auto& r) { r.set_dtype(static_cast<tensorflow::DataType>(1234)); });
  rejected([](auto& r) { r.mutable_tensor_shape()->mutable_dim(0)->set_size(-1); });
  rejected([](auto& r) { r.mutable_tensor_shape()->mutable_dim(0)->set_size(0); });
  rejected([](auto& r) { r.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 62); });
  rejected([](auto& r) { r.mutable_tensor_shape()->set_unknown_rank(true); });
  EXPECT_THAT(receiving_->Take(good), IsOk());
}

TEST_F(SharedMemoryTest, TheEndOfEitherSideShows) {
  Open();
  EXPECT_FALSE(sending_->IsAbandoned());
  SharedMemoryReply reply;
  ASSERT_TRUE(sending_->Write(Numbers(1000, 3), &reply));
  sending_.reset();
  // The sender is gone; its tensors stay valid.
  ASSERT_OK_AND_ASSIGN(Tensor received, receiving_->Take(reply));
  ExpectTensorEqual(received, Numbers(1000, 3));
  SharedMemoryReceiver receiver(true);
  const auto offered = receiver.Offer();
  ASSERT_NE(offered, nullptr);
  EXPECT_EQ(receiver.Offer(), offered);
  ASSERT_OK_AND_ASSIGN(const auto sending, SendingArena::Open(Parsed(offered->offer())));
  EXPECT_FALSE(sending->IsAbandoned());
  receiver.Retire(offered);
  EXPECT_TRUE(sending->IsAbandoned());
  EXPECT_NE(receiver.Offer(), offered);
  receiver.Stop();
  EXPECT_EQ(receiver.Offer(), nullptr);
}

TEST(SharedMemoryProcessTest, AReceiverThatWasKilledLeavesNothing) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto arena = ReceivingArena::Create(kArenaBytes);
    if (arena.ok()) {
      const std::string& offer = (*arena)->offer();
      if (write(pipe_ends[1], offer.data(), offer.size()) > 0) pause();
    }
    _exit(1);
  }
  char buffer[512];
  const ssize_t length = read(pipe_ends[0], buffer, sizeof(buffer));
  ASSERT_GT(length, 0);
  ASSERT_OK_AND_ASSIGN(const auto sending, SendingArena::Open(Parsed(std::string(buffer, length))));
  SharedMemoryReply reply;
  EXPECT_TRUE(sending->Write(Numbers(1000, 0), &reply));
  EXPECT_FALSE(sending->IsAbandoned());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(sending->IsAbandoned());
  // This process alone has the memory, which can still be written.
  EXPECT_TRUE(sending->Write(Numbers(1000, 0), &reply));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(SharedMemorySenderTest, AnswersWhatItUnderstands) {
  TimerQueue timers;
  SharedMemorySender sender(&timers);
  SharedMemoryReceiver receiver(true);
  const auto arena = receiver.Offer();
  ASSERT_NE(arena, nullptr);
  const auto outcome = [&](const std::string& options, const Tensor& tensor) {
    bool written = false;
    google::protobuf::Any any;
    SharedMemoryReply reply;
    EXPECT_TRUE(any.ParseFromString(sender.Write(options, tensor, &written)) && any.UnpackTo(&reply));
    EXPECT_EQ(written, reply.outcome() == SharedMemoryReply::WRITTEN);
    return reply.outcome();
  };
  const Tensor large(DT_FLOAT, TensorShape({SharedMemorySender::kMinBytes / 4}));
  EXPECT_EQ(outcome(arena->offer(), large), SharedMemoryReply::WRITTEN);
  EXPECT_EQ(outcome(arena->offer(), AsScalar<float>(1)), SharedMemoryReply::IN_MESSAGE);
  EXPECT_EQ(outcome(arena->offer(), Tensor(DT_STRING, TensorShape({10000}))), SharedMemoryReply::IN_MESSAGE);
  SharedMemoryOffer bad = Parsed(arena->offer());
  bad.set_token(std::string(kArenaTokenBytes, 'x'));
  EXPECT_EQ(outcome(Packed(bad), large), SharedMemoryReply::UNREACHABLE);
  SharedMemorySender other(&timers);
  bool written = false;
  google::protobuf::Any any;
  SharedMemoryReply reply;
  ASSERT_TRUE(any.ParseFromString(other.Write(arena->offer(), large, &written)) && any.UnpackTo(&reply));
  EXPECT_EQ(reply.outcome(), SharedMemoryReply::TAKEN);
  for (const std::string options : {"", "not an Any"}) EXPECT_EQ(sender.Write(options, large, &written), "");
}

TEST(IsOnThisHostTest, TellsByTheAddress) {
  EXPECT_TRUE(IsOnThisHost("127.0.0.1:2222"));
  EXPECT_TRUE(IsOnThisHost("[::1]:2222"));
  EXPECT_TRUE(IsOnThisHost("unix:/tmp/socket"));
  EXPECT_FALSE(IsOnThisHost("192.0.2.1:2222"));  // reserved for documentation
  EXPECT_FALSE(IsOnThisHost("somewhere.invalid:2222"));
  EXPECT_FALSE(IsOnThisHost("nonsense"));
}

}  // namespace
}  // namespace weir
