#include "client/strategy/pipeline_schedule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string TextOf(const std::vector<PipelineTask>& tasks) {
  std::string text;
  for (const PipelineTask& task : tasks) absl::StrAppend(&text, task.is_forward ? "F" : "B", task.micro_batch);
  return text;
}

// The most micro-batches that have gone forward and not come back.
int MostAlive(const std::vector<PipelineTask>& tasks) {
  int alive = 0, most = 0;
  for (const PipelineTask& task : tasks) most = std::max(most, alive += task.is_forward ? 1 : -1);
  return most;
}

TEST(PipelineSchedule, GPipeGoesAllForwardThenAllBackward) {
  EXPECT_EQ(TextOf(TasksOfStage(PipelineSchedule::kGPipe, 0, 2, 3)), "F0F1F2B0B1B2");
  EXPECT_EQ(MostAlive(TasksOfStage(PipelineSchedule::kGPipe, 0, 2, 3)), 3);
}

TEST(PipelineSchedule, OneForwardOneBackwardAlternates) {
  EXPECT_EQ(TextOf(TasksOfStage(PipelineSchedule::k1F1B, 0, 3, 5)), "F0F1F2B0F3B1F4B2B3B4");
  EXPECT_EQ(TextOf(TasksOfStage(PipelineSchedule::k1F1B, 2, 3, 5)), "F0B0F1B1F2B2F3B3F4B4");
}

TEST(PipelineSchedule, OneForwardOneBackwardKeepsNoMoreThanTheStagesAhead) {
  for (int stages = 1; stages <= 6; ++stages) {
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      for (int s = 0; s < stages; ++s) {
        const auto tasks = TasksOfStage(PipelineSchedule::k1F1B, s, stages, micro_batches);
        EXPECT_EQ(tasks.size(), 2 * micro_batches);
        EXPECT_EQ(MostAlive(tasks), std::min(stages - s, micro_batches));
      }
    }
  }
}

TEST(CutLayers, BalancesCosts) {
  EXPECT_THAT(*CutLayers({1, 1, 1, 1}, 2), ElementsAre(0, 2));
  EXPECT_THAT(*CutLayers({5, 1, 1, 1, 1, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(*CutLayers({1, 1, 1}, 3), ElementsAre(0, 1, 2));
}

TEST(CutLayers, NeedsALayerForEachStage) {
  const absl::Status status = CutLayers({1, 1}, 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("use at most 2 stages"));
}

}  // namespace
}  // namespace weir
