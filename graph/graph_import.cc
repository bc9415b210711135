#include "graph/graph_import.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/function_library.h"
#include "graph/graph.h"

namespace weir {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::VersionDef;

bool IsBackEdge(const Edge& edge) { return !edge.is_control() && edge.src->IsNextIteration() && edge.dst->IsMerge(); }

absl::Status CheckVersions(const VersionDef& versions) {
  if (versions.producer() < 0) {
    return errors::InvalidArgument("GraphDef producer version ", versions.producer(),
                                   " below min producer 0. Please regenerate your graph.");
  }
  if (versions.min_consumer() > kGraphDefVersion) {
    return errors::InvalidArgument("GraphDef min consumer version ", versions.min_consumer(), " above current version ",
                                   kGraphDefVersion, ". Please upgrade this server.");
  }
  for (int bad : versions.bad_consumers()) {
    if (bad == kGraphDefVersion) {
      return errors::InvalidArgument("GraphDef disallows consumer version ", bad, ". Please upgrade this server.");
    }
  }
  return absl::OkStatus();
}

// One import. Run leaves the graph partly changed if it fails; the caller rolls back.
class Importer {
 public:
  Importer(const ImportOptions& options, GraphDef def, Graph* graph)
      : options_(options), def_(std::move(def)), graph_(graph), first_new_id_(graph->num_node_ids()) {}

  absl::Status Run() {
    if (def_.node_size() > options_.max_nodes) {
      return errors::InvalidArgument("GraphDef has ", def_.node_size(), " nodes; at most ", options_.max_nodes,
                                     " are allowed");
    }
    RETURN_IF_ERROR(MergeVersions());
    RETURN_IF_ERROR(AddFunctions());
    RETURN_IF_ERROR(CheckNames());
    RETURN_IF_ERROR(AddNodes());
    for (size_t i = 0; i < nodes_.size(); ++i) RETURN_IF_ERROR(ConnectInputs(nodes_[i], inputs_[i]));
    return CheckCycles();
  }

  void RollBack() {
    for (int id = graph_->num_node_ids() - 1; id >= first_new_id_; --id) {
      if (Node* node = graph_->node(id); node != nullptr) graph_->RemoveNode(node);
    }
  }

 private:
  using Inputs = google::protobuf::RepeatedPtrField<std::string>;

  absl::Status MergeVersions();
  absl::Status AddFunctions();
  absl::Status CheckNames();
  absl::Status AddNodes();
  absl::Status CheckOp(const NodeDef& node) const;
  void DropUnknownAttrs(NodeDef* node) const;
  absl::Status ConnectInputs(Node* node, const Inputs& inputs);
  absl::Status CheckCycles() const;
  std::string DescribeCycle(const std::vector<int>& pending) const;

  std::string Prefixed(absl::string_view name) const {
    return options_.prefix.empty() ? std::string(name) : absl::StrCat(options_.prefix, "/", name);
  }

  const ImportOptions& options_;
  GraphDef def_;
  Graph* const graph_;
  const int first_new_id_;
  // Parallel arrays: the new nodes and their inputs. Names are those of `def_`, without the prefix.
  std::vector<Node*> nodes_;
  std::vector<Inputs> inputs_;
  absl::flat_hash_map<std::string, Node*> by_name_;
};

absl::Status Importer::MergeVersions() {
  VersionDef added = def_.versions();
  if (added.producer() == 0) added.set_producer(options_.default_producer);
  RETURN_IF_ERROR(CheckVersions(added));
  VersionDef* versions = graph_->mutable_versions();
  if (graph_->num_nodes() == 0) {
    *versions = added;
    return absl::OkStatus();
  }
  if (versions->producer() != added.producer()) {
    return errors::InvalidArgument("Can't extend GraphDef at version ", versions->producer(), " with graph at version ",
                                   added.producer());
  }
  versions->set_min_consumer(std::max(versions->min_consumer(), added.min_consumer()));
  for (int bad : added.bad_consumers()) {
    const auto& known = versions->bad_consumers();
    if (std::find(known.begin(), known.end(), bad) == known.end()) versions->add_bad_consumers(bad);
  }
  return absl::OkStatus();
}

absl::Status Importer::AddFunctions() {
  for (const auto& function : def_.library().function()) {
    if (graph_->ops().Find(function.signature().name()) != nullptr) {
      return errors::InvalidArgument("Cannot add function '", function.signature().name(),
                                     "' because an op with the same name already exists.");
    }
  }
  return graph_->mutable_functions()->AddLibrary(def_.library());
}

absl::Status Importer::CheckNames() {
  by_name_.reserve(def_.node_size());
  for (const NodeDef& node : def_.node()) {
    if (!IsValidNodeName(node.name(), options_.allow_internal_ops)) {
      return errors::InvalidArgument("Node '", node.name(), "': Node name contains invalid characters");
    }
    if (!by_name_.emplace(node.name(), nullptr).second) {
      return errors::InvalidArgument("Node '", node.name(), "' is not unique");
    }
    if (graph_->FindNode(Prefixed(node.name())) != nullptr) {
      return errors::InvalidArgument("GraphDef argument to Extend includes node '", Prefixed(node.name()),
                                     "', which was created by a previous call to Create or Extend in this session.");
    }
  }
  return absl::OkStatus();
}

absl::Status Importer::CheckOp(const NodeDef& node) const {
  if (options_.allow_internal_ops || !absl::StartsWith(node.op(), "_")) return absl::OkStatus();
  return errors::InvalidArgument("Node '", node.name(), "': op ", node.op(),
                                 " is internal; graphs from clients may not have it");
}

void Importer::DropUnknownAttrs(NodeDef* node) const {
  const OpRegistration* registration = graph_->ops().Find(node->op());
  const tensorflow::OpDef* op =
      registration != nullptr ? registration->op_def.get() : graph_->functions().FindSignature(node->op());
  if (op == nullptr) return;
  for (auto it = node->mutable_attr()->begin(); it != node->mutable_attr()->end();) {
    const bool is_known =
        absl::StartsWith(it->first, "_") ||
        std::any_of(op->attr().begin(), op->attr().end(), [&](const auto& attr) { return attr.name() == it->first; });
    it = is_known ? std::next(it) : node->mutable_attr()->erase(it);
  }
}

absl::Status Importer::AddNodes() {
  nodes_.reserve(def_.node_size());
  inputs_.resize(def_.node_size());
  for (int i = 0; i < def_.node_size(); ++i) {
    NodeDef& def = *def_.mutable_node(i);
    inputs_[i].Swap(def.mutable_input());
    Node*& node = by_name_[def.name()];
    if (!options_.prefix.empty()) {
      def.set_name(Prefixed(def.name()));
      if (auto it = def.mutable_attr()->find("_class"); it != def.mutable_attr()->end()) {
        for (std::string& s : *it->second.mutable_list()->mutable_s()) {
          absl::string_view peer = s;
          if (absl::ConsumePrefix(&peer, "loc:@")) s = absl::StrCat("loc:@", Prefixed(peer));
        }
      }
    }
    RETURN_IF_ERROR(CheckOp(def));
    if (options_.from_any_producer) DropUnknownAttrs(&def);
    ASSIGN_OR_RETURN(node, graph_->AddNode(std::move(def)));
    if (!options_.from_any_producer) RETURN_IF_ERROR(CheckAvailable(*node, *graph_));
    nodes_.push_back(node);
  }
  return absl::OkStatus();
}

absl::Status Importer::ConnectInputs(Node* node, const Inputs& inputs) {
  int slot = 0;
  bool controls = false;
  for (const std::string& input : inputs) {
    const std::optional<InputRef> ref = ParseInputRef(input);
    if (!ref.has_value()) {
      return errors::InvalidArgument("Node '", node->name(), "': Malformed input '", input,
                                     "'; expected 'name', 'name:output' or '^name'");
    }
    auto it = by_name_.find(ref->node);
    Node* src = it != by_name_.end() ? it->second : graph_->FindNode(ref->node);
    if (src == nullptr) {
      return errors::InvalidArgument("Node '", node->name(), "': Unknown input node '", ref->node, "'");
    }
    if (ref->output == Edge::kControlSlot) {
      controls = true;
      graph_->AddControlEdge(src, node);
      continue;
    }
    if (controls) {
      return errors::InvalidArgument("Node '", node->name(), "': Control dependencies must come after regular ",
                                     "dependencies, but '", input, "' follows one");
    }
    if (slot < node->num_inputs()) RETURN_IF_ERROR(graph_->AddEdge(src, ref->output, node, slot).status());
    ++slot;
  }
  if (slot == node->num_inputs()) return absl::OkStatus();
  return errors::InvalidArgument("NodeDef expected inputs '", DataTypeListName(node->input_types()), "' do not match ",
                                 slot, " inputs specified; Op ", node->op(), "; NodeDef: {{node ", node->name(), "}}");
}

// Existing nodes have no inputs from new ones, so only new nodes can be in a new cycle.
absl::Status Importer::CheckCycles() const {
  std::vector<int> pending(nodes_.size(), 0);
  std::vector<const Node*> ready;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const Edge* edge : nodes_[i]->in_edges()) {
      if (edge->src->id() >= first_new_id_ && !IsBackEdge(*edge)) ++pending[i];
    }
    if (pending[i] == 0) ready.push_back(nodes_[i]);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const Node* node = ready.back();
    ready.pop_back();
    for (const Edge* edge : node->out_edges()) {
      if (!IsBackEdge(*edge) && --pending[edge->dst->id() - first_new_id_] == 0) ready.push_back(edge->dst);
    }
  }
  if (done == nodes_.size()) return absl::OkStatus();
  return errors::InvalidArgument(nodes_.size() - done, " nodes in a cycle: ", DescribeCycle(pending),
                                 ". Only an edge from NextIteration to Merge may close a cycle.");
}

std::string Importer::DescribeCycle(const std::vector<int>& pending) const {
  // Every pending node has a pending input: walking back through these must revisit a node.
  const Node* node =
      *std::find_if(nodes_.begin(), nodes_.end(), [&](const Node* n) { return pending[n->id() - first_new_id_] > 0; });
  absl::flat_hash_map<const Node*, size_t> position;
  std::vector<const Node*> path;
  while (position.emplace(node, path.size()).second) {
    path.push_back(node);
    for (const Edge* edge : node->in_edges()) {
      const int id = edge->src->id();
      if (id < first_new_id_ || IsBackEdge(*edge) || pending[id - first_new_id_] == 0) continue;
      node = edge->src;
      break;
    }
  }
  constexpr size_t kMaxNames = 10;
  std::vector<std::string> names = {node->name()};
  const size_t start = position[node];
  for (size_t i = path.size(); i-- > start && names.size() <= kMaxNames;) names.push_back(path[i]->name());
  if (path.size() - start > kMaxNames) names.push_back("...");
  return absl::StrJoin(names, " -> ");
}

}  // namespace

bool IsValidNodeName(absl::string_view name, bool allow_internal) {
  if (name.empty()) return false;
  auto is_inner = [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == '>';
  };
  const bool good_start = absl::ascii_isalnum(name[0]) || name[0] == '.' || (allow_internal && name[0] == '_');
  return good_start && std::all_of(name.begin() + 1, name.end(), is_inner);
}

std::optional<InputRef> ParseInputRef(absl::string_view input) {
  InputRef ref;
  if (absl::ConsumePrefix(&input, "^")) ref.output = Edge::kControlSlot;
  ref.node = input;
  const size_t colon = input.rfind(':');
  if (colon != absl::string_view::npos) {
    const absl::string_view digits = input.substr(colon + 1);
    const bool all_digits = !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
    if (ref.output == Edge::kControlSlot || !all_digits || !absl::SimpleAtoi(digits, &ref.output)) return std::nullopt;
    ref.node = input.substr(0, colon);
  }
  if (ref.node.empty()) return std::nullopt;
  return ref;
}

absl::Status CheckAvailable(const Node& node, const Graph& graph) {
  const tensorflow::OpDef& op = node.op_def();
  const int producer = graph.versions().producer();
  if (!op.has_deprecation() || producer < op.deprecation().version()) return absl::OkStatus();
  return WithOrigin(errors::Unimplemented("Op ", op.name(), " is not available in GraphDef version ", producer,
                                          ". It has been removed in version ", op.deprecation().version(), ". ",
                                          op.deprecation().explanation(), "."),
                    {.node = node.name(), .op = node.op()});
}

absl::Status ImportGraphDef(const ImportOptions& options, GraphDef def, Graph* graph) {
  const FunctionLibrary functions = graph->functions();
  const VersionDef versions = graph->versions();
  Importer importer(options, std::move(def), graph);
  absl::Status status = importer.Run();
  if (!status.ok()) {
    importer.RollBack();
    *graph->mutable_functions() = functions;
    *graph->mutable_versions() = versions;
  }
  return status;
}

}  // namespace weir
