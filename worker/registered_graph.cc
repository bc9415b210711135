#include "worker/registered_graph.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/clock.h"
#include "core/gpu/gpu_device.h"
#include "core/kernel/debug_publisher.h"
#include "core/op/attr_value.h"
#include "core/threads/cancellation.h"
#include "graph/collectives.h"
#include "graph/debug_watches.h"
#include "graph/function_library.h"
#include "graph/fused/expand_fused_ops.h"
#include "graph/graph.h"
#include "graph/graph_import.h"
#include "graph/partition.h"
#include "graph/passes/custom_optimizers.h"
#include "graph/passes/determinism.h"
#include "graph/passes/fused_updates.h"
#include "graph/passes/fusion/elementwise_fusion.h"
#include "graph/passes/loop_constants.h"
#include "graph/passes/pass_manager.h"
#include "graph/state_homes.h"
#include "tensorflow/core/framework/function.pb.h"
#include "worker/capture/capture_segments.h"
#include "worker/device_memory.h"
#include "worker/executor/node_kernel.h"
#include "worker/worker_session.h"

namespace weir {
namespace {

absl::StatusOr<std::unique_ptr<Graph>> Import(tensorflow::GraphDef def, const OpRegistry& ops) {
  auto graph = std::make_unique<Graph>(&ops);
  RETURN_IF_ERROR(ImportGraphDef({.allow_internal_ops = true, .from_any_producer = true}, std::move(def), graph.get()));
  return graph;
}

bool IsFromAnotherTask(const Node& node, const DeviceName& receiver) {
  std::string sender;
  if (!node.IsRecv() || !GetNodeAttr(node.def(), "send_device", &sender).ok()) return false;
  const auto parsed = DeviceName::ParseFull(sender);
  return parsed.ok() && parsed->TaskName() != receiver.TaskName();
}

// Positions of those `keys` that are in `present`.
std::vector<int> Positions(const std::vector<std::string>& keys,
                           const absl::flat_hash_map<std::string, bool>& present) {
  std::vector<int> positions;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (present.contains(keys[i])) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

// Enabled by the same option as the master's fusions.
bool Fuses(const tensorflow::GraphOptions& options) {
  const tensorflow::RewriterConfig& rewrite = options.rewrite_options();
  return options.optimizer_options().opt_level() == tensorflow::OptimizerOptions::L1 &&
         rewrite.remapping() != tensorflow::RewriterConfig::OFF && !rewrite.disable_meta_optimizer();
}

// The device's math libraries are part of the task, not of a session.
absl::Status CheckDeterministic(const GpuDevice* gpu) {
  if (gpu == nullptr || gpu->math_settings().deterministic) return absl::OkStatus();
  return errors::FailedPrecondition("The session is deterministic, but the libraries of ", gpu->name(),
                                    " are not: start the task with --deterministic or TF_DETERMINISTIC_OPS=1");
}

absl::Status FuseAttention(const tensorflow::GraphOptions& options, Graph* graph) {
  int changes = 0;
  return Fuses(options) ? MakeAttentionPass()->Run({}, graph, &changes) : absl::OkStatus();
}

absl::Status CheckAllFound(const std::vector<std::string>& keys, std::vector<GraphUnit>& units,
                           std::vector<int> GraphUnit::*positions, absl::string_view what) {
  std::vector<bool> found(keys.size(), false);
  for (const GraphUnit& unit : units) {
    for (int position : unit.*positions) found[position] = true;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) return errors::InvalidArgument("The graph has no node for the ", what, " key '", keys[i], "'");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<RegisteredGraph>> RegisteredGraph::Create(std::shared_ptr<const RegisterGraphArgs> args,
                                                                         const OpRegistry& ops,
                                                                         std::shared_ptr<WorkerSession> session,
                                                                         const CallOptions& call) {
  std::shared_ptr<RegisteredGraph> graph(new RegisteredGraph(std::move(args), ops, std::move(session)));
  graph->has_collectives_ = HasCollectives(graph->args_->request.graph_def());
  RETURN_IF_ERROR(graph->Compile(call, true, &graph->units_));
  RETURN_IF_ERROR(CheckAllFound(graph->args_->feed_keys, graph->units_, &GraphUnit::feeds, "feed"));
  RETURN_IF_ERROR(CheckAllFound(graph->args_->fetch_keys, graph->units_, &GraphUnit::fetches, "fetch"));
  return graph;
}

absl::StatusOr<const std::vector<GraphUnit>*> RegisteredGraph::PartialUnits() {
  MutexLock lock(partial_mu_);
  if (partial_units_.empty()) RETURN_IF_ERROR(Compile({}, false, &partial_units_));
  return &partial_units_;
}

absl::Status RegisteredGraph::Place(Graph& graph) const {
  for (Node* node : graph.nodes()) {
    const std::string& name = node->requested_device();
    const Device* device = name.empty() ? session_->devices().front() : session_->FindDevice(name);
    if (device == nullptr) {
      std::vector<std::string> names;
      for (const Device* known : session_->devices()) names.push_back(known->name());
      return errors::InvalidArgument("Node '", node->name(), "' is placed on ", name,
                                     ", which is not a device of this worker; it has ", absl::StrJoin(names, ", "));
    }
    node->set_assigned_device(device->name());
  }
  return absl::OkStatus();
}

absl::Status RegisteredGraph::FindCommitRole(const Graph& graph) {
  for (const std::string& function : graph.functions().Names()) {
    for (const tensorflow::NodeDef& node : graph.functions().Find(function)->node_def()) {
      if (!absl::StartsWith(node.op(), "_Commit")) continue;
      return errors::InvalidArgument("Node '", node.name(), "' (", node.op(), ") in function ", function,
                                     ": a function takes part in no commit");
    }
  }
  bool relays = false;
  for (const Node* node : graph.nodes()) {
    const bool waits = node->op() == "_CommitWait";
    if (node->op() == "_CommitRelay") {
      relays = true;
      has_transfers_ = true;
    }
    if (!waits && node->op() != "_CommitDecide") continue;
    if (commit_role_) {
      return errors::InvalidArgument("Node '", node->name(), "' (", node->op(),
                                     "): a graph takes part in one commit only");
    }
    CommitRole& role = commit_role_.emplace();
    if (waits) RETURN_IF_ERROR(GetNodeAttr(node->def(), "coordinator", &role.coordinator));
    if (waits && role.coordinator.empty()) {
      return errors::InvalidArgument("Node '", node->name(), "' (_CommitWait) names no coordinator");
    }
    if (waits) {
      std::string key;
      RETURN_IF_ERROR(GetNodeAttr(node->def(), "key", &key));
      ASSIGN_OR_RETURN(const RendezvousKey parsed, RendezvousKey::Parse(key));
      role.coordinator_incarnation = parsed.src_incarnation;
      int64_t decider_incarnation;
      RETURN_IF_ERROR(GetNodeAttr(node->def(), "decider", &role.decider));
      RETURN_IF_ERROR(GetNodeAttr(node->def(), "decider_incarnation", &decider_incarnation));
      role.decider_incarnation = static_cast<uint64_t>(decider_incarnation);
    }
    std::vector<std::string> keys;
    if (!waits) RETURN_IF_ERROR(GetNodeAttr(node->def(), "keys", &keys));
    has_transfers_ = has_transfers_ || waits || !keys.empty();
    has_remote_receives_ = has_remote_receives_ || waits;
  }
  if (!relays) return absl::OkStatus();
  if (!commit_role_ || commit_role_->coordinator.empty()) {
    return errors::InvalidArgument("The graph has a _CommitRelay and no _CommitWait: it has no decision to relay");
  }
  commit_role_->relays = true;
  return absl::OkStatus();
}

absl::Status RegisteredGraph::FindStateUses(const Graph& graph) {
  ASSIGN_OR_RETURN(const bool copies,
                   AsksForCustomOptimizer(args_->request.graph_options().rewrite_options(), kMovesStateOptimizer));
  if (copies) state_uses_->SetCopies();
  if (!session_->options().isolate_state) state_uses_->Add(graph);
  return absl::OkStatus();
}

absl::Status RegisteredGraph::CheckCall(const CallOptions& call) const {
  if (call.cancellation != nullptr && call.cancellation->IsCancelled()) return call.cancellation->status();
  if (call.deadline == absl::InfiniteFuture() || MonotonicNow() < call.deadline) return absl::OkStatus();
  return errors::DeadlineExceeded("RegisterGraph to task ", session_->options().task.TaskName(),
                                  " did not end within its deadline: the graph was not compiled in time");
}

absl::Status RegisteredGraph::Compile(const CallOptions& call, bool with_terminals, std::vector<GraphUnit>* units) {
  RETURN_IF_ERROR(CheckCall(call));
  ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, Import(args_->request.graph_def(), ops_));
  RETURN_IF_ERROR(ExpandFusedOps(graph.get()));
  if (with_terminals) RETURN_IF_ERROR(FindCommitRole(*graph));
  RETURN_IF_ERROR(Place(*graph));
  if (with_terminals) RETURN_IF_ERROR(FindStateUses(*graph));
  absl::flat_hash_map<std::string, bool> devices;
  for (const Node* node : graph->nodes()) devices[node->assigned_device()] = true;
  std::vector<GraphUnit> compiled;
  if (devices.size() <= 1) {
    Device* device = devices.empty() ? session_->devices().front() : session_->FindDevice(devices.begin()->first);
    ASSIGN_OR_RETURN(compiled.emplace_back(), CompileUnit(call, std::move(graph), device, with_terminals));
  } else {
    PartitionOptions options;
    options.location = [](const Node& node) { return node.assigned_device(); };
    options.incarnation = [this](absl::string_view name) {
      const Device* device = session_->FindDevice(name);
      return device == nullptr ? 0 : device->incarnation();
    };
    ASSIGN_OR_RETURN(auto parts, PartitionGraph(options, graph.get()));
    for (auto& [name, def] : parts) {
      ASSIGN_OR_RETURN(std::unique_ptr<Graph> part, Import(std::move(def), ops_));
      RETURN_IF_ERROR(Place(*part));
      ASSIGN_OR_RETURN(compiled.emplace_back(),
                       CompileUnit(call, std::move(part), session_->FindDevice(name), with_terminals));
    }
  }
  *units = std::move(compiled);
  return absl::OkStatus();
}

absl::Status RegisteredGraph::Watch(const Device& device, Graph* graph) const {
  const tensorflow::DebugOptions& options = args_->request.debug_options();
  if (options.debug_tensor_watch_opts().empty()) return absl::OkStatus();
  if (device.type() != kDeviceCpu) {
    return errors::Unimplemented("Tensors on ", device.name(), " cannot be watched, only those on CPUs: place the ",
                                 "nodes there");
  }
  const KernelRegistry& kernels = *session_->options().kernels;
  const auto has_kernel = [&](const tensorflow::NodeDef& node) { return kernels.Find(node, device.type()).status(); };
  RETURN_IF_ERROR(AddDebugNodes(options, device.name(), has_kernel, graph));
  return PublishDebugGraph(*device.file_systems(), WatchUrls(options), device.name(), graph->ToGraphDef());
}

absl::StatusOr<bool> RegisteredGraph::IsDeterministic() const {
  if (session_->options().deterministic) return true;
  return AsksForDeterministicOps(args_->request.graph_options());
}

absl::StatusOr<GraphUnit> RegisteredGraph::CompileUnit(const CallOptions& call, std::unique_ptr<Graph> graph,
                                                       Device* device, bool with_terminals) {
  GraphUnit unit;
  unit.device = device;
  unit.gpu = FindGpu(device);
  if (with_terminals) RETURN_IF_ERROR(Watch(*device, graph.get()));
  RETURN_IF_ERROR(FuseAttention(args_->request.graph_options(), graph.get()));
  if (unit.gpu == nullptr) MarkLoopConstants(graph.get());
  ASSIGN_OR_RETURN(const bool deterministic, IsDeterministic());
  if (deterministic) RETURN_IF_ERROR(CheckDeterministic(unit.gpu));
  LocalFunctionRuntime::Options functions;
  if (session_->options().python) {
    ASSIGN_OR_RETURN(functions.python, session_->options().python(args_->request.graph_options()));
  }
  functions.device = device;
  functions.ops = &ops_;
  functions.library = graph->functions();
  functions.kernels = [kernels = session_->options().kernels, &ops = ops_, device](const Node& node,
                                                                                   FunctionRuntime* runtime) {
    return CreateNodeKernel(*kernels, ops, node, device, runtime);
  };
  functions.prepare = [kernels = session_->options().kernels, device, options = args_->request.graph_options(),
                       deterministic](Graph* body, Plan::Options* plan) {
    RETURN_IF_ERROR(FuseAttention(options, body));
    if (deterministic) RETURN_IF_ERROR(MakeDeterministic(device->name(), body));
    return PrepareMemory(*kernels, device, body, plan);
  };
  unit.functions = std::make_unique<LocalFunctionRuntime>(std::move(functions));

  absl::flat_hash_map<std::string, bool> terminals;
  for (const Node* node : graph->nodes()) {
    if (!node->IsSend() && !node->IsRecv()) continue;
    std::string key = with_terminals ? ClientTerminalKey(*node) : "";
    if (!key.empty()) {
      terminals[std::move(key)] = true;
    } else if (with_terminals) {
      has_transfers_ = true;
      has_remote_receives_ = has_remote_receives_ || IsFromAnotherTask(*node, device->parsed_name());
    }
  }
  unit.feeds = Positions(args_->feed_keys, terminals);
  unit.fetches = Positions(args_->fetch_keys, terminals);
  Plan::Options options;
  options.device = device;
  for (int feed : unit.feeds) options.feed_keys.push_back(args_->feed_keys[feed]);
  for (int fetch : unit.fetches) options.fetch_keys.push_back(args_->fetch_keys[fetch]);
  options.kernels = [this, &call, device,
                     runtime = unit.functions.get()](const Node& node) -> absl::StatusOr<std::shared_ptr<OpKernel>> {
    RETURN_IF_ERROR(CheckCall(call));
    return session_->Kernel(node, ops_, device, runtime);
  };
  if (unit.gpu != nullptr && with_terminals) RETURN_IF_ERROR(Fuse(graph.get()));
  if (deterministic) RETURN_IF_ERROR(MakeDeterministic(device->name(), graph.get()));
  RETURN_IF_ERROR(PrepareMemory(*session_->options().kernels, device, graph.get(), &options));
  if (unit.gpu != nullptr && with_terminals) RETURN_IF_ERROR(Capture(device, unit.gpu, graph.get(), &options));
  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, Plan::Compile(std::move(graph), options));
  RETURN_IF_ERROR(CheckCall(call));
  unit.executor = Executor::Create(std::move(plan));
  RETURN_IF_ERROR(unit.functions->CompileAll());
  return unit;
}

absl::Status RegisteredGraph::Fuse(Graph* graph) const {
  ASSIGN_OR_RETURN(const bool fuses, AsksForFusion(args_->request.graph_options()));
  ASSIGN_OR_RETURN(const bool fuses_updates, AsksForFusedUpdates(args_->request.graph_options()));
  PassManager passes;
  if (fuses_updates) passes.Add(MakeFusedUpdatesPass());
  if (fuses) passes.Add(MakeElementwiseFusionPass(kDeviceGpu));
  return passes.Run({}, graph).status();
}

absl::Status RegisteredGraph::Capture(Device* device, GpuDevice* gpu, Graph* graph, Plan::Options* options) const {
  ASSIGN_OR_RETURN(const std::optional<SegmentOptions> segments, CaptureOptionsOf(args_->request.graph_options()));
  if (!segments.has_value()) return absl::OkStatus();
  return CaptureSegments(*segments, *session_->options().kernels, device, gpu, graph, options);
}

std::vector<tensorflow::GraphDef> RegisteredGraph::PartitionGraphs() const {
  std::vector<tensorflow::GraphDef> graphs;
  for (const GraphUnit& unit : units_) graphs.push_back(unit.executor->plan().graph->ToGraphDef());
  return graphs;
}

}  // namespace weir
