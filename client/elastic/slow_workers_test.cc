#include "client/elastic/slow_workers.h"

#include "core/testing.h"

namespace weir {
namespace {

TrainingGeneration Of(int workers) {
  TrainingGeneration generation;
  for (int i = 0; i < workers; ++i) {
    TrainingMember* const member = generation.add_member();
    member->set_task(absl::StrCat("/job:worker/replica:0/task:", i));
    member->set_run(i + 1);
  }
  return generation;
}

std::vector<absl::Duration> Millis(const std::vector<int>& times) {
  std::vector<absl::Duration> own;
  for (const int time : times) own.push_back(absl::Milliseconds(time));
  return own;
}

TEST(SlowWorkersTest, AWorkerIsSlowOnceItsWindowIsFull) {
  SlowWorkers workers({.factor = 3, .window = 2}, 1);
  EXPECT_THAT(workers.Add(Of(3), Millis({10, 40, 11})), testing::IsEmpty());
  EXPECT_THAT(workers.Add(Of(3), Millis({10, 40, 11})),
              testing::ElementsAre(SlowWorkers::Worker("/job:worker/replica:0/task:1", 2)));
}

TEST(SlowWorkersTest, OneFastStepBeginsTheWindowAnew) {
  SlowWorkers workers({.factor = 3, .window = 2}, 1);
  EXPECT_THAT(workers.Add(Of(3), Millis({10, 40, 11})), testing::IsEmpty());
  EXPECT_THAT(workers.Add(Of(3), Millis({10, 12, 11})), testing::IsEmpty());
  EXPECT_THAT(workers.Add(Of(3), Millis({10, 40, 11})), testing::IsEmpty());
}

TEST(SlowWorkersTest, TheMinimumStays) {
  SlowWorkers workers({.factor = 3, .window = 1}, 3);
  EXPECT_THAT(workers.Add(Of(3), Millis({10, 40, 11})), testing::IsEmpty());
  EXPECT_EQ(workers.Add(Of(5), Millis({10, 40, 11, 10, 50})).size(), 2);
}

TEST(SlowWorkersTest, WithoutAFactorNoneIs) {
  SlowWorkers workers({.window = 1}, 1);
  EXPECT_THAT(workers.Add(Of(2), Millis({1, 1000})), testing::IsEmpty());
}

}  // namespace
}  // namespace weir
