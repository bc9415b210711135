#include "client/elastic/elastic_model.h"

#include "core/testing.h"

namespace weir {
namespace {

// The parts of all replicas, which are on workers of `local` each.
std::vector<std::pair<int64_t, int64_t>> All(BatchPolicy policy, int64_t batch, int replicas, int local) {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int first = 0; first < replicas; first += local) {
    for (const RowRange& rows : RowsOfReplicas(policy, batch, replicas, first, local)) {
      all.emplace_back(rows.begin, rows.end);
    }
  }
  return all;
}

TEST(RowsOfReplicasTest, AGlobalBatchIsDividedOnce) {
  for (int replicas = 1; replicas <= 12; ++replicas) {
    int64_t next = 0;
    for (const auto& [begin, end] : All(BatchPolicy::kGlobalBatch, 12, replicas, 1)) {
      EXPECT_EQ(begin, next);
      EXPECT_GE(end - begin, 12 / replicas);
      EXPECT_LE(end - begin, (12 + replicas - 1) / replicas);
      next = end;
    }
    EXPECT_EQ(next, 12);
  }
}

TEST(RowsOfReplicasTest, ReplicasOfAWorkerAreNeighbours) {
  EXPECT_EQ(All(BatchPolicy::kGlobalBatch, 10, 4, 2),
            (std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {3, 6}, {6, 8}, {8, 10}}));
}

TEST(RowsOfReplicasTest, BatchesOfReplicasFollowEachOther) {
  EXPECT_EQ(All(BatchPolicy::kPerWorkerBatch, 4, 3, 1),
            (std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 12}}));
}

}  // namespace
}  // namespace weir
