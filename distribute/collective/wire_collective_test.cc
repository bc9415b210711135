// Collectives whose messages are cast and compressed.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/testing.h"
#include "distribute/collective/algorithms.h"
#include "distribute/collective/in_process_communicator.h"
#include "distribute/collective/schedule.h"
#include "distribute/collective/scheduled_collective.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Group = std::vector<std::shared_ptr<Communicator>>;

WireOptions Wire(const char* text) { return WireOptions::Parse(text).value(); }

// Counts what is sent, and may change what is received.
class Watched : public Communicator {
 public:
  explicit Watched(std::shared_ptr<Communicator> inner) : inner_(std::move(inner)) {}
  const Topology& topology() const override { return inner_->topology(); }
  int rank() const override { return inner_->rank(); }
  void Begin(int64_t sequence, const CallSignature& signature) override { inner_->Begin(sequence, signature); }
  void End(int64_t sequence) override { inner_->End(sequence); }
  void Abort(int64_t sequence, const absl::Status& status) override { inner_->Abort(sequence, status); }
  void Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) override {
    bytes_sent += static_cast<int64_t>(bytes.size());
    inner_->Send(peer, tag, bytes, std::move(sent));
  }
  void Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) override {
    if (!falsify) return inner_->Receive(peer, tag, num_bytes, std::move(received));
    inner_->Receive(peer, tag, num_bytes,
                    [this, received = std::move(received)](absl::StatusOr<ReceivedBytes> bytes) mutable {
                      if (!bytes.ok()) return received(std::move(bytes));
                      auto changed = std::make_shared<std::string>(bytes->bytes().data(), bytes->bytes().size());
                      falsify(*changed);
                      received(ReceivedBytes(*changed, [changed] {}));
                    });
  }

  int64_t bytes_sent = 0;
  std::function<void(std::string&)> falsify;

 private:
  const std::shared_ptr<Communicator> inner_;
};

// One call on every rank of one process, in sequence: the last one completes them all.
template <typename T>
struct CallOfAll {
  CallOfAll(CollectiveKind kind, int size, int64_t count, int64_t output_count,
            const std::function<T(int, int64_t)>& value)
      : kind(kind), count(count), inputs(size), outputs(size), statuses(size) {
    for (int rank = 0; rank < size; ++rank) {
      for (int64_t i = 0; i < count; ++i) inputs[rank].push_back(value(rank, i));
      outputs[rank].resize(output_count);
    }
  }
  void On(const Group& group, const WireOptions& wire, std::optional<Algorithm> algorithm = std::nullopt) {
    for (size_t rank = 0; rank < group.size(); ++rank) {
      CollectiveCall call{.kind = kind, .dtype = DataTypeOf<T>(), .count = count};
      call.input = inputs[rank].data();
      call.output = outputs[rank].data();
      call.wire = wire;
      call.algorithm = algorithm;
      if (kind == CollectiveKind::kPermute) {
        for (size_t i = 0; i < group.size(); ++i) call.permutation.push_back((i + 1) % group.size());
      }
      ScheduledCollective(group[rank]).RunAsync(call, [this, rank](const absl::Status& s) { statuses[rank] = s; });
    }
  }
  // The result for `rank`.
  std::vector<T> Result(int rank) const {
    if (kind != CollectiveKind::kReduceScatter) return outputs[rank];
    const Block own = BlockOf(count, static_cast<int>(outputs.size()), rank);
    return {outputs[rank].begin(), outputs[rank].begin() + own.count};
  }
  const CollectiveKind kind;
  const int64_t count;
  std::vector<std::vector<T>> inputs, outputs;
  std::vector<std::optional<absl::Status>> statuses;
};

int64_t OutputCount(CollectiveKind kind, int size, int64_t count) {
  return kind == CollectiveKind::kAllGather ? count * size : count;
}

constexpr CollectiveKind kKinds[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather, CollectiveKind::kBroadcast,
    CollectiveKind::kReduce,    CollectiveKind::kAllToAll,      CollectiveKind::kPermute};

// Integers whose sums half can represent: no encoding may change them.
TEST(WireCollectiveTest, EveryAlgorithmGivesWhatItGivesWithout) {
  const auto value = [](int rank, int64_t i) { return static_cast<float>(rank * 7 % 5 + i % 23 - 7); };
  for (const int size : {2, 3, 4, 7}) {
    for (const CollectiveKind kind : kKinds) {
      for (const Algorithm algorithm : AlgorithmsFor(kind, Topology::OneHost(size))) {
        for (const int64_t count : {int64_t{0}, int64_t{4} * 3 * 7, int64_t{4} * 3 * 7 * 400}) {
          CallOfAll<float> plain(kind, size, count, OutputCount(kind, size, count), value);
          plain.On(InProcessCommunicator::Group(Topology::OneHost(size)), {}, algorithm);
          for (const char* wire : {"fp16", "lz4", "snappy", "fp16+lz4"}) {
            CallOfAll<float> run(kind, size, count, OutputCount(kind, size, count), value);
            run.On(InProcessCommunicator::Group(Topology::OneHost(size)), Wire(wire), algorithm);
            for (int rank = 0; rank < size; ++rank) {
              ASSERT_TRUE(run.statuses[rank]) << Name(kind) << " " << Name(algorithm) << " " << wire;
              ASSERT_THAT(*run.statuses[rank], IsOk());
              if (kind == CollectiveKind::kReduce && rank != 0) continue;
              ASSERT_EQ(run.Result(rank), plain.Result(rank)) << Name(kind) << " " << Name(algorithm) << " " << wire;
            }
          }
        }
      }
    }
  }
}

TEST(WireCollectiveTest, ACastSumIsCloseAndTheSameOnEveryRank) {
  const auto value = [](int rank, int64_t i) { return static_cast<float>(std::sin(0.37 * (i + 1) + rank)); };
  for (const int size : {2, 3, 4, 8}) {
    for (const Algorithm algorithm : AlgorithmsFor(CollectiveKind::kAllReduce, Topology::OneHost(size))) {
      CallOfAll<float> run(CollectiveKind::kAllReduce, size, 5000, 5000, value);
      run.On(InProcessCommunicator::Group(Topology::OneHost(size)), Wire("bf16+lz4"), algorithm);
      for (int64_t i = 0; i < 5000; ++i) {
        float sum = 0;
        for (int rank = 0; rank < size; ++rank) sum += value(rank, i);
        ASSERT_NEAR(run.outputs[0][i], sum, 0.01 * size) << Name(algorithm) << " " << i;
      }
      for (int rank = 1; rank < size; ++rank) ASSERT_EQ(run.outputs[rank], run.outputs[0]) << Name(algorithm);
    }
  }
}

TEST(WireCollectiveTest, IntegersAreCompressedAndNotCast) {
  CallOfAll<int64_t> run(CollectiveKind::kAllReduce, 3, 9001, 9001,
                         [](int rank, int64_t i) { return (int64_t{1} << 60) + rank * i; });
  run.On(InProcessCommunicator::Group(Topology::OneHost(3)), Wire("bf16+lz4"));
  for (const auto& output : run.outputs) {
    for (int64_t i = 0; i < 9001; ++i) ASSERT_EQ(output[i], 3 * (int64_t{1} << 60) + 3 * i);
  }
}

int64_t BytesSent(const WireOptions& wire) {
  Group group;
  std::vector<std::shared_ptr<Watched>> watched;
  for (auto& member : InProcessCommunicator::Group(Topology::OneHost(4))) {
    watched.push_back(std::make_shared<Watched>(std::move(member)));
    group.push_back(watched.back());
  }
  CallOfAll<float> run(CollectiveKind::kAllReduce, 4, 1 << 16, 1 << 16,
                       [](int rank, int64_t i) { return static_cast<float>(i % 512 == 0 ? rank : 0); });
  run.On(group, wire, Algorithm::kRing);
  int64_t sum = 0;
  for (const auto& member : watched) sum += member->bytes_sent;
  return sum;
}

TEST(WireCollectiveTest, FewerBytesTravel) {
  const int64_t plain = BytesSent({});
  EXPECT_EQ(plain, 6 * 4 * (1 << 16));
  EXPECT_EQ(BytesSent(Wire("bf16")), plain / 2);
  EXPECT_LT(BytesSent(Wire("lz4")), plain / 20);
  EXPECT_LT(BytesSent(Wire("snappy")), plain / 10);
}

TEST(WireCollectiveTest, RanksThatAskForOtherOptionsFailTogether) {
  const Group group = InProcessCommunicator::Group(Topology::OneHost(2));
  float in[2] = {}, out[2] = {};
  absl::Status statuses[2];
  for (int rank = 0; rank < 2; ++rank) {
    CollectiveCall call{.count = 1, .input = &in[rank], .output = &out[rank]};
    call.wire = Wire(rank == 0 ? "bf16" : "fp16+lz4");
    ScheduledCollective(group[rank]).RunAsync(call, [&statuses, rank](const absl::Status& s) { statuses[rank] = s; });
  }
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 AllOf(HasSubstr("all-reduce Add as bf16"), HasSubstr("all-reduce Add as fp16+lz4"),
                                       HasSubstr("rank 0"), HasSubstr("rank 1"))));
  }
}

// Rank 1 receives corrupted bytes: the call fails on both ranks and names the sender.
void ExpectLossWhen(const std::function<void(std::string&)>& falsify) {
  Group group = InProcessCommunicator::Group(Topology::OneHost(2));
  auto victim = std::make_shared<Watched>(group[1]);
  victim->falsify = falsify;
  group[1] = victim;
  CallOfAll<float> run(CollectiveKind::kAllReduce, 2, 1 << 16, 1 << 16, [](int, int64_t) { return 0.0f; });
  run.On(group, Wire("lz4"), Algorithm::kHalvingDoubling);
  for (const auto& status : run.statuses) {
    ASSERT_TRUE(status);
    EXPECT_THAT(*status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("From rank 0")));
  }
}

TEST(WireCollectiveTest, LengthsThatLieAreRejected) {
  for (const int64_t lie : {int64_t{0}, int64_t{-1}, int64_t{1}, (int64_t{1} << 17) + 1, int64_t{1} << 60}) {
    ExpectLossWhen([lie](std::string& message) {
      if (message.size() == sizeof(lie)) std::memcpy(message.data(), &lie, sizeof(lie));
    });
  }
}

TEST(WireCollectiveTest, BlocksThatLieAreRejected) {
  ExpectLossWhen([](std::string& message) {
    if (message.size() != sizeof(int64_t)) message.assign(message.size(), '\xff');
  });
}

}  // namespace
}  // namespace weir
