// The kernel of a part of a graph that a GPU captures and replays.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/op_kernel.h"
#include "worker/capture/replayable_graph.h"
#include "worker/executor.h"

namespace weir {

// Runs its plan as a step would, until inputs come that it has seen often enough (CaptureSource::warm_ups): then the
// plan is captured, and replayed for such inputs from there on. Inputs are alike where their types and shapes are, and
// those in host memory have the same values. Several graphs are kept, those that were used last; a plan of which
// captures fail, or serve for few steps each, is run plainly for good, and a log line says why. So is one step that
// somebody observes, who is told of each node.
class CapturedSegment : public OpKernel, private GpuGraphCache {
 public:
  explicit CapturedSegment(CaptureSource source);
  ~CapturedSegment() override;

  absl::Status Compute(OpKernelContext& ctx) override;
  bool IsExpensive() const override { return false; }
  const Plan& plan() const { return *source_.plan; }

 private:
  static constexpr size_t kMaxGraphs = 8;
  static constexpr int kMaxFailures = 3;  // one after the other
  // A capture takes as long as some steps: after so many of them each must have served for so many replays.
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
  // What serves the key; with a null `graph`, one is to be captured. Null: run plainly.
  std::shared_ptr<Entry> Choose(std::string key, std::shared_ptr<ReplayableGraph>* graph);
  std::shared_ptr<ReplayableGraph> Capture(Entry& entry, OpKernelContext& ctx);
  void Drop(Entry& entry, const ReplayableGraph* graph);
  using Entries = std::list<std::shared_ptr<Entry>>;
  // Moves them to `out`, for the caller to destroy with no lock held.
  void TakeOut(Entries::iterator first, Entries::iterator last, Entries* out) REQUIRES(mu_);
  void GiveUp(absl::string_view why, Entries* out) REQUIRES(mu_);
  absl::Status RunPlainly(OpKernelContext& ctx);

  const CaptureSource source_;
  const std::shared_ptr<Executor> executor_;
  Mutex mu_;
  Entries entries_ GUARDED_BY(mu_);  // the last used first
  bool gave_up_ GUARDED_BY(mu_) = false;
  int failures_ GUARDED_BY(mu_) = 0;
  int64_t captures_ GUARDED_BY(mu_) = 0, replays_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
