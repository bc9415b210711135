#include "graph/passes/determinism.h"

#include <algorithm>
#include <vector>

#include "core/flag_variable.h"
#include "core/kernel/determinism.h"
#include "core/op/attr_value.h"
#include "graph/passes/custom_optimizers.h"

namespace weir {
namespace {

// Why a node's results cannot be the same in every run; nullptr: they can.
const char* ReasonAgainst(const Node& node) {
  const std::string& op = node.op();
  if (op == "NonDeterministicInts") return "its results are random by definition: use a stateless random op";
  if (op == "Batch" || op == "BatchFunction") return "calls are batched by the time at which they arrive";
  std::string noise;
  if ((op == "ExtractGlimpse" || op == "ExtractGlimpseV2") && GetNodeAttr(node.def(), "noise", &noise).ok() &&
      noise != "zero") {
    return "its noise has no seed: use noise='zero'";
  }
  return nullptr;
}

absl::Status Unavailable(const Node& node, const std::string& device, const char* reason) {
  return WithOrigin(errors::Unimplemented("When determinism is enabled, op ", node.op(), " of node '", node.name(),
                                          "' cannot run on ", device, ": ", reason),
                    {.device = device, .node = node.name(), .op = node.op()});
}

// Random ops that continue a sequence from run to run.
bool DrawsRandomNumbers(const Node& node) { return node.IsStateful() && node.def().attr().contains("seed"); }

}  // namespace

absl::StatusOr<bool> AsksForDeterministicOps(const tensorflow::GraphOptions& options) {
  return AsksForCustomOptimizer(options.rewrite_options(), kDeterministicOpsOptimizer);
}

void AskForDeterministicOps(tensorflow::ConfigProto* config) {
  tensorflow::RewriterConfig& rewrite = *config->mutable_graph_options()->mutable_rewrite_options();
  const auto is_ours = [](const auto& optimizer) { return optimizer.name() == kDeterministicOpsOptimizer; };
  const auto& asked = rewrite.custom_optimizers();
  if (std::none_of(asked.begin(), asked.end(), is_ours)) {
    rewrite.add_custom_optimizers()->set_name(kDeterministicOpsOptimizer);
  }
}

absl::StatusOr<bool> ReadDeterministicOps(const std::string* value) {
  if (value == nullptr) return false;
  return ParseFlagVariable("TF_DETERMINISTIC_OPS", *value);
}

absl::Status MakeDeterministic(const std::string& device, Graph* graph) {
  const std::vector<Node*> nodes = graph->nodes();
  const bool draws =
      std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return DrawsRandomNumbers(*node); });
  for (Node* node : nodes) {
    if (const char* const reason = ReasonAgainst(*node)) return Unavailable(*node, device, reason);
    SetNodeAttr(kDeterministicAttr, true, node->mutable_def());
    if (draws && node->IsEnter()) SetNodeAttr("parallel_iterations", int64_t{1}, node->mutable_def());
  }
  return absl::OkStatus();
}

}  // namespace weir
