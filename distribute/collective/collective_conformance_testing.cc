#include "distribute/collective/collective_conformance_testing.h"

#include <numeric>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "core/testing.h"
#include "distribute/collective/algorithms.h"
#include "distribute/collective/schedule.h"

namespace weir {
namespace {

using testing::Each;
using testing::HasSubstr;

const int kSizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 33};
const int64_t kCounts[] = {0, 1, 2, 5, 13, 64, 1000};

// Integers, so that sums are exact in any order.
double Value(int rank, int64_t i) { return rank * 31 % 17 + i % 23 - 7; }

// One call on all ranks, with its inputs and outputs.
struct Calls {
  Calls(int size, CollectiveKind kind, int64_t count, int64_t output_count, bool in_place = false)
      : inputs(size), outputs(size), calls(size) {
    for (int rank = 0; rank < size; ++rank) {
      inputs[rank].resize(std::max(count, output_count));
      outputs[rank].assign(std::max(count, output_count), -1);
      for (int64_t i = 0; i < count; ++i) inputs[rank][i] = static_cast<float>(Value(rank, i));
      calls[rank].kind = kind;
      calls[rank].count = count;
      calls[rank].input = inputs[rank].data();
      calls[rank].output = in_place ? inputs[rank].data() : outputs[rank].data();
    }
  }
  const float* result(int rank) const { return static_cast<const float*>(calls[rank].output); }

  std::vector<std::vector<float>> inputs, outputs;
  std::vector<CollectiveCall> calls;
};

int64_t& NextSequence() {
  static int64_t sequence = 0;
  return sequence;
}

void RunAll(CollectiveTestGroup& group, Calls& calls) {
  const int64_t sequence = ++NextSequence();
  for (CollectiveCall& call : calls.calls) call.sequence = sequence;
  for (const absl::Status& status : group.Run(calls.calls)) ASSERT_THAT(status, IsOk());
}

double Sum(int size, int64_t i) {
  double sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += Value(rank, i);
  return sum;
}

// `check` for each algorithm of `kind`, group size and count.
void ForEach(const CollectiveBackend& backend, CollectiveKind kind,
             const std::function<void(CollectiveTestGroup&, Algorithm, int64_t count)>& check) {
  for (const int size : kSizes) {
    if (size > backend.largest_group) continue;
    const auto group = backend.make_group(size);
    for (const Algorithm algorithm : AlgorithmsFor(kind, Topology::OneHost(size))) {
      for (const int64_t count : kCounts) {
        SCOPED_TRACE(absl::StrCat(Name(kind), " by ", Name(algorithm), " of ", count, " among ", size));
        check(*group, algorithm, count);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CollectiveConformanceTest, AllReduceAddsUp) {
  for (const bool in_place : {false, true}) {
    ForEach(GetParam(), CollectiveKind::kAllReduce,
            [&](CollectiveTestGroup& group, Algorithm algorithm, int64_t count) {
              Calls calls(group.size(), CollectiveKind::kAllReduce, count, count, in_place);
              for (CollectiveCall& call : calls.calls) call.algorithm = algorithm;
              RunAll(group, calls);
              for (int rank = 0; rank < group.size(); ++rank) {
                for (int64_t i = 0; i < count; ++i)
                  ASSERT_EQ(calls.result(rank)[i], Sum(group.size(), i)) << rank << " " << i;
              }
            });
  }
}

TEST_P(CollectiveConformanceTest, AllReduceGivesTheSameMeansToAll) {
  ForEach(GetParam(), CollectiveKind::kAllReduce, [&](CollectiveTestGroup& group, Algorithm algorithm, int64_t count) {
    Calls calls(group.size(), CollectiveKind::kAllReduce, count, count);
    for (CollectiveCall& call : calls.calls) {
      call.algorithm = algorithm;
      call.divisor = group.size();
    }
    RunAll(group, calls);
    for (int rank = 0; rank < group.size(); ++rank) {
      for (int64_t i = 0; i < count; ++i) {
        const float mean = static_cast<float>(Sum(group.size(), i)) / static_cast<float>(group.size());
        ASSERT_EQ(calls.result(rank)[i], mean) << rank << " " << i;
      }
    }
  });
}

TEST_P(CollectiveConformanceTest, ReduceScatterGivesEachItsBlock) {
  ForEach(GetParam(), CollectiveKind::kReduceScatter,
          [&](CollectiveTestGroup& group, Algorithm algorithm, int64_t count) {
            Calls calls(group.size(), CollectiveKind::kReduceScatter, count, count);
            for (CollectiveCall& call : calls.calls) call.algorithm = algorithm;
            RunAll(group, calls);
            for (int rank = 0; rank < group.size(); ++rank) {
              const Block block = BlockOf(count, group.size(), rank);
              for (int64_t i = 0; i < block.count; ++i) {
                ASSERT_EQ(calls.result(rank)[i], Sum(group.size(), block.offset + i)) << rank << " " << i;
              }
            }
          });
}

TEST_P(CollectiveConformanceTest, AllGatherConcatenates) {
  ForEach(GetParam(), CollectiveKind::kAllGather, [&](CollectiveTestGroup& group, Algorithm algorithm, int64_t count) {
    Calls calls(group.size(), CollectiveKind::kAllGather, count, count * group.size());
    for (CollectiveCall& call : calls.calls) call.algorithm = algorithm;
    RunAll(group, calls);
    for (int rank = 0; rank < group.size(); ++rank) {
      for (int64_t i = 0; i < count * group.size(); ++i) {
        ASSERT_EQ(calls.result(rank)[i], Value(static_cast<int>(i / count), i % count)) << rank << " " << i;
      }
    }
  });
}

TEST_P(CollectiveConformanceTest, BroadcastComesFromTheRoot) {
  for (const bool in_place : {false, true}) {
    ForEach(GetParam(), CollectiveKind::kBroadcast,
            [&](CollectiveTestGroup& group, Algorithm algorithm, int64_t count) {
              const int root = group.size() / 2;
              Calls calls(group.size(), CollectiveKind::kBroadcast, count, count, in_place);
              for (CollectiveCall& call : calls.calls) {
                call.algorithm = algorithm;
                call.root = root;
              }
              RunAll(group, calls);
              for (int rank = 0; rank < group.size(); ++rank) {
                for (int64_t i = 0; i < count; ++i)
                  ASSERT_EQ(calls.result(rank)[i], Value(root, i)) << rank << " " << i;
              }
            });
  }
}

TEST_P(CollectiveConformanceTest, ReduceGoesToTheRoot) {
  ForEach(GetParam(), CollectiveKind::kReduce, [&](CollectiveTestGroup& group, Algorithm algorithm, int64_t count) {
    const int root = group.size() - 1;
    Calls calls(group.size(), CollectiveKind::kReduce, count, count);
    for (CollectiveCall& call : calls.calls) {
      call.algorithm = algorithm;
      call.root = root;
      if (&call != &calls.calls[root]) call.output = nullptr;
    }
    RunAll(group, calls);
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(calls.result(root)[i], Sum(group.size(), i)) << i;
  });
}

TEST_P(CollectiveConformanceTest, AllToAllTransposes) {
  for (const bool in_place : {false, true}) {
    ForEach(GetParam(), CollectiveKind::kAllToAll, [&](CollectiveTestGroup& group, Algorithm, int64_t block) {
      const int64_t count = block * group.size();
      Calls calls(group.size(), CollectiveKind::kAllToAll, count, count, in_place);
      RunAll(group, calls);
      for (int rank = 0; rank < group.size(); ++rank) {
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(calls.result(rank)[i], Value(static_cast<int>(i / block), rank * block + i % block))
              << rank << " " << i;
        }
      }
    });
  }
}

TEST_P(CollectiveConformanceTest, PermuteMovesEachInput) {
  for (const bool in_place : {false, true}) {
    ForEach(GetParam(), CollectiveKind::kPermute, [&](CollectiveTestGroup& group, Algorithm, int64_t count) {
      const int size = group.size();
      Calls calls(size, CollectiveKind::kPermute, count, count, in_place);
      for (CollectiveCall& call : calls.calls) {
        call.permutation.resize(size);
        for (int rank = 0; rank < size; ++rank) call.permutation[rank] = size - 1 - rank;  // odd: one keeps its own
      }
      RunAll(group, calls);
      for (int rank = 0; rank < size; ++rank) {
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(calls.result(rank)[i], Value(size - 1 - rank, i)) << rank;
      }
    });
  }
}

TEST_P(CollectiveConformanceTest, BarrierPassesWhenAllAreThere) {
  for (const int size : kSizes) {
    if (size > GetParam().largest_group) continue;
    const auto group = GetParam().make_group(size);
    Calls calls(size, CollectiveKind::kBarrier, 0, 0);
    RunAll(*group, calls);
  }
}

TEST_P(CollectiveConformanceTest, ReducesEveryTypeByEveryReduction) {
  const auto group = GetParam().make_group(3);
  for (const Reduction reduction : {Reduction::kAdd, Reduction::kMul, Reduction::kMin, Reduction::kMax}) {
    std::vector<int64_t> inputs[3] = {{3, -4, 5, 1}, {7, 2, -1, 1}, {-2, 6, 4, 2}}, outputs[3];
    std::vector<CollectiveCall> calls(3);
    const int64_t sequence = ++NextSequence();
    for (int rank = 0; rank < 3; ++rank) {
      outputs[rank].resize(4);
      calls[rank].kind = CollectiveKind::kAllReduce;
      calls[rank].dtype = DT_INT64;
      calls[rank].reduction = reduction;
      calls[rank].count = 4;
      calls[rank].input = inputs[rank].data();
      calls[rank].output = outputs[rank].data();
      calls[rank].sequence = sequence;
    }
    EXPECT_THAT(group->Run(calls), Each(IsOk()));
    const std::vector<int64_t> expected = reduction == Reduction::kAdd   ? std::vector<int64_t>{8, 4, 8, 4}
                                          : reduction == Reduction::kMul ? std::vector<int64_t>{-42, -48, -20, 2}
                                          : reduction == Reduction::kMin ? std::vector<int64_t>{-2, -4, -1, 1}
                                                                         : std::vector<int64_t>{7, 6, 5, 2};
    for (const auto& output : outputs) EXPECT_EQ(output, expected);
  }
}

TEST_P(CollectiveConformanceTest, LargeVectorsArePipelined) {
  constexpr int64_t kCount = 300001;
  const auto group = GetParam().make_group(4);
  for (const Algorithm algorithm : AlgorithmsFor(CollectiveKind::kAllReduce, Topology::OneHost(4))) {
    Calls calls(4, CollectiveKind::kAllReduce, kCount, kCount);
    for (CollectiveCall& call : calls.calls) call.algorithm = algorithm;
    RunAll(*group, calls);
    for (int rank = 0; rank < 4; ++rank) {
      for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(calls.result(rank)[i], Sum(4, i)) << Name(algorithm) << " " << i;
    }
  }
}

TEST_P(CollectiveConformanceTest, BadCallsAreRejectedOnEveryRank) {
  const auto group = GetParam().make_group(3);
  const auto expect_rejected = [&](const std::function<void(CollectiveCall&)>& spoil, const char* message) {
    Calls calls(3, CollectiveKind::kAllReduce, 4, 4);
    const int64_t sequence = ++NextSequence();
    for (CollectiveCall& call : calls.calls) {
      call.sequence = sequence;
      spoil(call);
    }
    for (const absl::Status& status : group->Run(calls.calls)) {
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    }
  };
  expect_rejected([](CollectiveCall& call) { call.count = -1; }, "-1 elements");
  expect_rejected([](CollectiveCall& call) { call.dtype = DT_STRING; }, "string");
  expect_rejected([](CollectiveCall& call) { call.dtype = DT_BOOL; }, "bool");
  expect_rejected([](CollectiveCall& call) { call.algorithm = Algorithm::kBruck; }, "Bruck");
  expect_rejected([](CollectiveCall& call) { call.kind = CollectiveKind::kBroadcast, call.root = 3; }, "root 3");
  expect_rejected([](CollectiveCall& call) { call.kind = CollectiveKind::kAllToAll; }, "4 elements in a group of 3");
  expect_rejected(
      [](CollectiveCall& call) {
        call.kind = CollectiveKind::kPermute, call.permutation = {0, 0, 1};
      },
      "permutation");
}

TEST_P(CollectiveConformanceTest, ARankThatIsAbsentEndsTheOthersWhenTheyAreCancelled) {
  const auto group = GetParam().make_group(4);
  CancellationManager cancellation;
  Calls calls(4, CollectiveKind::kAllReduce, 8, 8);
  const int64_t sequence = ++NextSequence();
  for (CollectiveCall& call : calls.calls) {
    call.sequence = sequence;
    call.cancellation = &cancellation;
  }
  cancellation.StartCancel(absl::DeadlineExceededError("too late"));
  const std::vector<absl::Status> statuses = group->Run(calls.calls, {false, false, true, false});
  for (const int rank : {0, 1, 3}) EXPECT_THAT(statuses[rank], StatusIs(absl::StatusCode::kDeadlineExceeded));
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CollectiveConformanceTest);

std::string BackendName(const testing::TestParamInfo<CollectiveBackend>& info) { return info.param.name; }

}  // namespace weir
