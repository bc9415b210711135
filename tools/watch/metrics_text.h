// A task's metrics in Prometheus's text format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/metrics/gauges.h"
#include "core/metrics/step_metrics.h"
#include "tools/watch/process_metrics.h"
#include "weir/status.pb.h"

namespace weir {

inline constexpr char kMetricsContentType[] = "text/plain; version=0.0.4; charset=utf-8";

struct ScrapedTask {
  TaskReport report;
  StepMetrics::Snapshot master_steps, worker_steps;
  ProcessMetrics process;
  uint64_t http_answered = 0, http_dropped = 0;
  std::vector<GaugeSample> gauges;  // of other sources
};

// docs/watching.md lists the metrics.
std::string MetricsText(const ScrapedTask& task);

}  // namespace weir
