#include "tools/watch/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metrics/counter.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTextTest, HistogramsAreCumulative) {
  DurationHistogram histogram;
  histogram.Add(absl::Microseconds(10));
  histogram.Add(absl::Microseconds(20));
  histogram.Add(absl::Hours(1));
  ScrapedTask task;
  task.master_steps.seconds = histogram.Get();
  EXPECT_THAT(MetricsText(task), AllOf(HasSubstr("\nweir_master_step_seconds_bucket{le=\"1.6e-05\"} 1\n"),
                                       HasSubstr("\nweir_master_step_seconds_bucket{le=\"3.2e-05\"} 2\n"),
                                       HasSubstr("\nweir_master_step_seconds_bucket{le=\"+Inf\"} 3\n"),
                                       HasSubstr("\nweir_master_step_seconds_count 3\n"),
                                       HasSubstr("\nweir_worker_step_seconds_count 0\n")));
}

TEST(MetricsTextTest, EveryStatusCodeHasACounter) {
  ScrapedTask task;
  task.worker_steps.ended[static_cast<int>(absl::StatusCode::kAborted)] = 7;
  EXPECT_THAT(MetricsText(task), AllOf(HasSubstr("\nweir_worker_steps_total{code=\"OK\"} 0\n"),
                                       HasSubstr("\nweir_worker_steps_total{code=\"ABORTED\"} 7\n"),
                                       HasSubstr("\nweir_worker_steps_total{code=\"UNAUTHENTICATED\"} 0\n")));
}

TEST(MetricsTextTest, LabelsAreEscaped) {
  ScrapedTask task;
  TaskReport::Peer* const peer = task.report.add_peer();
  peer->set_task("a\"b\\c\nd");
  peer->set_health("down");
  EXPECT_THAT(MetricsText(task), HasSubstr("\nweir_peer_up{task=\"a\\\"b\\\\c\\nd\"} 0\n"));
}

TEST(MetricsTextTest, APeerThatWasNotAskedIsNeitherUpNorDown) {
  ScrapedTask task;
  task.report.add_peer()->set_health("unknown");
  EXPECT_THAT(MetricsText(task), Not(HasSubstr("weir_peer_up")));
}

TEST(MetricsTextTest, LargeNumbersKeepTheirDigits) {
  ScrapedTask task;
  task.report.mutable_totals()->set_calls_served(123456789012345);
  EXPECT_THAT(MetricsText(task), HasSubstr("\nweir_grpc_calls_total 123456789012345\n"));
}

TEST(MetricsTextTest, OtherSourcesAddGauges) {
  ScrapedTask task;
  for (const char* name : {"users", "items"}) {
    task.gauges.push_back({"weir_embedding_seconds_behind", "The age of rows.", {{"embedding", name}}, 2.5});
  }
  EXPECT_THAT(MetricsText(task), AllOf(HasSubstr("\n# TYPE weir_embedding_seconds_behind gauge\n"),
                                       HasSubstr("\nweir_embedding_seconds_behind{embedding=\"users\"} 2.5\n"),
                                       HasSubstr("\nweir_embedding_seconds_behind{embedding=\"items\"} 2.5\n")));
}

}  // namespace
}  // namespace weir
