#include "tests/watch/metrics_testing.h"

#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/grpc_channel.h"

namespace weir {

std::optional<double> SampleOf(const std::string& metrics, const std::string& sample) {
  for (absl::string_view line : absl::StrSplit(metrics, '\n')) {
    double value = 0;
    if (absl::ConsumePrefix(&line, absl::StrCat(sample, " ")) && absl::SimpleAtod(line, &value)) return value;
  }
  return std::nullopt;
}

TaskReport ReportOf(const std::string& grpc_address) {
  GrpcChannel channel({.address = grpc_address}, nullptr);
  GetTaskReportResponse response;
  const absl::Status status =
      channel.CallMessage("/weir.StatusService/GetTaskReport", {.deadline = MonotonicNow() + absl::Minutes(1)},
                          GetTaskReportRequest(), &response);
  EXPECT_TRUE(status.ok()) << status;
  return response.report();
}

bool Eventually(const std::function<bool()>& is_so) {
  const absl::Time end = MonotonicNow() + absl::Minutes(2);
  while (!is_so()) {
    if (MonotonicNow() > end) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

}  // namespace weir
