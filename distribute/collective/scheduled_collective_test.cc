#include "distribute/collective/scheduled_collective.h"

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/testing.h"
#include "distribute/collective/collective_conformance_testing.h"
#include "distribute/collective/in_process_communicator.h"
#include "distribute/collective/simulated_network.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<absl::Status> Results(const std::vector<std::optional<absl::Status>>& results,
                                  const std::vector<bool>& absent) {
  std::vector<absl::Status> statuses;
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_absent = !absent.empty() && absent[i];
    statuses.push_back(results[i] ? *results[i] : is_absent ? absl::OkStatus() : absl::InternalError("waits for ever"));
  }
  return statuses;
}

class ThreadsGroup : public CollectiveTestGroup {
 public:
  explicit ThreadsGroup(int size) : members_(InProcessCommunicator::Group(Topology::OneHost(size))) {}
  int size() const override { return static_cast<int>(members_.size()); }
  std::vector<absl::Status> Run(const std::vector<CollectiveCall>& calls, const std::vector<bool>& absent) override {
    std::vector<std::optional<absl::Status>> results(size());
    Mutex mu;
    std::condition_variable changed;
    int pending = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      if (!absent.empty() && absent[rank]) continue;
      {
        MutexLock lock(mu);
        ++pending;
      }
      threads.emplace_back([&, rank] {
        ScheduledCollective(members_[rank]).RunAsync(calls[rank], [&, rank](const absl::Status& status) {
          MutexLock lock(mu);
          results[rank] = status;
          if (--pending == 0) changed.notify_all();
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    MutexLock lock(mu);
    while (pending > 0) lock.Wait(changed);
    return Results(results, absent);
  }

 private:
  std::vector<std::shared_ptr<Communicator>> members_;
};

class SimulatedGroup : public CollectiveTestGroup {
 public:
  explicit SimulatedGroup(const Topology& topology) : network_(topology), members_(network_.Group()) {}
  int size() const override { return static_cast<int>(members_.size()); }
  std::vector<absl::Status> Run(const std::vector<CollectiveCall>& calls, const std::vector<bool>& absent) override {
    std::vector<std::optional<absl::Status>> results(size());
    for (int rank = 0; rank < size(); ++rank) {
      if (!absent.empty() && absent[rank]) continue;
      ScheduledCollective(members_[rank]).RunAsync(calls[rank], [&results, rank](const absl::Status& status) {
        results[rank] = status;
      });
    }
    network_.Run();
    return Results(results, absent);
  }

 private:
  SimulatedNetwork network_;
  std::vector<std::shared_ptr<Communicator>> members_;
};

INSTANTIATE_TEST_SUITE_P(
    Backends, CollectiveConformanceTest,
    testing::Values(CollectiveBackend{"Threads", [](int size) { return std::make_unique<ThreadsGroup>(size); }},
                    CollectiveBackend{
                        "Simulated",
                        [](int size) { return std::make_unique<SimulatedGroup>(Topology::OneHost(size)); }}),
    BackendName);

struct Pair {
  std::vector<std::shared_ptr<Communicator>> members = InProcessCommunicator::Group(Topology::OneHost(2));
  float in[2][8] = {}, out[2][8] = {};
  absl::Status status[2] = {absl::UnknownError("none"), absl::UnknownError("none")};

  CollectiveCall AllReduce(int rank, int64_t count) { return {.count = count, .input = in[rank], .output = out[rank]}; }
  void Run(int rank, const CollectiveCall& call) {
    ScheduledCollective(members[rank]).RunAsync(call, [this, rank](const absl::Status& s) { status[rank] = s; });
  }
};

TEST(ScheduledCollectiveTest, MembersThatDisagreeOnTheShapeFailTogether) {
  Pair pair;
  pair.Run(0, pair.AllReduce(0, 4));
  pair.Run(1, pair.AllReduce(1, 5));
  for (const absl::Status& status : pair.status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("Shape mismatch in the collective instance"), HasSubstr("rank 0"),
                                       HasSubstr("rank 1"), HasSubstr("[4]"), HasSubstr("[5]"))));
  }
}

TEST(ScheduledCollectiveTest, MembersThatDisagreeOnTypeOrReductionFailTogether) {
  Pair pair;
  CollectiveCall call = pair.AllReduce(0, 4);
  pair.Run(0, call);
  call = pair.AllReduce(1, 4);
  call.dtype = DT_INT32;
  pair.Run(1, call);
  for (const absl::Status& status : pair.status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, AllOf(HasSubstr("float"), HasSubstr("int32"))));
  }
  Pair other;
  other.Run(0, other.AllReduce(0, 4));
  call = other.AllReduce(1, 4);
  call.reduction = Reduction::kMax;
  other.Run(1, call);
  for (const absl::Status& status : other.status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, AllOf(HasSubstr("Add"), HasSubstr("Max"))));
  }
}

TEST(ScheduledCollectiveTest, CallsWithOtherNumbersOverlap) {
  Pair pair;
  float first = 1, second = 2, sums[4] = {};
  CollectiveCall call{.count = 1, .input = &first, .output = &sums[0], .sequence = 1};
  pair.Run(0, call);
  call = {.count = 1, .input = &second, .output = &sums[1], .sequence = 2};
  pair.Run(1, call);
  EXPECT_THAT(pair.status[0], StatusIs(absl::StatusCode::kUnknown));
  call = {.count = 1, .input = &second, .output = &sums[2], .sequence = 2};
  pair.Run(0, call);
  call = {.count = 1, .input = &first, .output = &sums[3], .sequence = 1};
  pair.Run(1, call);
  EXPECT_THAT(pair.status[0], IsOk());
  EXPECT_THAT(pair.status[1], IsOk());
  EXPECT_THAT(std::vector<float>(sums, sums + 4), testing::ElementsAre(2, 4, 4, 2));
}

TEST(ScheduledCollectiveTest, TheGroupIsUsableAfterAFailure) {
  Pair pair;
  pair.Run(0, pair.AllReduce(0, 4));
  pair.Run(1, pair.AllReduce(1, 5));
  for (int rank = 0; rank < 2; ++rank) {
    CollectiveCall call = pair.AllReduce(rank, 4);
    call.sequence = 1;
    pair.Run(rank, call);
  }
  EXPECT_THAT(pair.status[0], IsOk());
  EXPECT_THAT(pair.status[1], IsOk());
}

TEST(ScheduledCollectiveTest, MemoryThatCannotBeHadEndsTheCallOnEveryRank) {
  Pair pair;
  for (int rank = 0; rank < 2; ++rank) {
    CollectiveCall call = pair.AllReduce(rank, int64_t{1} << 45);
    call.algorithm = Algorithm::kRecursiveDoubling;  // copies the whole vector
    pair.Run(rank, call);
    EXPECT_THAT(pair.status[rank], StatusIs(absl::StatusCode::kResourceExhausted)) << rank;
  }
}

// The peer has requested every message and reads none; all sends are pending.
class UnreadPeer : public Communicator {
 public:
  const Topology& topology() const override { return topology_; }
  int rank() const override { return 0; }
  void Begin(int64_t, const CallSignature&) override {}
  void Send(int, const MessageTag&, absl::Span<const char>, SentCallback sent) override {
    unread_.push_back(std::move(sent));
  }
  void Receive(int, const MessageTag&, int64_t, ReceivedCallback) override { FAIL() << "a source receives nothing"; }
  void End(int64_t) override {}
  void Abort(int64_t, const absl::Status&) override {}

  void Read() {
    for (SentCallback& sent : std::exchange(unread_, {})) sent(absl::OkStatus());
  }

 private:
  const Topology topology_ = Topology::OneHost(2);
  std::vector<SentCallback> unread_;
};

TEST(ScheduledCollectiveTest, APeerThatDoesNotReadDoesNotKeepACancelledCallFromEnding) {
  auto peer = std::make_shared<UnreadPeer>();
  auto memory = std::make_shared<std::vector<float>>(1000);
  CancellationManager cancellation;
  std::optional<absl::Status> status;
  ScheduledCollective(peer).RunAsync({.kind = CollectiveKind::kBroadcast,
                                      .count = 1000,
                                      .input = memory->data(),
                                      .output = memory->data(),
                                      .cancellation = &cancellation,
                                      .owner = memory},
                                     [&](absl::Status s) { status = std::move(s); });
  EXPECT_FALSE(status);
  cancellation.StartCancel(absl::DeadlineExceededError("too late"));
  ASSERT_TRUE(status);
  EXPECT_THAT(*status, StatusIs(absl::StatusCode::kDeadlineExceeded));
  std::weak_ptr<std::vector<float>> read_from = memory;
  memory = nullptr;
  EXPECT_FALSE(read_from.expired());
  peer->Read();
  EXPECT_TRUE(read_from.expired());
}

TEST(ScheduledCollectiveTest, ACallThatEndsWellHasBeenRead) {
  auto peer = std::make_shared<UnreadPeer>();
  auto memory = std::make_shared<std::vector<float>>(1000);
  std::optional<absl::Status> status;
  ScheduledCollective(peer).RunAsync({.kind = CollectiveKind::kBroadcast,
                                      .count = 1000,
                                      .input = memory->data(),
                                      .output = memory->data(),
                                      .owner = memory},
                                     [&](absl::Status s) { status = std::move(s); });
  EXPECT_FALSE(status);
  peer->Read();
  ASSERT_TRUE(status);
  EXPECT_THAT(*status, IsOk());
  EXPECT_EQ(memory.use_count(), 1);
}

TEST(SimulatedNetworkTest, ADeadRankEndsEveryOther) {
  SimulatedNetwork network(Topology::OneHost(9));
  float in[9] = {}, out[9] = {};
  absl::Status status[9];
  for (int rank = 0; rank < 9; ++rank) {
    if (rank == 4) continue;
    const CollectiveCall call{.count = 1, .input = &in[rank], .output = &out[rank]};
    ScheduledCollective(network.Group()[rank]).RunAsync(call, [&status, rank](const absl::Status& s) {
      status[rank] = s;
    });
  }
  network.Kill(4, 0.5);
  network.Run();
  for (int rank = 0; rank < 9; ++rank) {
    if (rank == 4) continue;
    EXPECT_THAT(status[rank], StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 4"))) << rank;
  }
}

}  // namespace
}  // namespace weir
