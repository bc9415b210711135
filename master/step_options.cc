#include "master/step_options.h"

#include <algorithm>

#include "core/clock.h"
#include "distribute/transport/answer_margin.h"

namespace weir {
namespace {

// True if the session records costs for a step that follows `earlier_steps` others of its graph.
bool WantsCosts(const tensorflow::GraphOptions& options, int64_t earlier_steps) {
  const int64_t every = options.build_cost_model();
  return every > 0 && (earlier_steps + 1 - options.build_cost_model_after()) % every == 0;
}

}  // namespace

absl::Time StepDeadline(const CallOptions& call, const tensorflow::RunOptions& options,
                        const tensorflow::ConfigProto& config) {
  const absl::Time now = MonotonicNow();
  // The parts' answers and the step's own need time.
  const absl::Time limit = call.deadline - 2 * AnswerMargin(call.deadline - now);
  const int64_t limit_ms = options.timeout_in_ms() > 0 ? options.timeout_in_ms() : config.operation_timeout_in_ms();
  return limit_ms > 0 ? std::min(limit, now + absl::Milliseconds(limit_ms)) : limit;
}

tensorflow::ExecutorOpts ExecutorOptions(const tensorflow::RunOptions& options,
                                         const tensorflow::GraphOptions& graph_options, int64_t earlier_steps) {
  tensorflow::ExecutorOpts exec;
  exec.set_record_timeline(options.trace_level() == tensorflow::RunOptions::FULL_TRACE ||
                           options.trace_level() == tensorflow::RunOptions::HARDWARE_TRACE);
  exec.set_record_costs(WantsCosts(graph_options, earlier_steps));
  exec.set_record_partition_graphs(options.output_partition_graphs());
  exec.set_report_tensor_allocations_upon_oom(options.report_tensor_allocations_upon_oom());
  return exec;
}

}  // namespace weir
