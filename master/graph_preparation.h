// Prepares a signature's graph: the passes between cutting feeds and fetches and partitioning.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device.h"
#include "core/threads/cancellation.h"
#include "core/threads/timer_queue.h"
#include "graph/graph.h"
#include "graph/passes/layout.h"
#include "graph/passes/mixed_precision_lists.h"
#include "graph/passes/pass_manager.h"
#include "graph/placer.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

struct PreparationOptions {
  PlacerOptions placement;
  tensorflow::GraphOptions graph_options;
  MixedPrecisionSettings mixed_precision;
  const LayoutCosts* layout_costs = nullptr;  // of GPU nodes; nullptr: none are known
  // The device that folds constants; nullptr: none are folded.
  Device* fold_on = nullptr;
  // Timers that limit the time for folding (nullptr: unlimited). Steps, which have deadlines and can be cancelled,
  // compute the remaining constants.
  TimerQueue* timers = nullptr;
  absl::Duration fold_for = absl::Seconds(2);
  // Places nodes of the graph anew, once all of them have devices; may be empty.
  std::function<absl::Status(Graph*)> place_anew;
  // Called now and then; an error, such as that the step's deadline has passed, ends the preparation. May be empty.
  std::function<absl::Status()> check;
  // The step's feeds, fetches and targets, which keep their names.
  std::vector<std::string> kept;
};

// Inlines functions (graph/functions/lower_functions.h), places the resulting nodes and runs the passes that
// `graph_options` enables:
// - at opt_level L1, the default: constant folding and common sub-expressions, unless rewrite_options disable them;
// - at L0: only those enabled by do_constant_folding and do_common_subexpression_elimination;
// - mixed precision: only if rewrite_options enable it (auto_mixed_precision…, ON or AGGRESSIVE, or by name in
//   `optimizers`, which then alone decides);
// - layout: only by layout_optimizer for GPUs and cpu_layout_conversion for CPUs.
// `unplaced` says why nodes of the graph have no device: an error if one of them remains.
absl::Status PrepareGraph(const PreparationOptions& options,
                          const absl::flat_hash_map<std::string, absl::Status>& unplaced, Graph* graph);

// Runs stateless kernels for `device`'s type on it, outside any step, until `cancellation` fires. Unimplemented for
// kernels that may wait or call functions. The arguments outlive it.
// With `deterministic` it computes the same bits as steps of a deterministic session.
Evaluator MakeEvaluator(const KernelRegistry* kernels, const OpRegistry* ops, Device* device,
                        CancellationManager* cancellation, bool deterministic = false);

}  // namespace weir
