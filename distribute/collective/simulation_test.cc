// Runs the algorithms on thousands of simulated ranks, and compares the cost model with the simulation.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/testing.h"
#include "distribute/collective/algorithms.h"
#include "distribute/collective/cost_model.h"
#include "distribute/collective/scheduled_collective.h"
#include "distribute/collective/simulated_network.h"

namespace weir {
namespace {

// The duration of one call in seconds.
double Simulate(const Topology& topology, CollectiveKind kind, std::optional<Algorithm> algorithm, int64_t count,
                bool* is_right = nullptr) {
  SimulatedNetwork network(topology);
  const auto members = network.Group();
  const int size = topology.size();
  const int64_t output_count = kind == CollectiveKind::kAllGather ? count * size : count;
  std::vector<std::vector<int32_t>> inputs(size), outputs(size);
  int finished = 0;
  for (int rank = 0; rank < size; ++rank) {
    inputs[rank].assign(count, rank % 5 + 1);
    outputs[rank].resize(output_count);
    const CollectiveCall call{.kind = kind,
                              .dtype = DT_INT32,
                              .count = count,
                              .input = inputs[rank].data(),
                              .output = outputs[rank].data(),
                              .algorithm = algorithm};
    ScheduledCollective(members[rank]).RunAsync(call, [&finished](const absl::Status& status) {
      EXPECT_THAT(status, IsOk());
      ++finished;
    });
  }
  network.Run();
  EXPECT_EQ(finished, size);
  if (is_right != nullptr) {
    int32_t sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += rank % 5 + 1;
    *is_right = true;
    for (const auto& output : outputs) {
      for (const int32_t value : output) *is_right = *is_right && value == sum;
    }
  }
  return network.now();
}

// With calls instead of shared memory within hosts; so slow that latency dominates.
LinkCosts Slowed(double factor) {
  LinkCosts costs{.within_host = {.latency = 100e-6, .seconds_per_byte = 1 / 2.0e9}};
  costs.within_host.seconds_per_byte *= factor;
  costs.between_hosts.seconds_per_byte *= factor;
  costs.consume_seconds_per_byte *= factor;
  return costs;
}

TEST(SimulationTest, ThousandsOfRanksAddUp) {
  for (const Topology& topology : {Topology::OneHost(1000), Topology::Regular(125, 8), Topology::OneHost(3001)}) {
    for (const Algorithm algorithm : AlgorithmsFor(CollectiveKind::kAllReduce, topology)) {
      if (algorithm == Algorithm::kRing && topology.size() > 1000) continue;  // six thousand steps each
      bool is_right = false;
      Simulate(topology, CollectiveKind::kAllReduce, algorithm, 7, &is_right);
      EXPECT_TRUE(is_right) << Name(algorithm) << " among " << topology.size();
    }
  }
}

TEST(SimulationTest, HostsOfUnequalSizeAddUp) {
  const Topology topology({0, 0, 0, 1, 2, 2, 2, 2, 3, 3}), scattered({0, 1, 2, 0, 1, 2, 0, 1, 2});
  for (const Topology* t : {&topology, &scattered}) {
    for (const Algorithm algorithm : AlgorithmsFor(CollectiveKind::kAllReduce, *t)) {
      for (const int64_t count : {1, 10, 101}) {
        bool is_right = false;
        Simulate(*t, CollectiveKind::kAllReduce, algorithm, count, &is_right);
        EXPECT_TRUE(is_right) << Name(algorithm) << " of " << count;
      }
    }
  }
}

TEST(SimulationTest, TheSameEveryTime) {
  const Topology topology = Topology::Regular(5, 3);
  EXPECT_EQ(Simulate(topology, CollectiveKind::kAllReduce, Algorithm::kRing, 100),
            Simulate(topology, CollectiveKind::kAllReduce, Algorithm::kRing, 100));
}

struct Case {
  CollectiveKind kind;
  Topology topology;
  int64_t count;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const double factor : {1.0, 100.0, 10000.0}) {
    const LinkCosts costs = Slowed(factor);
    for (const Topology& topology :
         {Topology::OneHost(2, costs), Topology::OneHost(7, costs), Topology::OneHost(64, costs),
          Topology::Regular(8, 4, costs), Topology::Regular(3, 5, costs)}) {
      for (const CollectiveKind kind :
           {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
            CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
        cases.push_back({kind, topology, 2048});
      }
    }
  }
  return cases;
}

TEST(CostModelTest, PredictsWhatTheSimulationTakes) {
  for (const Case& c : Cases()) {
    for (const Algorithm algorithm : AlgorithmsFor(c.kind, c.topology)) {
      const double simulated = Simulate(c.topology, c.kind, algorithm, c.count);
      const double predicted = PredictedSeconds(c.kind, algorithm, 1, 4.0 * c.count, c.topology);
      EXPECT_LT(predicted, 2.1 * simulated)
          << Name(c.kind) << " by " << Name(algorithm) << " among " << c.topology.size();
      EXPECT_GT(predicted, simulated / 2.1)
          << Name(c.kind) << " by " << Name(algorithm) << " among " << c.topology.size();
    }
  }
}

TEST(CostModelTest, ChoosesWhatIsNearlyTheFastest) {
  for (const Case& c : Cases()) {
    double best = 1e9;
    for (const Algorithm algorithm : AlgorithmsFor(c.kind, c.topology)) {
      best = std::min(best, Simulate(c.topology, c.kind, algorithm, c.count));
    }
    const double chosen = Simulate(c.topology, c.kind, std::nullopt, c.count);
    EXPECT_LT(chosen, 1.3 * best) << Name(c.kind) << " among " << c.topology.size() << " on " << c.topology.num_hosts()
                                  << " hosts at " << c.topology.costs().within_host.seconds_per_byte << ": "
                                  << Name(ChooseAlgorithm(c.kind, 4.0 * c.count, c.topology).algorithm);
  }
}

TEST(CostModelTest, SmallVectorsSaveStepsAndLargeOnesSaveBytes) {
  const Topology topology = Topology::OneHost(16);
  EXPECT_EQ(ChooseAlgorithm(CollectiveKind::kAllReduce, 64, topology).algorithm, Algorithm::kRecursiveDoubling);
  const Algorithm large = ChooseAlgorithm(CollectiveKind::kAllReduce, 256 << 20, topology).algorithm;
  EXPECT_TRUE(large == Algorithm::kRing || large == Algorithm::kHalvingDoubling) << Name(large);
  EXPECT_EQ(ChooseAlgorithm(CollectiveKind::kAllReduce, 4 << 20, Topology::Regular(16, 8)).algorithm,
            Algorithm::kHierarchical);
  EXPECT_EQ(ChooseAlgorithm(CollectiveKind::kBroadcast, 64, topology).algorithm, Algorithm::kBinomialTree);
}

TEST(CostModelTest, LargeVectorsAreCutIntoLanes) {
  EXPECT_EQ(BestLanes(CollectiveKind::kAllReduce, Algorithm::kRing, 1 << 10, Topology::OneHost(4)).lanes, 1);
  EXPECT_GT(BestLanes(CollectiveKind::kAllReduce, Algorithm::kRing, 64 << 20, Topology::OneHost(4)).lanes, 1);
}

}  // namespace
}  // namespace weir
