// A signature (feeds, fetches and targets), ready to run: pruned, placed, partitioned and registered.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/kernel/kernel_registry.h"
#include "core/status.h"
#include "core/threads/timer_queue.h"
#include "core/wire/wire_options.h"
#include "distribute/membership/moved_state.h"
#include "graph/graph.h"
#include "graph/passes/layout.h"
#include "graph/passes/mixed_precision_lists.h"
#include "graph/state_key.h"
#include "master/session_tasks.h"

namespace weir {

class SessionCostPlacement;

struct Signature {
  std::vector<std::string> feeds, fetches, targets;
  std::vector<std::pair<std::string, std::string>> connections = {};  // see FeedFetchOptions
  std::string watches = {};                                           // DebugOptions of a watched step
  bool is_partial = false;                                            // run piece by piece, without a commit
  friend bool operator==(const Signature&, const Signature&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Signature& s) {
    return H::combine(std::move(h), s.feeds, s.fetches, s.targets, s.connections, s.watches, s.is_partial);
  }
};

// Immutable once built, except Deregister and the step count. Shared by its steps.
class ClientGraph {
 public:
  // One task's partition.
  struct Part {
    std::string task;
    std::shared_ptr<WorkerInterface> worker;
    bool is_local = false;
    std::string graph_handle;
    // Positions in the signature's feeds and fetches, in the part's order.
    std::vector<int> feeds, fetches;
    uint64_t incarnation = 0;      // of the task
    bool is_coordinator = false;   // of the commit (graph/passes/step_commit.h)
    bool awaits_decision = false;  // of the coordinator, on its updates
    bool is_relay = false;         // of the coordinator's decision
  };
  struct Options {
    const SessionCostPlacement* cost_placement = nullptr;  // places nodes by cost; nullptr: they stay
    std::string session_handle;
    tensorflow::GraphOptions graph_options;
    tensorflow::DebugOptions debug_options;
    const KernelRegistry* kernels = nullptr;
    MixedPrecisionSettings mixed_precision = {};
    const LayoutCosts* layout_costs = nullptr;
    bool allow_soft_placement = false;
    std::function<void(const Node&, absl::string_view asked, const DeviceName& chosen)> moved;  // PlacerOptions
    TimerQueue* timers = nullptr;
    Device* fold_on = nullptr;  // folds constants; nullptr: steps compute them
    absl::Duration call_timeout = absl::Seconds(60);
    CallOptions step;  // the first one that needs the graph: its deadline and cancellation end the preparation
    std::string collective_leader;            // the session's choice; empty: the cluster's default
    bool commits = false;                     // steps on other tasks are all or nothing, if all their tasks support it
    const MovedState* moved_state = nullptr;  // which variables are on other tasks; null: none
    // Steps without updates read from standbys, this one of each task: by its number, modulo theirs. Negative: they do
    // not.
    int64_t reads_standby = -1;
    WireOptions wire;  // for collectives and transfers without an attribute of their own
  };

  // Consumes `graph`, a placed copy of the session's graph. `unplaced` says why nodes have no device: an error if this
  // signature needs one of them.
  static absl::StatusOr<std::shared_ptr<ClientGraph>> Build(
      const Options& options, const Signature& signature, const SessionTasks& tasks, std::unique_ptr<Graph> graph,
      const absl::flat_hash_map<std::string, absl::Status>& unplaced);
  ~ClientGraph();

  // The master's own task, if it has a part, comes last.
  const std::vector<Part>& parts() const { return parts_; }
  int num_feeds() const { return num_feeds_; }
  int num_fetches() const { return num_fetches_; }
  // Returns the number of earlier steps, and counts this one.
  int64_t CountStep() { return num_steps_.fetch_add(1, std::memory_order_relaxed); }
  int64_t num_steps() const { return num_steps_.load(std::memory_order_relaxed); }
  // True if measured times of kernels placed it, with Options::cost_placement.
  bool is_placed_by_times() const { return is_placed_by_times_; }
  // True if tensors pass between devices: a step then leaves state on the tasks, which must be cleaned up.
  bool has_transfers() const { return has_transfers_; }
  // The part that decides for all whether the updates take effect; nullptr: they take effect as they run.
  const Part* coordinator() const;
  // The part that relays its decision; nullptr: there is none.
  const Part* relay() const;
  // Graphs of other masters with the same key take part in the same collectives, so their steps need the same ids. 0:
  // there are none.
  int64_t collective_graph_key() const { return collective_graph_key_; }
  // The variables that it uses. Empty if none could be moved (Options::moved_state).
  const std::vector<StateKey>& state_keys() const { return state_keys_; }
  bool has_updates() const { return has_updates_; }
  // Whether a task of the graph has standbys, or is one, or has just been replaced by one.
  bool UsesStandbys(const MovedState& state) const;
  // Whether the task has standbys, or is one, in the graph.
  bool HasStandby(const std::string& task) const;
  // A task of the graph that has been lost since, and had standbys or was one; empty: none.
  std::string LostTask(const MovedState& state) const;
  // True if a step that failed without an update may run again: beside its updates, it has no effects but on what it
  // takes its input from.
  bool is_repeatable() const { return is_repeatable_; }
  // Whether they are all where `state` says, no task of the graph has a successor, and the standbys are the same; cheap
  // if nothing has moved since the last call.
  bool IsCurrent(const MovedState& state) const;
  // Whether one of them is being moved, or the graph makes updates on a task that is being copied.
  bool UsesMoving(const MovedState& state) const;
  // {position, earlier position of the same fetch}: a repeated fetch is computed and sent once.
  const std::vector<std::pair<int, int>>& repeated_fetches() const { return repeated_fetches_; }

 private:
  ClientGraph() = default;
  absl::Status AddStandbys(const MovedState& state, const SessionTasks& tasks, Graph* graph);
  absl::Status ReadFromStandbys(const MovedState& state, const SessionTasks& tasks, int64_t number, Graph* graph);
  absl::Status Register(const Options& options, absl::btree_map<std::string, tensorflow::GraphDef> graphs,
                        const std::vector<std::string>& feed_keys,
                        const absl::flat_hash_map<int, std::string>& fetch_keys);

  std::string session_handle_;
  std::vector<Part> parts_;
  int num_feeds_ = 0, num_fetches_ = 0;
  bool has_transfers_ = false;
  bool is_placed_by_times_ = false;
  int64_t collective_graph_key_ = 0;
  std::vector<std::pair<int, int>> repeated_fetches_;
  std::atomic<int64_t> num_steps_{0};
  std::vector<StateKey> state_keys_;
  absl::flat_hash_map<std::string, std::vector<std::string>> standbys_;  // of each task with updates
  bool has_updates_ = false, is_repeatable_ = false;
  int64_t state_epoch_ = 0;                           // of the newest home when it was built
  mutable std::atomic<int64_t> current_in_epoch_{0};  // the newest for which IsCurrent was true
};

}  // namespace weir
