#include "client/function_builder.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/ops.h"
#include "client/variables.h"
#include "core/op/attr_value.h"
#include "graph/functions/function_body.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// Converts nodes of a graph to a FunctionDef.
class FunctionWriter {
 public:
  FunctionWriter(std::string name, std::string prefix) : prefix_(std::move(prefix)) {
    def_.mutable_signature()->set_name(std::move(name));
  }

  void AddArgument(const Output& stand_in) {
    const std::string name = absl::StrCat("argument_", def_.signature().input_arg_size());
    auto* argument = def_.mutable_signature()->add_input_arg();
    argument->set_name(name);
    argument->set_type(static_cast<tensorflow::DataType>(stand_in.type()));
    references_[stand_in] = name;
    stand_ins_.insert(stand_in.node());
  }

  // Adds `outside`, unless it was captured before, as an argument.
  void Capture(const Output& outside, InputList* captured) {
    if (references_.contains(outside)) return;
    captured->emplace_back(outside);
    AddArgument(outside);
  }

  absl::Status AddNode(const Node& node) {
    tensorflow::NodeDef* def = def_.add_node_def();
    *def = node.def();
    def->set_name(NameOf(node));
    def->clear_device();
    def->clear_input();
    def->mutable_attr()->erase("_class");
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.input_edge(i);
      if (edge == nullptr) return errors::InvalidArgument("Input ", i, " of '", node.name(), "' is not connected");
      ASSIGN_OR_RETURN(*def->add_input(), Reference(Output(edge->src, edge->src_output)));
    }
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control() && !stand_ins_.contains(edge->src)) def->add_input(absl::StrCat("^", NameOf(*edge->src)));
    }
    if (!node.IsStateful()) return absl::OkStatus();
    def_.mutable_signature()->set_is_stateful(true);
    def_.mutable_signature()->add_control_output(def->name());
    (*def_.mutable_control_ret())[def->name()] = def->name();
    return absl::OkStatus();
  }

  absl::Status AddResult(const Output& result) {
    const std::string name = absl::StrCat("result_", def_.signature().output_arg_size());
    auto* argument = def_.mutable_signature()->add_output_arg();
    argument->set_name(name);
    argument->set_type(static_cast<tensorflow::DataType>(result.type()));
    ASSIGN_OR_RETURN((*def_.mutable_ret())[name], Reference(result));
    return absl::OkStatus();
  }

  const tensorflow::FunctionDef& def() const { return def_; }

 private:
  std::string NameOf(const Node& node) const { return std::string(absl::StripPrefix(node.name(), prefix_)); }

  // "node:argument:index", the form of values in function bodies.
  absl::StatusOr<std::string> Reference(const Output& output) const {
    if (auto found = references_.find(output); found != references_.end()) return found->second;
    int index = output.index();
    for (const auto& argument : output.node()->op_def().output_arg()) {
      DataTypeVector types;
      RETURN_IF_ERROR(ArgTypes(output.node()->def(), argument, &types));
      if (index < static_cast<int>(types.size())) {
        return absl::StrCat(NameOf(*output.node()), ":", argument.name(), ":", index);
      }
      index -= static_cast<int>(types.size());
    }
    return errors::Internal("'", output.name(), "' does not exist");
  }

  const std::string prefix_;
  tensorflow::FunctionDef def_;
  absl::flat_hash_map<Output, std::string> references_;
  absl::flat_hash_set<const Node*> stand_ins_;
};

std::string UniqueFunctionName(const Scope& scope, const std::string& name) {
  const std::string base = absl::StrReplaceAll(scope.UniqueName(absl::StrCat("function_", name)), {{"/", "_"}});
  std::string unique = base;
  for (int i = 1; scope.graph()->functions().Find(unique) != nullptr; ++i) unique = absl::StrCat(base, "_", i);
  return unique;
}

// The ancestors of `roots`; nodes for which `is_end` holds have none.
absl::flat_hash_set<const Node*> Ancestors(std::vector<const Node*> roots,
                                           const std::function<bool(const Node&)>& is_end) {
  absl::flat_hash_set<const Node*> found;
  while (!roots.empty()) {
    const Node* node = roots.back();
    roots.pop_back();
    if (is_end(*node) || !found.insert(node).second) continue;
    for (const Edge* edge : node->in_edges()) roots.push_back(edge->src);
  }
  return found;
}

// Adds the function to the library, and infers its results for arguments of these shapes.
absl::StatusOr<TensorSpecs> AddToLibrary(const tensorflow::FunctionDef& def,
                                         const std::vector<PartialTensorShape>& argument_shapes, Graph* graph) {
  FunctionLibrary library = graph->functions();
  RETURN_IF_ERROR(library.Add(def));
  ASSIGN_OR_RETURN(const FunctionBody body, InstantiateFunction(def, {}, graph->ops(), library));
  ASSIGN_OR_RETURN(const ShapeRefiner shapes, InferShapes(*body.graph, {.arg_shapes = argument_shapes}));
  TensorSpecs results;
  results.types = body.ret_types;
  for (const Node* result : body.rets) {
    const Edge* edge = result->input_edge(0);
    results.shapes.push_back(shapes.shape(*edge->src, edge->src_output));
  }
  RETURN_IF_ERROR(graph->mutable_functions()->Add(def));
  return results;
}

// The part of the graph that a function's body adds. The destructor removes it from the graph.
class Body {
 public:
  Body(const Scope& scope, const std::string& name)
      : graph_(scope.graph()),
        first_(graph_->num_node_ids()),
        variables_(scope.variables().size()),
        scope_(scope.Root().SubScope(scope.name().empty() ? name : absl::StrCat(scope.name(), "/", name))) {}
  ~Body() {
    for (int id = first_; id < graph_->num_node_ids(); ++id) {
      if (graph_->node(id) != nullptr) graph_->RemoveNode(graph_->node(id));
    }
  }

  OutputList MakeArguments(const TensorSpecs& specs) {
    OutputList arguments;
    for (size_t i = 0; i < specs.types.size(); ++i) {
      arguments.push_back(ops::Placeholder(scope_.WithName("argument"), specs.types[i], {.shape = specs.shapes[i]}));
    }
    return arguments;
  }

  absl::Status Check(const OutputList& results) const {
    RETURN_IF_ERROR(scope_.status());
    if (scope_.variables().size() != variables_) {
      return errors::InvalidArgument("The function '", scope_.name(), "' creates a variable: create it outside");
    }
    for (const Output& result : results) {
      if (!result.valid()) return errors::InvalidArgument("A result of '", scope_.name(), "' was never built");
    }
    return absl::OkStatus();
  }

  bool IsOutside(const Node& node) const { return node.id() < first_; }

  // The nodes that the results need, and stateful ones.
  std::vector<const Node*> NodesFor(const OutputList& results, const OutputList& arguments) const {
    std::vector<const Node*> roots;
    for (const Output& result : results) roots.push_back(result.node());
    for (int id = first_; id < graph_->num_node_ids(); ++id) {
      if (graph_->node(id) != nullptr && graph_->node(id)->IsStateful()) roots.push_back(graph_->node(id));
    }
    absl::flat_hash_set<const Node*> stand_ins;
    for (const Output& argument : arguments) stand_ins.insert(argument.node());
    const auto needed =
        Ancestors(std::move(roots), [&](const Node& node) { return IsOutside(node) || stand_ins.contains(&node); });
    std::vector<const Node*> nodes(needed.begin(), needed.end());
    std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    return nodes;
  }

  absl::Status CaptureInputs(const Node& node, FunctionWriter* writer, InputList* captured) const {
    for (const Edge* edge : node.in_edges()) {
      if (!IsOutside(*edge->src)) continue;
      if (edge->is_control()) {
        return errors::InvalidArgument("'", node.name(), "' of a function runs after '", edge->src->name(),
                                       "', which is outside of it");
      }
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.input_edge(i);
      if (edge != nullptr && IsOutside(*edge->src)) writer->Capture(Output(edge->src, edge->src_output), captured);
    }
    return absl::OkStatus();
  }

  const Scope& scope() const { return scope_; }

 private:
  Graph* const graph_;
  const int first_;
  const size_t variables_;
  const Scope scope_;
};

}  // namespace

absl::StatusOr<BuiltFunction> BuildFunction(const Scope& scope, const std::string& name, const TensorSpecs& arguments,
                                            const FunctionBuilder& build) {
  RETURN_IF_ERROR(scope.status());
  Body body(scope, name);
  const OutputList stand_ins = body.MakeArguments(arguments);
  RETURN_IF_ERROR(scope.status());
  const OutputList results = build(body.scope(), stand_ins);
  RETURN_IF_ERROR(body.Check(results));

  BuiltFunction built;
  FunctionWriter writer(UniqueFunctionName(scope, name), absl::StrCat(body.scope().name(), "/"));
  for (const Output& stand_in : stand_ins) writer.AddArgument(stand_in);
  const std::vector<const Node*> nodes = body.NodesFor(results, stand_ins);
  for (const Node* node : nodes) RETURN_IF_ERROR(body.CaptureInputs(*node, &writer, &built.captured));
  for (const Output& result : results) {
    if (body.IsOutside(*result.node())) writer.Capture(result, &built.captured);
  }
  for (const Node* node : nodes) RETURN_IF_ERROR(writer.AddNode(*node));
  for (const Output& result : results) RETURN_IF_ERROR(writer.AddResult(result));
  ASSIGN_OR_RETURN(built.results, AddToLibrary(writer.def(), arguments.shapes, scope.graph()));
  built.function->set_name(writer.def().signature().name());
  return built;
}

absl::StatusOr<BuiltFunction> CopyToFunction(const Scope& scope, const std::string& name, const OutputList& results) {
  RETURN_IF_ERROR(scope.status());
  std::vector<const Node*> roots;
  for (const Output& result : results) {
    if (!result.valid()) return errors::InvalidArgument("A result of '", name, "' was never built");
    roots.push_back(result.node());
  }
  const auto needed = Ancestors(std::move(roots), [](const Node&) { return false; });
  FunctionWriter writer(UniqueFunctionName(scope, name), "");
  for (const Node* node : scope.graph()->nodes()) {
    if (!needed.contains(node)) continue;
    if (node->op() == "Placeholder") {
      return errors::InvalidArgument("'", name, "' depends on '", node->name(), "', which a step would have to feed");
    }
    RETURN_IF_ERROR(writer.AddNode(*node));
  }
  for (const Output& result : results) RETURN_IF_ERROR(writer.AddResult(result));
  BuiltFunction built;
  ASSIGN_OR_RETURN(built.results, AddToLibrary(writer.def(), {}, scope.graph()));
  built.function->set_name(writer.def().signature().name());
  return built;
}

}  // namespace weir
