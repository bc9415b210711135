// The contract of every Rendezvous, whatever the transport. A transport's test includes this header and instantiates
//   INSTANTIATE_TEST_SUITE_P(Grpc, RendezvousConformance, testing::Values(RendezvousFactory{...}));
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/rendezvous/rendezvous.h"
#include "gtest/gtest.h"

namespace weir {

// The two ends of one step's rendezvous, possibly one object. `keep_alive` owns servers and the like.
struct RendezvousPair {
  std::shared_ptr<Rendezvous> sender;
  std::shared_ptr<Rendezvous> receiver;
  std::shared_ptr<void> keep_alive;
  std::string src_device = "/job:worker/replica:0/task:0/device:CPU:0";
  std::string dst_device = "/job:worker/replica:0/task:1/device:CPU:0";
  uint64_t src_incarnation = 1;
};
using RendezvousFactory = std::function<RendezvousPair()>;

class RendezvousConformance : public testing::TestWithParam<RendezvousFactory> {
 protected:
  using Result = absl::StatusOr<Rendezvous::Received>;

  void SetUp() override { pair_ = GetParam()(); }

  std::string Key(absl::string_view edge, int64_t iteration = 0) const {
    return RendezvousKey::Create(pair_.src_device, pair_.src_incarnation, pair_.dst_device, edge, {0, iteration});
  }
  absl::Status Send(const std::string& key, Tensor tensor, bool is_dead = false) {
    return pair_.sender->Send(key, std::move(tensor), is_dead);
  }
  std::future<Result> StartRecv(const std::string& key, CancellationManager* cancellation = nullptr) {
    auto result = std::make_shared<std::promise<Result>>();
    std::future<Result> future = result->get_future();
    Rendezvous::Args args;
    args.cancellation = cancellation;
    pair_.receiver->RecvAsync(key, args, [result](Result received) { result->set_value(std::move(received)); });
    return future;
  }
  Result Recv(const std::string& key) { return StartRecv(key).get(); }

  RendezvousPair pair_;
};

TEST_P(RendezvousConformance, SendThenReceive) {
  ASSERT_TRUE(Send(Key("a"), Tensor::Scalar<float>(1.5f)).ok());
  Result result = Recv(Key("a"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->tensor.dtype(), DT_FLOAT);
  EXPECT_EQ(result->tensor.scalar<float>(), 1.5f);
  EXPECT_FALSE(result->is_dead);
}

TEST_P(RendezvousConformance, ReceiveThenSend) {
  auto result = StartRecv(Key("a"));
  ASSERT_TRUE(Send(Key("a"), Tensor::Vector<int64_t>({1, 2, 3})).ok());
  Result received = result.get();
  ASSERT_TRUE(received.ok()) << received.status();
  ASSERT_EQ(received->tensor.shape(), TensorShape({3}));
  EXPECT_EQ(received->tensor.data<int64_t>()[2], 3);
}

TEST_P(RendezvousConformance, DeadTensorsStayDead) {
  ASSERT_TRUE(Send(Key("a"), Tensor(), true).ok());
  Result result = Recv(Key("a"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->is_dead);
}

TEST_P(RendezvousConformance, CarriesStringsEmptyTensorsAndLargeOnes) {
  ASSERT_TRUE(Send(Key("strings"), Tensor::Vector<tstring>({"", "text", std::string(1000, 'x')})).ok());
  ASSERT_TRUE(Send(Key("empty"), Tensor(DT_INT32, TensorShape({0, 3}))).ok());
  Tensor large(DT_INT32, TensorShape({1 << 20}));
  for (int64_t i = 0; i < large.NumElements(); ++i) large.data<int32_t>()[i] = static_cast<int32_t>(i);
  ASSERT_TRUE(Send(Key("large"), large).ok());

  Result received = Recv(Key("large"));
  ASSERT_TRUE(received.ok()) << received.status();
  ASSERT_EQ(received->tensor.NumElements(), 1 << 20);
  for (int64_t i = 0; i < 1 << 20; i += 1023) ASSERT_EQ(received->tensor.data<int32_t>()[i], i);
  Result strings = Recv(Key("strings"));
  ASSERT_TRUE(strings.ok()) << strings.status();
  EXPECT_EQ(strings->tensor.data<tstring>()[2].size(), 1000);
  Result empty = Recv(Key("empty"));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->tensor.shape(), TensorShape({0, 3}));
}

TEST_P(RendezvousConformance, KeysDoNotMix) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Send(Key("edge", i), Tensor::Scalar<int32_t>(i)).ok());
  for (int i = 19; i >= 0; --i) {
    Result result = Recv(Key("edge", i));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->tensor.scalar<int32_t>(), i);
  }
}

TEST_P(RendezvousConformance, ASecondSendThatNobodyReceivedIsAborted) {
  ASSERT_TRUE(Send(Key("a"), Tensor::Scalar<int32_t>(1)).ok());
  EXPECT_EQ(Send(Key("a"), Tensor::Scalar<int32_t>(2)).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Recv(Key("a"))->tensor.scalar<int32_t>(), 1);
}

TEST_P(RendezvousConformance, AKeyMayBeUsedAgainOnceReceived) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Send(Key("a"), Tensor::Scalar<int32_t>(i)).ok());
    EXPECT_EQ(Recv(Key("a"))->tensor.scalar<int32_t>(), i);
  }
}

TEST_P(RendezvousConformance, AbortEndsPendingAndLaterOperations) {
  auto pending = StartRecv(Key("a"));
  pair_.receiver->StartAbort(errors::Unavailable("task 3 died"));
  if (pair_.sender != pair_.receiver) pair_.sender->StartAbort(errors::Unavailable("task 3 died"));
  EXPECT_EQ(pending.get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Recv(Key("b")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Send(Key("c"), Tensor()).code(), absl::StatusCode::kUnavailable);
}

TEST_P(RendezvousConformance, TheFirstAbortWins) {
  pair_.receiver->StartAbort(errors::Unavailable("first"));
  pair_.receiver->StartAbort(errors::Internal("second"));
  absl::Status status = Recv(Key("a")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("first"), absl::string_view::npos) << status;
}

TEST_P(RendezvousConformance, ACallbackMayUseTheRendezvous) {
  auto second = std::make_shared<std::promise<Result>>();
  pair_.receiver->RecvAsync(Key("a"), {}, [this, second](Result) {
    pair_.receiver->RecvAsync(Key("b"), {}, [second](Result result) { second->set_value(std::move(result)); });
  });
  ASSERT_TRUE(Send(Key("b"), Tensor::Scalar<int32_t>(2)).ok());
  ASSERT_TRUE(Send(Key("a"), Tensor::Scalar<int32_t>(1)).ok());
  EXPECT_EQ(second->get_future().get()->tensor.scalar<int32_t>(), 2);
}

TEST_P(RendezvousConformance, ACallbackOfAnAbortMayUseTheRendezvous) {
  auto second = std::make_shared<std::promise<Result>>();
  pair_.receiver->RecvAsync(Key("a"), {}, [this, second](Result) {
    pair_.receiver->RecvAsync(Key("b"), {}, [second](Result result) { second->set_value(std::move(result)); });
  });
  pair_.receiver->StartAbort(errors::Aborted("stop"));
  EXPECT_EQ(second->get_future().get().status().code(), absl::StatusCode::kAborted);
}

TEST_P(RendezvousConformance, CancellationEndsItsReceiveAlone) {
  CancellationManager cancellation;
  auto cancelled = StartRecv(Key("a"), &cancellation);
  auto other = StartRecv(Key("b"));
  cancellation.StartCancel();
  EXPECT_EQ(cancelled.get().status().code(), absl::StatusCode::kCancelled);
  ASSERT_TRUE(Send(Key("b"), Tensor::Scalar<int32_t>(2)).ok());
  EXPECT_TRUE(other.get().ok());
}

TEST_P(RendezvousConformance, ACancelledStepReceivesNothing) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  EXPECT_EQ(StartRecv(Key("a"), &cancellation).get().status().code(), absl::StatusCode::kCancelled);
}

TEST_P(RendezvousConformance, CancellationAfterTheReceiveIsHarmless) {
  CancellationManager cancellation;
  auto result = StartRecv(Key("a"), &cancellation);
  ASSERT_TRUE(Send(Key("a"), Tensor::Scalar<int32_t>(1)).ok());
  EXPECT_TRUE(result.get().ok());
  cancellation.StartCancel();
}

// Each receive ends once, whether the tensor, the cancellation or the abort comes first.
TEST_P(RendezvousConformance, RacesEndEveryReceiveOnce) {
  constexpr int kEdges = 200;
  CancellationManager cancellation;
  std::vector<std::future<Result>> results;
  for (int i = 0; i < kEdges; ++i) results.push_back(StartRecv(Key("edge", i), &cancellation));
  std::thread sender([this] {
    for (int i = 0; i < kEdges; ++i) {
      if (!Send(Key("edge", i), Tensor::Scalar<int32_t>(i)).ok()) return;
    }
  });
  std::thread canceller([&] { cancellation.StartCancel(); });
  pair_.receiver->StartAbort(errors::Aborted("stop"));
  sender.join();
  canceller.join();
  for (int i = 0; i < kEdges; ++i) {
    Result result = results[i].get();
    if (result.ok()) {
      EXPECT_EQ(result->tensor.scalar<int32_t>(), i);
    }
  }
}

TEST_P(RendezvousConformance, ManyThreadsAtOnce) {
  constexpr int kThreads = 4, kEdges = 250;
  std::vector<std::thread> senders;
  for (int t = 0; t < kThreads; ++t) {
    senders.emplace_back([this, t] {
      for (int i = 0; i < kEdges; ++i) {
        EXPECT_TRUE(Send(Key(absl::StrCat("edge", t), i), Tensor::Scalar<int32_t>(t * kEdges + i)).ok());
      }
    });
  }
  for (int i = 0; i < kEdges; ++i) {
    for (int t = 0; t < kThreads; ++t) {
      Result result = Recv(Key(absl::StrCat("edge", t), i));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->tensor.scalar<int32_t>(), t * kEdges + i);
    }
  }
  for (std::thread& sender : senders) sender.join();
}

}  // namespace weir
