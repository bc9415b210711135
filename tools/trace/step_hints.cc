#include "tools/trace/step_hints.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/trace/step_usage.h"

namespace weir {
namespace {

// Shares of the steps' time from which on something stands out.
constexpr double kInputShare = 0.2;
constexpr double kReceiveShare = 0.2;
constexpr double kCopyShare = 0.3;
// A task is slow if it computes this many times as long as the others of its job, and that matters for the step.
constexpr double kSlowFactor = 1.5;
constexpr double kSlowShare = 0.1;
// Kernels are too small if a step has this many small ones, and they take this share of the time with kernels.
constexpr int64_t kManySmallKernels = 200;
constexpr double kSmallShare = 0.3;

using Usages = std::map<std::string, TaskUsage>;

std::string Millis(double nanos) { return absl::StrFormat("%.1f ms", nanos / 1e6); }
std::string Percent(double share) { return absl::StrFormat("%.0f%%", 100 * share); }
std::string Megabytes(int64_t bytes) { return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6); }

double ShareOf(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
double PerStep(int64_t nanos, const TaskUsage& usage) { return static_cast<double>(nanos) / std::max(1, usage.steps); }

std::string JobOf(absl::string_view task) {
  constexpr absl::string_view kJob = "/job:";
  if (!absl::StartsWith(task, kJob)) return "";
  task.remove_prefix(kJob.size());
  return std::string(task.substr(0, task.find('/')));
}

void AddInputHint(const Usages& usages, std::vector<StepHint>* hints) {
  const auto worst = std::max_element(usages.begin(), usages.end(), [](const auto& a, const auto& b) {
    return ShareOf(a.second.input_wait, a.second.span) < ShareOf(b.second.input_wait, b.second.span);
  });
  if (worst == usages.end()) return;
  const TaskUsage& usage = worst->second;
  const double share = ShareOf(usage.input_wait, usage.span);
  if (share < kInputShare) return;
  hints->push_back({StepHint::Kind::kInput,
                    absl::StrCat("Input bound: ", worst->first, " computes nothing for ", Percent(share),
                                 " of its steps (", Millis(PerStep(usage.input_wait, usage)), " of ",
                                 Millis(PerStep(usage.span, usage)), ") while it waits for '", usage.input_node,
                                 "'. Prefetch, parallelise the input's map calls, or cache it.")});
}

// The task that others wait for most.
struct Awaited {
  std::string task;
  int64_t waited = 0, transfer = 0, span = 0, bytes = 0, count = 0;
  int steps = 0;
};
std::vector<Awaited> AwaitedTasks(const Usages& usages) {
  std::map<std::string, Awaited> by_task;
  for (const auto& [task, usage] : usages) {
    if (JobOf(task) == "ps") continue;  // it is there to wait
    for (const auto& [peer, receives] : usage.receives) {
      if (peer == task) continue;
      Awaited& awaited = by_task[peer];
      awaited.task = peer;
      awaited.waited += receives.waited;
      awaited.transfer += receives.transfer;
      awaited.bytes += receives.bytes;
      awaited.count += receives.count;
      awaited.span += usage.span;
      awaited.steps += usage.steps;
    }
  }
  std::vector<Awaited> all;
  for (auto& [task, awaited] : by_task) all.push_back(awaited);
  std::sort(all.begin(), all.end(), [](const Awaited& a, const Awaited& b) { return a.waited > b.waited; });
  return all;
}

void AddParameterServerHint(const Usages& usages, std::vector<StepHint>* hints) {
  for (const Awaited& awaited : AwaitedTasks(usages)) {
    if (JobOf(awaited.task) != "ps") continue;
    const double share = ShareOf(awaited.waited, awaited.span);
    if (share < kReceiveShare) return;
    const double steps = std::max(1, awaited.steps);
    hints->push_back(
        {StepHint::Kind::kParameterServer,
         absl::StrCat("Waiting for parameter server ", awaited.task, ": tasks that use it compute nothing for ",
                      Percent(share), " of their steps (", Millis(static_cast<double>(awaited.waited) / steps), " of ",
                      Millis(static_cast<double>(awaited.span) / steps), ") until its tensors arrive; ",
                      Millis(static_cast<double>(awaited.transfer) / steps), " of that is the transfer (",
                      absl::StrFormat("%.1f", static_cast<double>(awaited.count) / steps), " tensors, ",
                      Megabytes(static_cast<int64_t>(static_cast<double>(awaited.bytes) / steps)),
                      " a step). Spread its variables over more parameter servers, or send less.")});
    return;
  }
}

void AddSlowTaskHint(const Usages& usages, std::vector<StepHint>* hints) {
  std::map<std::string, std::vector<std::pair<double, std::string>>> jobs;  // time with kernels a step, by job
  for (const auto& [task, usage] : usages) {
    const std::string job = JobOf(task);
    if (!job.empty() && job != "ps") jobs[job].emplace_back(PerStep(usage.computed, usage), task);
  }
  for (auto& [job, tasks] : jobs) {
    if (tasks.size() < 2) continue;
    std::sort(tasks.begin(), tasks.end());
    const auto& [slowest, name] = tasks.back();
    const double others = tasks[(tasks.size() - 1) / 2].first;
    const TaskUsage& usage = usages.at(name);
    if (slowest < kSlowFactor * others || slowest - others < kSlowShare * PerStep(usage.span, usage)) continue;
    hints->push_back(
        {StepHint::Kind::kSlowTask,
         absl::StrCat("Slow task ", name, ": its kernels take ", Millis(slowest), " a step, those of the other ",
                      tasks.size() - 1, " of job ", job, " ", Millis(others), tasks.size() > 2 ? " (median)" : "",
                      ". Look for other load on its machine, or give it less work.")});
  }
}

void AddCopyHint(const Usages& usages, std::vector<StepHint>* hints) {
  const auto worst = std::max_element(usages.begin(), usages.end(), [](const auto& a, const auto& b) {
    return ShareOf(a.second.copied, a.second.span) < ShareOf(b.second.copied, b.second.span);
  });
  if (worst == usages.end()) return;
  const TaskUsage& usage = worst->second;
  const double share = ShareOf(usage.copied, usage.span);
  if (share < kCopyShare || usage.copied < usage.computed) return;
  const double bytes = static_cast<double>(usage.copied_bytes) / std::max(1, usage.steps);
  hints->push_back({StepHint::Kind::kCopies,
                    absl::StrCat("Copies dominate on ", worst->first, ": tensors are on their way to it for ",
                                 Percent(share), " of its steps (", Millis(PerStep(usage.copied, usage)), " of ",
                                 Millis(PerStep(usage.span, usage)), ", ", Megabytes(static_cast<int64_t>(bytes)),
                                 " a step), longer than it computes (", Millis(PerStep(usage.computed, usage)),
                                 "). Place ops beside their inputs, or send smaller types.")});
}

void AddSmallKernelHint(const Usages& usages, std::vector<StepHint>* hints) {
  const auto worst = std::max_element(usages.begin(), usages.end(), [](const auto& a, const auto& b) {
    return ShareOf(a.second.small_kernel_nanos, a.second.computed) <
           ShareOf(b.second.small_kernel_nanos, b.second.computed);
  });
  if (worst == usages.end()) return;
  const TaskUsage& usage = worst->second;
  const double share = ShareOf(usage.small_kernel_nanos, usage.computed);
  if (share < kSmallShare || usage.small_kernels < kManySmallKernels * usage.steps) return;
  hints->push_back(
      {StepHint::Kind::kSmallKernels,
       absl::StrCat("Small kernels on ", worst->first, ": ", usage.small_kernels / usage.steps, " of ",
                    usage.kernels / usage.steps, " kernels a step take less than ", kSmallKernelNanos / 1000, " us, ",
                    Percent(share), " of the time with kernels (", Millis(PerStep(usage.small_kernel_nanos, usage)),
                    " of ", Millis(PerStep(usage.computed, usage)),
                    "). Larger batches, or fewer and larger ops, lower the cost a kernel.")});
}

}  // namespace

std::vector<StepHint> HintsFor(const Timeline& timeline) {
  const Usages usages = UsageOf(timeline);
  std::vector<StepHint> hints;
  AddInputHint(usages, &hints);
  AddParameterServerHint(usages, &hints);
  AddSlowTaskHint(usages, &hints);
  AddCopyHint(usages, &hints);
  AddSmallKernelHint(usages, &hints);
  return hints;
}

}  // namespace weir
