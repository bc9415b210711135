// A partition of a client's graph, compiled for this worker's devices.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/op/op_registry.h"
#include "core/status.h"
#include "distribute/transport/worker_interface.h"
#include "worker/executor/executor.h"
#include "worker/local_function_runtime.h"
#include "worker/state_guard.h"

namespace weir {

class GpuDevice;
class WorkerSession;

// How the graph's task takes part in the commit of its steps (graph/passes/step_commit.h).
struct CommitRole {
  std::string coordinator;  // empty: this task
  uint64_t coordinator_incarnation = 0;
  bool relays = false;  // passes the coordinator's decision on
  std::string decider;  // whose decision the coordinator relays; empty: its own
  uint64_t decider_incarnation = 0;
};

// The part of a registered graph on one device.
struct GraphUnit {
  Device* device = nullptr;
  GpuDevice* gpu = nullptr;                         // `device`, if it is a GPU
  std::unique_ptr<LocalFunctionRuntime> functions;  // kernels refer to it
  std::shared_ptr<Executor> executor;
  std::vector<int> feeds, fetches;  // positions among the graph's, by the plan's arguments and results
};

// Thread-safe. Its steps keep it alive.
class RegisteredGraph {
 public:
  // Imports and compiles the graph; errors in the graph are reported here, before any step. `session` outlives it. The
  // call's deadline and cancellation end the compilation, between two kernels.
  static absl::StatusOr<std::shared_ptr<RegisteredGraph>> Create(std::shared_ptr<const RegisterGraphArgs> args,
                                                                 const OpRegistry& ops,
                                                                 std::shared_ptr<WorkerSession> session,
                                                                 const CallOptions& call = {});

  const RegisterGraphArgs& args() const { return *args_; }
  const std::vector<GraphUnit>& units() const { return units_; }
  // The same units, except that feeds and fetches go through the rendezvous, because partial runs give them one by one.
  // Compiled when first needed.
  absl::StatusOr<const std::vector<GraphUnit>*> PartialUnits();
  size_t num_feeds() const { return args_->feed_keys.size(); }
  size_t num_fetches() const { return args_->fetch_keys.size(); }
  // True if tensors pass between units or tasks: a step then needs a rendezvous.
  bool has_transfers() const { return has_transfers_; }
  // True if some tensors come from other tasks.
  bool has_remote_receives() const { return has_remote_receives_; }
  // nullopt: it takes no part.
  const std::optional<CommitRole>& commit_role() const { return commit_role_; }
  // True if the graph, or a function that it may call, has collectives. The leader is the session's choice; empty: the
  // cluster's default.
  bool has_collectives() const { return has_collectives_; }
  const std::string& collective_leader() const {
    return args_->request.config_proto().experimental().collective_group_leader();
  }
  std::vector<tensorflow::GraphDef> PartitionGraphs() const;
  const std::shared_ptr<StateUses>& state_uses() const { return state_uses_; }

 private:
  RegisteredGraph(std::shared_ptr<const RegisterGraphArgs> args, const OpRegistry& ops,
                  std::shared_ptr<WorkerSession> session)
      : args_(std::move(args)), ops_(ops), session_(std::move(session)) {}
  absl::Status Compile(const CallOptions& call, bool with_terminals, std::vector<GraphUnit>* units);
  absl::StatusOr<GraphUnit> CompileUnit(const CallOptions& call, std::unique_ptr<Graph> graph, Device* device,
                                        bool with_terminals);
  // An error once the call is over.
  absl::Status CheckCall(const CallOptions& call) const;
  // Fuses element-wise ops in the graph of a GPU's unit if the session enables it.
  absl::Status Fuse(Graph* graph) const;
  // Whether the worker or the session asks for it.
  absl::StatusOr<bool> IsDeterministic() const;
  // Captures segments in the graph of a GPU's unit if the session enables it.
  absl::Status Capture(Device* device, GpuDevice* gpu, Graph* graph, Plan::Options* options) const;
  // InvalidArgument for a graph that no master makes: several decisions, or one in a function.
  absl::Status FindCommitRole(const Graph& graph);
  absl::Status FindStateUses(const Graph& graph);
  absl::Status Place(Graph& graph) const;
  // Adds the watches of the request's debug options and publishes the resulting graph.
  absl::Status Watch(const Device& device, Graph* graph) const;

  const std::shared_ptr<const RegisterGraphArgs> args_;
  const OpRegistry& ops_;
  const std::shared_ptr<WorkerSession> session_;
  std::vector<GraphUnit> units_;
  bool has_transfers_ = false;
  bool has_remote_receives_ = false;
  bool has_collectives_ = false;
  std::optional<CommitRole> commit_role_;
  const std::shared_ptr<StateUses> state_uses_ = std::make_shared<StateUses>();
  Mutex partial_mu_;
  std::vector<GraphUnit> partial_units_ GUARDED_BY(partial_mu_);
};

}  // namespace weir
