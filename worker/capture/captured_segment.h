// The kernel of a captured segment.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "worker/capture/replayable_graph.h"
#include "worker/executor/executor.h"

namespace weir {

// Runs its plan plainly until it has seen equal inputs often enough (CaptureSource::warm_ups); then captures the plan
// and replays the graph for such inputs.
// - Inputs are equal if their types and shapes are, and the values of those in host memory.
// - Keeps the most recently used graphs. If captures fail, or serve too few steps each, the plan runs plainly from then
//   on, and the log says why.
// - Observed steps run plainly too, so that the observer sees each node.
class CapturedSegment : public OpKernel, private GpuGraphCache {
 public:
  explicit CapturedSegment(CaptureSource source);
  ~CapturedSegment() override;

  absl::Status Compute(OpKernelContext& ctx) override;
  bool IsExpensive() const override { return false; }
  const Plan& plan() const { return *source_.plan; }

 private:
  static constexpr size_t kMaxGraphs = 8;
  static constexpr int kMaxFailures = 3;  // consecutive
  // A capture costs as much as several steps: after this many captures, each must have served this many replays on
  // average.
  static constexpr int kPatience = 8;
  static constexpr int kWorth = 4;

  struct Entry {
    std::string key;
    int runs = 0;
    bool is_capturing = false;
    std::shared_ptr<ReplayableGraph> graph;
  };

  void DropGraphs() override;
  std::string KeyOf(const OpKernelContext& ctx) const;
  // The entry for `key`. If its `graph` is null, the caller captures one. Null: run plainly.
  std::shared_ptr<Entry> Choose(std::string key, std::shared_ptr<ReplayableGraph>* graph);
  std::shared_ptr<ReplayableGraph> Capture(Entry& entry, OpKernelContext& ctx);
  void Drop(Entry& entry, const ReplayableGraph* graph);
  using Entries = std::list<std::shared_ptr<Entry>>;
  // Moves entries to `out`, which the caller destroys with no lock held.
  void TakeOut(Entries::iterator first, Entries::iterator last, Entries* out) REQUIRES(mu_);
  void GiveUp(absl::string_view why, Entries* out) REQUIRES(mu_);
  absl::Status RunPlainly(OpKernelContext& ctx);

  const CaptureSource source_;
  const std::shared_ptr<Executor> executor_;
  Mutex mu_;
  Entries entries_ GUARDED_BY(mu_);  // most recently used first
  bool gave_up_ GUARDED_BY(mu_) = false;
  int failures_ GUARDED_BY(mu_) = 0;
  int64_t captures_ GUARDED_BY(mu_) = 0, replays_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
