#include "tools/trace/step_usage.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

struct Span {
  int64_t start = 0, end = 0;
};

// Joins overlapping spans; in order.
std::vector<Span> Union(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> joined;
  for (const Span& span : spans) {
    if (span.end <= span.start) continue;
    if (joined.empty() || span.start > joined.back().end) {
      joined.push_back(span);
    } else {
      joined.back().end = std::max(joined.back().end, span.end);
    }
  }
  return joined;
}

int64_t Length(const std::vector<Span>& joined) {
  int64_t length = 0;
  for (const Span& span : joined) length += span.end - span.start;
  return length;
}

// The parts of `within` that `joined` leaves.
std::vector<Span> Gaps(const std::vector<Span>& joined, const Span& within) {
  std::vector<Span> gaps;
  int64_t at = within.start;
  for (const Span& span : joined) {
    if (span.start > at) gaps.push_back({at, std::min(span.start, within.end)});
    at = std::max(at, span.end);
  }
  if (at < within.end) gaps.push_back({at, within.end});
  return gaps;
}

// One task in one step.
class TaskInStep {
 public:
  TaskInStep(const Timeline& timeline, const Span& step) : timeline_(timeline), step_(step) {}

  void Add(size_t index) {
    const NodeSlice& slice = timeline_.slices[index];
    const Span span = Clipped({slice.start, slice.end});
    switch (slice.activity) {
      case Activity::kDevice:
        if (slice.is_copy) {
          copies_.push_back(span);
          copied_bytes_ += slice.bytes;
          break;
        }
        computed_.push_back(span);
        break;
      case Activity::kCompute:
        computed_.push_back(span);
        kernels_.push_back(slice.end - slice.start);
        break;
      case Activity::kReceive:
      case Activity::kInput:
      case Activity::kCollective:
      case Activity::kWait:
        waits_.push_back(index);
        break;
      case Activity::kSend:
      case Activity::kCall:
        break;
    }
  }

  void AddTo(const std::map<size_t, size_t>& send_of, std::map<std::string, int64_t>* inputs, TaskUsage* usage) {
    for (const size_t wait : waits_) AddTransfer(wait, send_of, usage);
    const std::vector<Span> computed = Union(std::move(computed_));
    usage->steps += 1;
    usage->span += step_.end - step_.start;
    usage->computed += Length(computed);
    usage->copied += Length(Union(std::move(copies_)));
    usage->copied_bytes += copied_bytes_;
    usage->kernels += static_cast<int64_t>(kernels_.size());
    for (const int64_t nanos : kernels_) {
      if (nanos >= kSmallKernelNanos) continue;
      usage->small_kernels += 1;
      usage->small_kernel_nanos += nanos;
    }
    std::sort(waits_.begin(), waits_.end(),
              [this](size_t a, size_t b) { return timeline_.slices[a].end < timeline_.slices[b].end; });
    for (const Span& gap : Gaps(computed, step_)) Charge(gap, send_of, inputs, usage);
  }

 private:
  // Nodes that run when a wait ends start within this time.
  static constexpr int64_t kWakeNanos = 200'000;

  Span Clipped(Span span) const {
    return {std::clamp(span.start, step_.start, step_.end), std::clamp(span.end, step_.start, step_.end)};
  }

  // When the bytes of a received tensor were on their way.
  Span TransferOf(size_t wait, const std::map<size_t, size_t>& send_of) const {
    const NodeSlice& slice = timeline_.slices[wait];
    const auto send = send_of.find(wait);
    if (send == send_of.end()) return {slice.end, slice.end};
    return Clipped({std::clamp(timeline_.slices[send->second].end, slice.start, slice.end), slice.end});
  }

  void AddTransfer(size_t wait, const std::map<size_t, size_t>& send_of, TaskUsage* usage) {
    const NodeSlice& slice = timeline_.slices[wait];
    if (slice.activity != Activity::kReceive || slice.peer.empty()) return;
    usage->receives[slice.peer].bytes += slice.bytes;
    usage->receives[slice.peer].count += 1;
    if (slice.peer == slice.task) return;
    copies_.push_back(TransferOf(wait, send_of));
    copied_bytes_ += slice.bytes;
  }

  // Charges a time without kernels to the waits that ended last in it.
  void Charge(const Span& gap, const std::map<size_t, size_t>& send_of, std::map<std::string, int64_t>* inputs,
              TaskUsage* usage) {
    int64_t until = gap.end;
    for (auto it = waits_.rbegin(); it != waits_.rend() && until > gap.start; ++it) {
      const NodeSlice& wait = timeline_.slices[*it];
      if (wait.start >= until || wait.end <= gap.start || wait.end > until + kWakeNanos) continue;
      const Span waited{std::max(gap.start, wait.start), std::min(until, wait.end)};
      if (waited.end <= waited.start) continue;
      const int64_t length = waited.end - waited.start;
      if (wait.activity == Activity::kInput) {
        usage->input_wait += length;
        (*inputs)[wait.name] += length;
      } else if (wait.activity == Activity::kReceive && !wait.peer.empty()) {
        const Span transfer = TransferOf(*it, send_of);
        TaskUsage::Receives& receives = usage->receives[wait.peer];
        receives.waited += length;
        receives.transfer +=
            std::max<int64_t>(0, std::min(transfer.end, waited.end) - std::max(transfer.start, waited.start));
      }
      until = waited.start;
    }
  }

  const Timeline& timeline_;
  const Span step_;
  std::vector<Span> computed_, copies_;
  std::vector<int64_t> kernels_;
  std::vector<size_t> waits_;
  int64_t copied_bytes_ = 0;
};

}  // namespace

std::map<std::string, TaskUsage> UsageOf(const Timeline& timeline) {
  std::map<size_t, size_t> send_of;
  for (const Transfer& transfer : timeline.transfers) send_of[transfer.receive] = transfer.send;
  std::map<std::pair<std::string, size_t>, TaskInStep> parts;
  for (size_t i = 0; i < timeline.slices.size(); ++i) {
    const NodeSlice& slice = timeline.slices[i];
    const StepSpan& step = timeline.steps[slice.step];
    parts.try_emplace({slice.task, slice.step}, timeline, Span{step.start, step.end}).first->second.Add(i);
  }
  std::map<std::string, TaskUsage> usage;
  std::map<std::string, std::map<std::string, int64_t>> inputs;
  for (auto& [key, part] : parts) part.AddTo(send_of, &inputs[key.first], &usage[key.first]);
  for (const auto& [task, nodes] : inputs) {
    const auto most =
        std::max_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != nodes.end()) usage[task].input_node = most->first;
  }
  return usage;
}

}  // namespace weir
