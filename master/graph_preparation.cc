#include "master/graph_preparation.h"

#include <algorithm>
#include <optional>

#include "core/clock.h"
#include "core/device/device.h"
#include "core/kernel/determinism.h"
#include "core/kernel/op_kernel.h"
#include "core/memory/out_of_memory.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/rendezvous.h"
#include "core/threads/timer_queue.h"
#include "graph/functions/lower_functions.h"
#include "graph/graph_import.h"
#include "graph/passes/custom_optimizers.h"
#include "graph/passes/determinism.h"
#include "graph/passes/fused_updates.h"
#include "graph/passes/mixed_precision.h"

namespace weir {
namespace {

using tensorflow::RewriterConfig;

absl::Status CheckAllAvailable(const Graph& graph) {
  for (const Node* node : graph.nodes()) RETURN_IF_ERROR(CheckAvailable(*node, graph));
  return absl::OkStatus();
}

absl::Status CheckPlaced(const absl::flat_hash_map<std::string, absl::Status>& unplaced, const Graph& graph) {
  if (unplaced.empty()) return absl::OkStatus();
  for (const Node* node : graph.nodes()) {
    if (auto it = unplaced.find(node->name()); it != unplaced.end()) return it->second;
  }
  return absl::OkStatus();
}

struct Switches {
  bool fold = false, merge = false, remap = false, deterministic = false;
  std::vector<MixedPrecisionMode> mixed_precision;
  std::vector<LayoutOptions> layouts;
};

bool IsOn(RewriterConfig::Toggle toggle) {
  return toggle == RewriterConfig::ON || toggle == RewriterConfig::AGGRESSIVE;
}

bool IsAmongOptimizers(const RewriterConfig& rewrite, absl::string_view name) {
  return std::find(rewrite.optimizers().begin(), rewrite.optimizers().end(), name) != rewrite.optimizers().end();
}

// TensorFlow converts by default on GPUs; for Weir, no measurement shows a benefit yet.
std::vector<LayoutOptions> Layouts(const RewriterConfig& rewrite, const LayoutCosts* costs) {
  const bool named = IsAmongOptimizers(rewrite, "layout");
  if (rewrite.disable_meta_optimizer() || (!rewrite.optimizers().empty() && !named)) return {};
  std::vector<LayoutOptions> layouts;
  if (named || IsOn(rewrite.layout_optimizer())) {
    layouts.push_back({.device_type = kDeviceGpu, .costs = costs});
  }
  if (!named && rewrite.layout_optimizer() == RewriterConfig::OFF) return {};
  if (rewrite.cpu_layout_conversion() == RewriterConfig::NHWC_TO_NCHW) {
    layouts.push_back({.device_type = kDeviceCpu});
  } else if (rewrite.cpu_layout_conversion() == RewriterConfig::NCHW_TO_NHWC) {
    layouts.push_back({.device_type = kDeviceCpu, .from = "NCHW", .to = "NHWC"});
  }
  return layouts;
}

absl::StatusOr<std::vector<MixedPrecisionMode>> MixedPrecisionModes(const RewriterConfig& rewrite) {
  ASSIGN_OR_RETURN(const bool bfloat16_on_gpu,
                   AsksForCustomOptimizer(rewrite, MixedPrecisionModeName(MixedPrecisionMode::kBfloat16OnGpu)));
  if (rewrite.disable_meta_optimizer()) return std::vector<MixedPrecisionMode>();
  const auto asked = [&](RewriterConfig::Toggle toggle, absl::string_view name) {
    return rewrite.optimizers().empty() ? IsOn(toggle) : IsAmongOptimizers(rewrite, name);
  };
  std::vector<MixedPrecisionMode> modes;
  if (asked(rewrite.auto_mixed_precision(), "auto_mixed_precision")) {
    modes.push_back(MixedPrecisionMode::kFloat16OnGpu);
  }
  if (asked(rewrite.auto_mixed_precision_onednn_bfloat16(), "auto_mixed_precision_onednn_bfloat16") ||
      asked(rewrite.auto_mixed_precision_mkl(), "auto_mixed_precision_mkl")) {
    modes.push_back(MixedPrecisionMode::kBfloat16OnCpu);
  }
  if (asked(rewrite.auto_mixed_precision_cpu(), "auto_mixed_precision_cpu")) {
    modes.push_back(MixedPrecisionMode::kFloat16OnCpu);
  }
  if (bfloat16_on_gpu) {
    if (!modes.empty() && modes.front() == MixedPrecisionMode::kFloat16OnGpu) {
      return errors::InvalidArgument("Nodes on GPUs cannot get two types: the session asks for auto_mixed_precision, ",
                                     "which is float16, and for GpuBfloat16");
    }
    modes.push_back(MixedPrecisionMode::kBfloat16OnGpu);
  }
  return modes;
}

absl::StatusOr<Switches> ChoosePasses(const PreparationOptions& options) {
  const tensorflow::OptimizerOptions& optimizer = options.graph_options.optimizer_options();
  const RewriterConfig& rewrite = options.graph_options.rewrite_options();
  const bool all = optimizer.opt_level() == tensorflow::OptimizerOptions::L1;
  Switches on{.fold = all || optimizer.do_constant_folding(),
              .merge = all || optimizer.do_common_subexpression_elimination(),
              .remap = all};
  on.fold = on.fold && rewrite.constant_folding() != RewriterConfig::OFF && !rewrite.disable_meta_optimizer();
  on.merge =
      on.merge && rewrite.common_subgraph_elimination() != RewriterConfig::OFF && !rewrite.disable_meta_optimizer();
  on.remap = on.remap && rewrite.remapping() != RewriterConfig::OFF && !rewrite.disable_meta_optimizer();
  ASSIGN_OR_RETURN(on.deterministic, AsksForDeterministicOps(options.graph_options));
  ASSIGN_OR_RETURN(on.mixed_precision, MixedPrecisionModes(rewrite));
  on.layouts = Layouts(rewrite, options.layout_costs);
  return on;
}

// Covers the graph's own nodes: functions that were not inlined are called, and their nodes are placed elsewhere.
PassManager MakePasses(const Switches& on, const PreparationOptions& options) {
  PassManager passes;
  passes.Add(MakePrunePass());
  if (on.fold) passes.Add(MakeConstantFoldingPass());
  for (MixedPrecisionMode mode : on.mixed_precision) {
    passes.Add(MakeMixedPrecisionPass(
        {.mode = mode, .settings = options.mixed_precision, .kernels = options.placement.kernels}));
  }
  for (const LayoutOptions& layout : on.layouts) passes.Add(MakeLayoutPass(layout));
  // Folds constants that were cast or permuted.
  if (on.fold && !(on.mixed_precision.empty() && on.layouts.empty())) passes.Add(MakeConstantFoldingPass());
  if (on.merge) passes.Add(MakeCommonSubexpressionPass());
  if (on.remap) {
    passes.Add(MakeRemappingPass());
    passes.Add(MakeBatchNormPass());
  }
  passes.Add(MakePrunePass());
  return passes;
}

// A step over one node.
class Evaluation {
 public:
  Evaluation(Device* device, CancellationManager* cancellation) : container_(0, device) {
    step_.device = device;
    step_.cancellation = cancellation;
    step_.step_container = &container_;
  }

  absl::StatusOr<std::vector<Tensor>> Run(OpKernel& kernel, const tensorflow::NodeDef& node, DataTypeVector types,
                                          absl::Span<const Tensor> inputs) {
    std::vector<Tensor> held(inputs.begin(), inputs.end());
    std::vector<TensorValue> values;
    for (Tensor& tensor : held) values.push_back({&tensor, nullptr});
    std::vector<OpOutput> outputs(types.size());
    OpKernelContext context(&step_, &node, values, types, absl::MakeSpan(outputs));
    RETURN_IF_ERROR(OrOutOfMemory([&] { return kernel.Compute(context); }));
    std::vector<Tensor> results;
    for (OpOutput& output : outputs) {
      if (!output.has_value || output.ref != nullptr) return errors::Unimplemented("Not a value");
      results.push_back(std::move(output.value));
    }
    return results;
  }

 private:
  StepContainer container_;
  StepContext step_;
};

// Cancels after a time limit.
class TimeLimit {
 public:
  TimeLimit(TimerQueue* timers, absl::Duration limit) : timers_(timers) {
    if (timers_ == nullptr) return;
    token_ = timers_->Schedule(MonotonicNow() + limit,
                               [this] { over_.StartCancel(errors::DeadlineExceeded("Folding took too long")); });
  }
  ~TimeLimit() {
    if (timers_ != nullptr) timers_->Cancel(token_);
  }
  TimeLimit(const TimeLimit&) = delete;

  CancellationManager* over() { return &over_; }

 private:
  TimerQueue* const timers_;
  CancellationManager over_;
  TimerQueue::Token token_;
};

}  // namespace

Evaluator MakeEvaluator(const KernelRegistry* kernels, const OpRegistry* ops, Device* device,
                        CancellationManager* cancellation, bool deterministic) {
  return [=](const tensorflow::NodeDef& given, absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    RETURN_IF_ERROR(cancellation->status());
    tensorflow::NodeDef node = given;
    if (deterministic) SetNodeAttr(kDeterministicAttr, true, &node);
    ASSIGN_OR_RETURN(const tensorflow::OpDef* op_def, ops->LookUp(node.op()));
    DataTypeVector input_types, output_types;
    RETURN_IF_ERROR(InOutTypesForNode(node, *op_def, &input_types, &output_types));
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, CreateKernel(*kernels, node, *op_def, device, nullptr));
    if (dynamic_cast<AsyncOpKernel*>(kernel.get()) != nullptr) {
      return errors::Unimplemented("Op ", node.op(), " may wait for others");
    }
    return Evaluation(device, cancellation).Run(*kernel, node, std::move(output_types), inputs);
  };
}

absl::Status PrepareGraph(const PreparationOptions& options,
                          const absl::flat_hash_map<std::string, absl::Status>& unplaced, Graph* graph) {
  RETURN_IF_ERROR(CheckAllAvailable(*graph));
  const auto check = [&] { return options.check ? options.check() : absl::OkStatus(); };
  RETURN_IF_ERROR(check());
  LowerOptions lowering{.check = options.check};
  for (const DeviceName& device : options.placement.devices) lowering.devices.push_back(device.ToString());
  ASSIGN_OR_RETURN(const bool has_new_nodes, LowerFunctions(lowering, graph));
  RETURN_IF_ERROR(CheckPlaced(has_new_nodes ? PlaceGraph(options.placement, graph) : unplaced, *graph));
  if (options.place_anew) RETURN_IF_ERROR(options.place_anew(graph));

  RETURN_IF_ERROR(check());
  ASSIGN_OR_RETURN(const Switches on, ChoosePasses(options));
  PassManager passes = MakePasses(on, options);
  passes.CheckBetween(options.check);
  ASSIGN_OR_RETURN(const bool fuses_updates, AsksForFusedUpdates(options.graph_options));
  if (fuses_updates) passes.Add(MakeUpdateGroupsPass());
  std::optional<TimeLimit> limit;
  PassContext context;
  context.targets = options.kept;
  if (on.fold && options.fold_on != nullptr) {
    // A time limit would make the folded graph depend on the speed of the machine.
    limit.emplace(on.deterministic ? nullptr : options.timers, options.fold_for);
    context.evaluate =
        MakeEvaluator(options.placement.kernels, &graph->ops(), options.fold_on, limit->over(), on.deterministic);
  }
  const int64_t most_bytes = options.graph_options.optimizer_options().max_folded_constant_in_bytes();
  if (most_bytes > 0) context.max_constant_bytes = most_bytes;
  return passes.Run(context, graph).status();
}

}  // namespace weir
