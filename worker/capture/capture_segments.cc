#include "worker/capture/capture_segments.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/gpu/copy_ops.h"
#include "core/gpu/gpu_op_kernel.h"
#include "core/gpu/graph_ops.h"
#include "core/kernel/memory_types.h"
#include "graph/liveness.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"
#include "worker/capture/captured_segment.h"
#include "worker/capture/extract_segment.h"

namespace weir {
namespace {

using Kernels = absl::flat_hash_map<std::string, std::shared_ptr<OpKernel>>;  // by node

bool IsObject(DataType type) { return type == DT_STRING || type == DT_VARIANT || IsRefType(type); }

bool HandlesObjects(const Node& node) {
  for (const auto* types : {&node.input_types(), &node.output_types()}) {
    if (std::any_of(types->begin(), types->end(), IsObject)) return true;
  }
  return std::count(node.output_types().begin(), node.output_types().end(), DT_RESOURCE) > 0;
}

// The role of a node that has no kernel of its own; nullopt: the kernel decides.
std::optional<CaptureRole> RoleWithoutKernel(const Node& node) {
  // Client feeds are available when the step begins.
  if (node.IsRecv()) return ClientTerminalKey(node).empty() ? CaptureRole::kWaits : CaptureRole::kOutside;
  if (node.registration() == nullptr) return CaptureRole::kWaits;  // a call
  if (node.IsControlFlow() || node.IsSend() || node.IsConstant() || node.op() == "ControlTrigger" ||
      node.op() == "_Arg" || node.op() == "_Retval") {
    return CaptureRole::kOutside;
  }
  if (node.op() == "NoOp" || node.op() == "Identity") {
    return HandlesObjects(node) ? CaptureRole::kOutside : CaptureRole::kHost;  // the executor handles these
  }
  return std::nullopt;
}

CaptureRole RoleOf(const Node& node, OpKernel& kernel) {
  if (dynamic_cast<AsyncOpKernel*>(&kernel) != nullptr) {
    return node.op() == kCopyToHost ? CaptureRole::kOutside : CaptureRole::kWaits;
  }
  if (HandlesObjects(node)) return CaptureRole::kOutside;
  if (const auto* enqueues = dynamic_cast<GpuOpKernel*>(&kernel)) {
    // A variable's state is checked before each replay; state inside a kernel would not be.
    const auto& types = node.input_types();
    const bool keeps_state = node.IsStateful() && std::count(types.begin(), types.end(), DT_RESOURCE) == 0;
    return enqueues->CanBeCaptured() && !keeps_state ? CaptureRole::kEnqueues : CaptureRole::kOutside;
  }
  if (node.op() == "AssignVariableOp") return CaptureRole::kEnqueues;  // it writes in place, where it is captured
  return node.op() == "ReadVariableOp" || !node.IsStateful() ? CaptureRole::kHost : CaptureRole::kOutside;
}

bool IsInside(CaptureRole role) { return role == CaptureRole::kHost || role == CaptureRole::kEnqueues; }

// Readers of a reference variable must see its updates, but a segment returns copies. So nodes that pass on such a
// value stay outside.
void LeaveReferencesOutside(const Graph& graph, std::vector<CaptureRole>* roles) {
  std::vector<bool> gives_reference(graph.num_node_ids(), false);
  for (const Node* node : ForwardOrder(graph)) {
    CaptureRole& role = (*roles)[node->id()];
    const bool hands_on = role == CaptureRole::kHost || node->IsControlFlow();
    const auto& edges = node->in_edges();
    gives_reference[node->id()] =
        hands_on && std::any_of(edges.begin(), edges.end(), [&](const Edge* edge) {
          return !edge->is_control() &&
                 (IsRefType(edge->src->output_type(edge->src_output)) || gives_reference[edge->src->id()]);
        });
    if (gives_reference[node->id()] && role == CaptureRole::kHost) role = CaptureRole::kOutside;
  }
}

absl::StatusOr<std::vector<CaptureRole>> FindRoles(const Graph& graph, const Plan::KernelSource& make,
                                                   Kernels* kernels) {
  std::vector<CaptureRole> roles(graph.num_node_ids(), CaptureRole::kOutside);
  for (const Node* node : graph.nodes()) {
    CaptureRole& role = roles[node->id()];
    if (const std::optional<CaptureRole> known = RoleWithoutKernel(*node)) {
      role = *known;
      continue;
    }
    ASSIGN_OR_RETURN(std::shared_ptr<OpKernel> kernel, make(*node));
    role = RoleOf(*node, *kernel);
    kernels->emplace(node->name(), std::move(kernel));
  }
  LeaveReferencesOutside(graph, &roles);
  // A constant with control inputs goes with its readers.
  for (const Node* node : graph.nodes()) {
    if (!node->IsConstant() || HandlesObjects(*node)) continue;
    const bool goes_inside = std::all_of(node->out_edges().begin(), node->out_edges().end(), [&](const Edge* edge) {
      return edge->is_control() || IsInside(roles[edge->dst->id()]);
    });
    if (goes_inside) roles[node->id()] = CaptureRole::kHost;
  }
  return roles;
}

}  // namespace

absl::StatusOr<std::optional<SegmentOptions>> CaptureOptionsOf(const tensorflow::GraphOptions& options) {
  for (const auto& optimizer : options.rewrite_options().custom_optimizers()) {
    if (optimizer.name() != kGpuGraphsOptimizer) continue;
    SegmentOptions wanted;
    for (const auto& [name, value] : optimizer.parameter_map()) {
      int* const parameter = name == "min_kernels" ? &wanted.min_kernels
                             : name == "warm_ups"  ? &wanted.warm_ups
                                                   : nullptr;
      if (parameter == nullptr || value.value_case() != tensorflow::AttrValue::kI || value.i() < 0 ||
          value.i() > INT32_MAX) {
        return errors::InvalidArgument("custom_optimizers: ", kGpuGraphsOptimizer, " has the parameters min_kernels ",
                                       "and warm_ups, ints of 0 or more, not ", name, " = ", value.ShortDebugString());
      }
      *parameter = static_cast<int>(value.i());
    }
    return wanted;
  }
  return std::nullopt;
}

absl::Status CaptureSegments(const SegmentOptions& segments, const KernelRegistry& kernels, Device* device,
                             GpuDevice* gpu, Graph* graph, Plan::Options* options) {
  auto made = std::make_shared<Kernels>();
  ASSIGN_OR_RETURN(const std::vector<CaptureRole> roles, FindRoles(*graph, options->kernels, made.get()));
  options->kernels =
      [made, make = std::move(options->kernels)](const Node& node) -> absl::StatusOr<std::shared_ptr<OpKernel>> {
    const auto found = made->find(node.name());
    if (found != made->end()) return found->second;
    return make(node);
  };
  // A constant read by several segments, or by nodes outside, is stored once.
  auto placed = std::make_shared<absl::flat_hash_map<std::string, Tensor>>();
  options->place_constant = [placed, place = std::move(options->place_constant)](
                                const Node& node, Tensor value) -> absl::StatusOr<Tensor> {
    const auto [known, is_new] = placed->try_emplace(node.name());
    if (is_new) {
      ASSIGN_OR_RETURN(known->second, place(node, std::move(value)));
    }
    return known->second;
  };
  for (const std::vector<Node*>& segment : FindSegments(*graph, roles, segments)) {
    ASSIGN_OR_RETURN(ExtractedSegment extracted, ExtractSegment(kernels, segment, graph));
    Plan::Options body;
    body.device = device;
    body.kernels = options->kernels;
    body.place_constant = options->place_constant;
    body.is_function = true;
    CaptureSource source{.gpu = gpu,
                         .input_is_on_host = std::move(extracted.input_is_on_host),
                         .output_is_on_host = std::move(extracted.output_is_on_host),
                         .name = extracted.node->name(),
                         .warm_ups = segments.warm_ups};
    ASSIGN_OR_RETURN(source.plan, Plan::Compile(std::move(extracted.body), body));
    made->emplace(extracted.node->name(), std::make_shared<CapturedSegment>(std::move(source)));
  }
  return absl::OkStatus();
}

}  // namespace weir
