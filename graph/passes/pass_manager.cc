#include "graph/passes/pass_manager.h"

#include "absl/strings/str_join.h"
#include "graph/functions/function_body.h"
#include "graph/graph_import.h"

namespace weir {
namespace {

absl::flat_hash_set<std::string> NodesOf(const std::vector<std::string>& tensors) {
  absl::flat_hash_set<std::string> nodes;
  for (const std::string& tensor : tensors) {
    if (const std::optional<InputRef> ref = ParseInputRef(tensor); ref.has_value()) nodes.emplace(ref->node);
  }
  return nodes;
}

class InlinePass : public Pass {
 public:
  absl::string_view name() const override { return "inline"; }
  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    const int before = graph->num_nodes();
    absl::Status status = InlineFunctionCalls({}, graph);
    *changes = graph->num_nodes() - before;
    return status;
  }
};

}  // namespace

absl::flat_hash_set<std::string> PassContext::KeptNodes() const {
  absl::flat_hash_set<std::string> nodes = NodesOf(fetches);
  nodes.merge(NodesOf(targets));
  return nodes;
}

absl::flat_hash_set<std::string> PassContext::FedNodes() const { return NodesOf(feeds); }

std::unique_ptr<Pass> MakeInlinePass() { return std::make_unique<InlinePass>(); }

PassManager PassManager::Default() {
  PassManager manager;
  manager.Add(MakePrunePass());
  manager.Add(MakeInlinePass());
  manager.Add(MakeConstantFoldingPass());
  manager.Add(MakeCommonSubexpressionPass());
  manager.Add(MakeRemappingPass());
  manager.Add(MakePrunePass());
  return manager;
}

std::vector<std::string> PassManager::Names() const {
  std::vector<std::string> names;
  for (const auto& pass : passes_) names.emplace_back(pass->name());
  return names;
}

absl::Status PassManager::Disable(absl::string_view name) {
  for (const auto& pass : passes_) {
    if (pass->name() != name) continue;
    disabled_.emplace(name);
    return absl::OkStatus();
  }
  return errors::NotFound("There is no pass '", name, "'; there are ", absl::StrJoin(Names(), ", "));
}

absl::StatusOr<std::vector<PassManager::Report>> PassManager::Run(const PassContext& context, Graph* graph) const {
  std::vector<Report> reports;
  for (const auto& pass : passes_) {
    if (disabled_.contains(pass->name())) continue;
    if (check_) RETURN_IF_ERROR(check_());
    Report report;
    report.pass = std::string(pass->name());
    RETURN_IF_ERROR(Annotate(pass->Run(context, graph, &report.changes), absl::StrCat("Pass '", report.pass, "'")));
    report.nodes_after = graph->num_nodes();
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace weir
