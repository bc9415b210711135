#include "graph/spmd/partitioner.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "graph/shapes/shape_refiner.h"
#include "graph/spmd/choose_sharding.h"
#include "graph/spmd/mesh_assignment.h"
#include "graph/spmd/row_ops.h"
#include "graph/spmd/static_shapes.h"
#include "graph/spmd/tensor_table.h"

namespace weir {
namespace {

using spmd::Choice;
using spmd::Emitter;
using spmd::MeshAssignment;
using spmd::Operand;
using spmd::OpRule;
using spmd::Sharding;
using spmd::TensorTable;
using spmd::Value;

// The nodes that replace a node of the old graph: one per device of its mesh, or one.
struct Emitted {
  int mesh = MeshAssignment::kNone;
  std::vector<std::vector<Node*>> on;
};

bool HasReferences(const Node& node) {
  const auto is_ref = [](DataType type) { return IsRefType(type); };
  return std::any_of(node.input_types().begin(), node.input_types().end(), is_ref) ||
         std::any_of(node.output_types().begin(), node.output_types().end(), is_ref);
}

class Partitioner {
 public:
  Partitioner(const PassContext& context, const Graph& graph, MeshAssignment assignment, ShapeRefiner shapes)
      : graph_(graph),
        assignment_(std::move(assignment)),
        shapes_(std::move(shapes), context.FedNodes()),
        kept_(context.KeptNodes()),
        fed_(context.FedNodes()),
        result_(std::make_unique<Graph>(&graph.ops())),
        emitter_(result_.get()),
        table_(&assignment_.meshes, &emitter_),
        emitted_(graph.num_node_ids()) {
    *result_->mutable_functions() = graph.functions();
    *result_->mutable_versions() = graph.versions();
  }

  absl::StatusOr<std::unique_ptr<Graph>> Run() {
    const std::vector<Node*> order = TopologicalOrder(graph_);
    for (const Node* node : order) {
      absl::Status status = Emit(*node);
      if (status.ok()) status = emitter_.status();
      if (!status.ok()) return Annotate(status, absl::StrCat("Node '", node->name(), "' (", node->op(), ")"));
    }
    for (const Node* node : order) ConnectControl(*node);
    for (const std::string& name : kept_) {
      if (const Node* node = graph_.FindNode(name); node != nullptr) Keep(*node);
    }
    RETURN_IF_ERROR(emitter_.status());
    return std::move(result_);
  }

 private:
  const Mesh& MeshOf(const Node& node) const { return assignment_.meshes[assignment_.mesh_of[node.id()]]; }
  int MeshIndex(const Node& node) const { return assignment_.mesh_of[node.id()]; }

  absl::Status Emit(const Node& node) {
    if (node.IsControlFlow()) {
      return errors::Unimplemented("Meshes do not support Switch and Merge; use If and While, or run without a mesh");
    }
    emitted_[node.id()].mesh = MeshIndex(node);
    if (MeshIndex(node) == MeshAssignment::kNone || fed_.contains(node.name()) ||
        absl::StartsWith(node.op(), "Placeholder")) {
      return EmitOnce(node);
    }
    if (HasReferences(node)) {
      return errors::Unimplemented("Meshes do not support reference variables; use resource variables");
    }
    if (node.op() == "VarHandleOp") return EmitVariable(node);
    if (node.op() == "VarIsInitializedOp") return EmitIsInitialized(node);
    const spmd::RuleFn rule = spmd::OpRules::All().Find(node);
    if (rule != nullptr) {
      spmd::RuleContext context{node, {}, {}, {}};
      if (shapes_.Describe(node, &context)) {
        if (std::optional<OpRule> found = rule(context); found) return EmitByRule(node, *found, context);
      }
    }
    RETURN_IF_ERROR(CheckNoVariables(node));
    return node.IsStateful() && node.op() != "NoOp" ? EmitOnce(node) : EmitEverywhere(node);
  }

  absl::Status CheckNoVariables(const Node& node) const {
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output old(node.input_edge(i)->src, node.input_edge(i)->src_output);
      if (node.input_type(i) != DT_RESOURCE || table_.Get(old).mesh < 0) continue;
      return errors::Unimplemented(
          "It has no sharding rule for the variable '", old.node()->name(),
          "', which is on a mesh, with these shapes; assign it a device to keep it out of the mesh");
    }
    return absl::OkStatus();
  }

  // The requested sharding of output i; nullopt if there is none.
  absl::StatusOr<std::optional<Sharding>> Wanted(const Node& node, int i) const {
    const auto& layouts = assignment_.layouts[node.id()];
    if (i >= static_cast<int>(layouts.size()) || !layouts[i]) return std::optional<Sharding>();
    TensorShape shape;
    if (!shapes_.Find(node, i, &shape)) {
      return errors::InvalidArgument("It has a layout, but its shape is not known: give the inputs static shapes");
    }
    ASSIGN_OR_RETURN(Sharding sharding, spmd::ShardingOf(*layouts[i], shape));
    return std::optional<Sharding>(std::move(sharding));
  }

  tensorflow::NodeDef DefOn(const Node& node, const std::string& name, const std::string& device) const {
    tensorflow::NodeDef def = node.def();
    def.set_name(result_->UniqueName(name));
    def.set_device(device);
    for (const char* attr : {kLayoutAttr, kMeshAttr, "_output_shapes"}) def.mutable_attr()->erase(attr);
    if (MeshIndex(node) >= 0) def.mutable_attr()->erase("_class");
    return def;
  }

  std::string NameOn(const Node& node, int i) const { return absl::StrCat(node.name(), "/device_", i); }

  // Emits one node with the old name: placeholders, feeds, state other than variables, and nodes without a mesh.
  absl::Status EmitOnce(const Node& node) {
    std::vector<Output> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      inputs.push_back(table_.Whole(Output(node.input_edge(i)->src, node.input_edge(i)->src_output)));
    }
    RETURN_IF_ERROR(emitter_.status());
    const bool on_mesh = MeshIndex(node) >= 0;
    Node* const once = emitter_.AddNode(
        DefOn(node, node.name(), on_mesh ? MeshOf(node).devices()[0] : node.requested_device()), inputs);
    RETURN_IF_ERROR(emitter_.status());
    emitted_[node.id()] = {MeshAssignment::kNone, {{once}}};
    for (int i = 0; i < node.num_outputs(); ++i) {
      Value value;
      value.single = Output(once, i);
      value.has_shape = shapes_.FindRank(node, i, &value.shape);
      table_.Set(OldOutput(node, i), value);
      ASSIGN_OR_RETURN(const std::optional<Sharding> wanted, Wanted(node, i));
      if (!wanted) continue;
      value.mesh = MeshIndex(node);
      value.parts = {table_.On(OldOutput(node, i), value.mesh, *wanted), *wanted};
      table_.Set(OldOutput(node, i), value);
    }
    return absl::OkStatus();
  }

  static Output OldOutput(const Node& node, int i) { return Output(const_cast<Node*>(&node), i); }

  absl::Status EmitVariable(const Node& node) {
    Value value;
    value.mesh = MeshIndex(node);
    value.has_shape = shapes_.Find(node, 0, &value.shape);
    ASSIGN_OR_RETURN(const std::optional<Sharding> wanted, Wanted(node, 0));
    value.parts.sharding = wanted ? *wanted : Sharding::Replicated(value.has_shape ? value.shape.dims() : 0);
    const std::vector<std::string>& devices = MeshOf(node).devices();
    for (int i = 0; i < MeshOf(node).size(); ++i) {
      tensorflow::NodeDef def = DefOn(node, NameOn(node, i), devices[i]);
      if (value.has_shape) {
        SetNodeAttr("shape", PartialTensorShape(LocalShape(MeshOf(node), value.parts.sharding, value.shape)), &def);
      }
      // The name under which sessions share it must not depend on the node's new name.
      if (std::string shared; !GetNodeAttr(def, "shared_name", &shared).ok() || shared.empty()) {
        SetNodeAttr("shared_name", node.name(), &def);
      }
      AddPart(node, emitter_.AddNode(std::move(def), {}), &value);
    }
    table_.Set(OldOutput(node, 0), std::move(value));
    return absl::OkStatus();
  }

  // Emitted on all devices.
  absl::Status EmitIsInitialized(const Node& node) {
    const Edge& edge = *node.input_edge(0);
    const Output handle(edge.src, edge.src_output);
    if (table_.Get(handle).mesh < 0) return EmitOnce(node);
    const std::vector<Output> handles = table_.Get(handle).parts.on;
    const std::vector<std::string>& devices = MeshOf(node).devices();
    InputList answers;
    Value value;
    for (int i = 0; i < MeshOf(node).size(); ++i) {
      AddPart(node, emitter_.AddNode(DefOn(node, NameOn(node, i), devices[i]), {handles[i]}), &value);
      answers.emplace_back(value.parts.on[i]);
    }
    const Output list = emitter_.Add(absl::StrCat("spmd/", node.name(), "/pack"), devices[0], "Pack", {answers});
    value.single = emitter_.Add(absl::StrCat("spmd/", node.name(), "/all"), devices[0], "All",
                                {{list}, {emitter_.Int(devices[0], 0)}});
    value.has_shape = true;
    table_.Set(OldOutput(node, 0), std::move(value));
    return absl::OkStatus();
  }

  void AddPart(const Node& node, Node* part, Value* value) {
    value->parts.on.emplace_back(part, 0);
    emitted_[node.id()].on.push_back({part});
  }

  // Every device computes the whole result.
  absl::Status EmitEverywhere(const Node& node) {
    Choice choice;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Value& value = table_.Get(Output(node.input_edge(i)->src, node.input_edge(i)->src_output));
      choice.inputs.push_back(Sharding::Replicated(value.has_shape ? value.shape.dims() : 0));
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      choice.outputs.push_back(Sharding::Replicated(shapes_.RankOf(node, i)));
    }
    return EmitParts(node, OpRule(), choice);
  }

  absl::Status EmitByRule(const Node& node, const OpRule& rule, const spmd::RuleContext& context) {
    const int mesh = MeshIndex(node);
    std::vector<Operand> operands;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output old(node.input_edge(i)->src, node.input_edge(i)->src_output);
      if (node.input_type(i) == DT_RESOURCE && table_.Get(old).mesh != mesh) {
        return table_.Get(old).mesh < 0 ? EmitOnce(node)
                                        : errors::InvalidArgument("It works on variables of different meshes; '",
                                                                  old.node()->name(), "' is not on its own");
      }
      operands.push_back({table_.Offer(old, mesh), node.input_type(i) == DT_RESOURCE});
    }
    std::vector<std::optional<Sharding>> wanted(node.num_outputs());
    for (int i = 0; i < node.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(wanted[i], Wanted(node, i));
    }
    ASSIGN_OR_RETURN(const Choice choice, spmd::ChooseSharding(MeshOf(node), rule, context, operands, wanted));
    return EmitParts(node, rule, choice);
  }

  absl::Status EmitParts(const Node& node, const OpRule& rule, const Choice& choice) {
    const int mesh = MeshIndex(node);
    std::vector<std::vector<Output>> inputs;  // by input, then by device
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output old(node.input_edge(i)->src, node.input_edge(i)->src_output);
      inputs.push_back(table_.On(old, mesh, choice.inputs[i]));
    }
    RETURN_IF_ERROR(emitter_.status());
    std::vector<Value> values(node.num_outputs());
    for (int i = 0; i < node.num_outputs(); ++i) {
      values[i].mesh = mesh;
      values[i].has_shape = shapes_.FindRank(node, i, &values[i].shape);
      values[i].parts.sharding = choice.outputs[i];
    }
    const bool splits_rows = rule.rows && choice.axis_of[0] != spmd::kWhole;
    for (int device = 0; device < MeshOf(node).size(); ++device) {
      std::vector<Output> mine;
      for (const auto& input : inputs) mine.push_back(input[device]);
      if (splits_rows) {
        RETURN_IF_ERROR(SelectRows(node, rule, choice, device, &mine));
      }
      RETURN_IF_ERROR(EmitPart(node, rule, choice, device, splits_rows, std::move(mine), &values));
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(const std::optional<Sharding> wanted, Wanted(node, i));
      if (wanted && !(*wanted == values[i].parts.sharding)) {
        values[i].parts = table_.Reshard(absl::StrCat("spmd/", node.name()), mesh, std::move(values[i].parts), *wanted,
                                         values[i].shape);
      }
      table_.Set(OldOutput(node, i), std::move(values[i]));
    }
    return absl::OkStatus();
  }

  spmd::RowPart RowsOf(const Node& node, const OpRule& rule, const Choice& choice, int device) const {
    const Mesh& mesh = MeshOf(node);
    const int axis = choice.axis_of[0], indices = rule.rows->indices;
    const int64_t total = shapes_.OfInput(node, 0).dim_size(0), size = total / mesh.axes()[axis].size;
    const TensorShape local = LocalShape(mesh, choice.inputs[indices], shapes_.OfInput(node, indices));
    return {.name = absl::StrCat("spmd/", node.name()),
            .device = mesh.devices()[device],
            .first = mesh.Coordinate(device, axis) * size,
            .size = size,
            .total = total,
            // The number of rows need not be known.
            .index_dims = local.dims() == 1 ? std::vector<int64_t>{-1}
                                            : std::vector<int64_t>(local.dim_sizes().begin(), local.dim_sizes().end())};
  }

  absl::Status SelectRows(const Node& node, const OpRule& rule, const Choice& choice, int device,
                          std::vector<Output>* inputs) {
    const spmd::RowPart part = RowsOf(node, rule, choice, device);
    Output& indices = (*inputs)[rule.rows->indices];
    const spmd::LocalRows rows = spmd::FindLocalRows(part, indices, &emitter_);
    indices = rows.indices;
    held_ = rows.is_here;
    if (rule.rows->updates >= 0) {
      Output& updates = (*inputs)[rule.rows->updates];
      updates = spmd::ZeroOtherRows(part, updates, held_, shapes_.OfInput(node, rule.rows->updates).dims(), &emitter_);
    }
    return emitter_.status();
  }

  absl::Status EmitPart(const Node& node, const OpRule& rule, const Choice& choice, int device, bool splits_rows,
                        std::vector<Output> inputs, std::vector<Value>* values) {
    const Mesh& mesh = MeshOf(node);
    const std::string& on = mesh.devices()[device];
    for (const auto& [input, output] : rule.shape_inputs) {
      const TensorShape local = LocalShape(mesh, choice.outputs[output], (*values)[output].shape);
      const std::vector<int64_t> dims(local.dim_sizes().begin(), local.dim_sizes().end());
      inputs[input] = emitter_.Vector(on, dims, node.input_type(input));
    }
    Node* const part = emitter_.AddNode(DefOn(node, NameOn(node, device), on), inputs);
    RETURN_IF_ERROR(emitter_.status());
    emitted_[node.id()].on.push_back({part});
    for (int i = 0; i < node.num_outputs(); ++i) {
      Output result(part, i);
      if (choice.scale != 1) {
        result = emitter_.Add(absl::StrCat("spmd/", node.name(), "/scale"), on, "Mul", {{result}, {choice.scale}});
      }
      if (splits_rows) {
        result = spmd::ZeroOtherRows(RowsOf(node, rule, choice, device), result, held_, (*values)[i].shape.dims(),
                                     &emitter_);
      }
      (*values)[i].parts.on.push_back(result);
    }
    return emitter_.status();
  }

  void ConnectControl(const Node& node) {
    for (const Edge* edge : node.in_edges()) {
      if (!edge->is_control()) continue;
      const Emitted &before = emitted_[edge->src->id()], &after = emitted_[edge->dst->id()];
      const bool pairwise = before.on.size() == after.on.size() && before.mesh == after.mesh;
      for (size_t i = 0; i < after.on.size(); ++i) {
        for (size_t j = 0; j < before.on.size(); ++j) {
          if (pairwise && i != j) continue;
          for (Node* first : before.on[j]) {
            for (Node* then : after.on[i]) result_->AddControlEdge(first, then);
          }
        }
      }
    }
  }

  // Adds a node with the old name that returns the whole tensors, after all parts.
  void Keep(const Node& node) {
    if (result_->FindNode(node.name()) != nullptr || !emitter_.status().ok()) return;
    // A handle has no whole form.
    if (node.num_outputs() > 0 && node.output_type(0) == DT_RESOURCE) return;
    const std::string& device = MeshOf(node).devices()[0];
    tensorflow::NodeDef def;
    def.set_name(node.name());
    def.set_op(node.num_outputs() == 0 ? "NoOp" : node.num_outputs() == 1 ? "Identity" : "IdentityN");
    def.set_device(device);
    if (node.num_outputs() == 1) SetNodeAttr("T", node.output_type(0), &def);
    if (node.num_outputs() > 1) SetNodeAttr("T", node.output_types(), &def);
    std::vector<Output> outputs;
    for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(table_.Whole(OldOutput(node, i)));
    Node* const kept = emitter_.AddNode(std::move(def), outputs);
    if (kept == nullptr || (node.num_outputs() > 0 && !node.IsStateful())) return;
    for (const auto& nodes : emitted_[node.id()].on) {
      for (Node* part : nodes) result_->AddControlEdge(part, kept);
    }
  }

  const Graph& graph_;
  const MeshAssignment assignment_;
  const spmd::StaticShapes shapes_;
  const absl::flat_hash_set<std::string> kept_, fed_;
  std::unique_ptr<Graph> result_;
  Emitter emitter_;
  TensorTable table_;
  std::vector<Emitted> emitted_;
  Output held_;  // for the part in progress: which row numbers are in its own rows
};

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> PartitionSpmd(const PassContext& context, const Graph& graph) {
  ASSIGN_OR_RETURN(MeshAssignment assignment, spmd::AssignMeshes(graph));
  if (assignment.meshes.empty()) return std::unique_ptr<Graph>();
  for (const Node* node : graph.nodes()) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->input_edge(i) != nullptr) continue;
      return errors::InvalidArgument("Node '", node->name(), "' has nothing connected to input ", i);
    }
  }
  if (static_cast<int>(TopologicalOrder(graph).size()) != graph.num_nodes()) {
    return errors::InvalidArgument("The graph has a cycle");
  }
  ASSIGN_OR_RETURN(ShapeRefiner shapes, InferShapes(graph));
  return Partitioner(context, graph, std::move(assignment), std::move(shapes)).Run();
}

}  // namespace weir
