// A part of a client's graph, compiled for this worker's devices.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/op_registry.h"
#include "core/status.h"
#include "distribute/transport/worker_interface.h"
#include "worker/executor.h"
#include "worker/local_function_runtime.h"

namespace weir {

class GpuDevice;
class WorkerSession;

// The part of a registered graph that runs on one device.
struct GraphUnit {
  Device* device = nullptr;
  GpuDevice* gpu = nullptr;                         // the one that `device` is, if it is one
  std::unique_ptr<LocalFunctionRuntime> functions;  // kernels refer to it
  std::shared_ptr<Executor> executor;
  std::vector<int> feeds, fetches;  // positions among the graph's, by the plan's arguments and results
};

// Thread-safe. Kept alive by its steps.
class RegisteredGraph {
 public:
  // Imports and compiles; everything that is wrong with the graph shows here, before any step. `session` outlives it.
  static absl::StatusOr<std::shared_ptr<RegisteredGraph>> Create(std::shared_ptr<const RegisterGraphArgs> args,
                                                                 const OpRegistry& ops,
                                                                 std::shared_ptr<WorkerSession> session);

  const RegisterGraphArgs& args() const { return *args_; }
  const std::vector<GraphUnit>& units() const { return units_; }
  // The same, but feeds and fetches go through the rendezvous: for partial runs, in which they come one by one. Made
  // when it is first asked for.
  absl::StatusOr<const std::vector<GraphUnit>*> PartialUnits();
  size_t num_feeds() const { return args_->feed_keys.size(); }
  size_t num_fetches() const { return args_->fetch_keys.size(); }
  // Whether tensors pass between units or tasks: then a step needs a rendezvous.
  bool has_transfers() const { return has_transfers_; }
  // Whether some of them come from other tasks.
  bool has_remote_receives() const { return has_remote_receives_; }
  // Whether it, or a function that it may call, has collectives, and the task that the session wants to lead them;
  // empty: the cluster's default.
  bool has_collectives() const { return has_collectives_; }
  const std::string& collective_leader() const {
    return args_->request.config_proto().experimental().collective_group_leader();
  }
  std::vector<tensorflow::GraphDef> PartitionGraphs() const;

 private:
  RegisteredGraph(std::shared_ptr<const RegisterGraphArgs> args, const OpRegistry& ops,
                  std::shared_ptr<WorkerSession> session)
      : args_(std::move(args)), ops_(ops), session_(std::move(session)) {}
  absl::Status Compile(bool with_terminals, std::vector<GraphUnit>* units);
  absl::StatusOr<GraphUnit> CompileUnit(std::unique_ptr<Graph> graph, Device* device, bool with_terminals);
  // Makes one node of element-wise ops in the graph of a GPU's unit, where the session asks for that.
  absl::Status Fuse(Graph* graph) const;
  // Gives the graph of a GPU's unit to capture, where the session asks for that.
  absl::Status Capture(Device* device, GpuDevice* gpu, Graph* graph, Plan::Options* options) const;
  absl::Status Place(Graph& graph) const;
  // Adds what the request's debug options watch, and publishes the graph that comes of it.
  absl::Status Watch(const Device& device, Graph* graph) const;

  const std::shared_ptr<const RegisterGraphArgs> args_;
  const OpRegistry& ops_;
  const std::shared_ptr<WorkerSession> session_;
  std::vector<GraphUnit> units_;
  bool has_transfers_ = false;
  bool has_remote_receives_ = false;
  bool has_collectives_ = false;
  Mutex partial_mu_;
  std::vector<GraphUnit> partial_units_ GUARDED_BY(partial_mu_);
};

}  // namespace weir
