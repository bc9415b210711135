#include "core/metrics/step_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace weir {
namespace {

uint64_t Count(const DurationHistogram::Snapshot& snapshot) {
  return std::accumulate(snapshot.counts.begin(), snapshot.counts.end(), uint64_t{0});
}

TEST(DurationHistogramTest, ADurationIsInTheFirstBucketWhoseBoundItDoesNotExceed) {
  for (int i = 0; i + 1 < DurationHistogram::kBuckets; ++i) {
    DurationHistogram at, above;
    const absl::Duration bound = absl::Microseconds(int64_t{16} << i);
    at.Add(bound);
    above.Add(bound + absl::Nanoseconds(1));
    EXPECT_EQ(at.Get().counts[i], 1) << i;
    EXPECT_EQ(above.Get().counts[i + 1], 1) << i;
    EXPECT_NEAR(DurationHistogram::UpperBoundSeconds(i), absl::ToDoubleSeconds(bound), 1e-12);
  }
}

TEST(DurationHistogramTest, ExtremesAreInTheFirstAndLastBuckets) {
  DurationHistogram histogram;
  histogram.Add(absl::ZeroDuration());
  histogram.Add(-absl::Seconds(1));
  histogram.Add(absl::Hours(100));
  const DurationHistogram::Snapshot snapshot = histogram.Get();
  EXPECT_EQ(snapshot.counts.front(), 2);
  EXPECT_EQ(snapshot.counts.back(), 1);
  EXPECT_DOUBLE_EQ(snapshot.sum_seconds, 360000);
}

TEST(StepMetricsTest, CountsStepsByCode) {
  StepMetrics metrics;
  metrics.End(absl::StatusCode::kOk, metrics.Start());
  metrics.End(absl::StatusCode::kUnavailable, metrics.Start());
  metrics.End(static_cast<absl::StatusCode>(99), metrics.Start());
  metrics.Start();
  const StepMetrics::Snapshot snapshot = metrics.Get();
  EXPECT_EQ(snapshot.started, 4);
  EXPECT_EQ(snapshot.Running(), 1);
  EXPECT_EQ(snapshot.ended[static_cast<int>(absl::StatusCode::kOk)], 1);
  EXPECT_EQ(snapshot.ended[static_cast<int>(absl::StatusCode::kUnavailable)], 1);
  EXPECT_EQ(snapshot.ended[static_cast<int>(absl::StatusCode::kUnknown)], 1);
  EXPECT_EQ(Count(snapshot.seconds), 0);
}

TEST(StepMetricsTest, MeasuresTimesOnRequest) {
  StepMetrics metrics;
  const absl::Time before = metrics.Start();
  metrics.MeasureTimes();
  metrics.End(absl::StatusCode::kOk, before);
  EXPECT_EQ(Count(metrics.Get().seconds), 0);
  metrics.End(absl::StatusCode::kOk, metrics.Start());
  EXPECT_EQ(Count(metrics.Get().seconds), 1);
}

TEST(StepMetricsTest, ThreadsLoseNoCount) {
  constexpr int kThreads = 4, kSteps = 10000;
  StepMetrics metrics;
  metrics.MeasureTimes();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&metrics] {
      for (int step = 0; step < kSteps; ++step) metrics.End(absl::StatusCode::kOk, metrics.Start());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StepMetrics::Snapshot snapshot = metrics.Get();
  EXPECT_EQ(snapshot.started, kThreads * kSteps);
  EXPECT_EQ(snapshot.EndedOfAll(), kThreads * kSteps);
  EXPECT_EQ(Count(snapshot.seconds), kThreads * kSteps);
}

}  // namespace
}  // namespace weir
