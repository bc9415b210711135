#include "client/scope.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "client/variables.h"
#include "core/device/device_name.h"
#include "core/mutex.h"
#include "core/op/attr_value.h"
#include "core/op/op_registry.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/op_builder.h"
#include "graph/shapes/shape_refiner.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

struct Scope::Shared {
  OpRegistry ops;
  std::unique_ptr<Graph> graph;
  absl::Status status;
  absl::flat_hash_map<std::string, int> name_counts;
  std::vector<ResourceVariable> variables;
  ShapeRefiner shapes{ShapeOptions{.strict = false}};
  int nodes_with_shapes = 0;  // ids below it have been inferred
  Mutex lines_mu;             // sessions read lines while the graph grows
  absl::flat_hash_map<std::string, SourceLine> lines GUARDED_BY(lines_mu);

  // All graphs under construction: an operator finds the scope of its operand here.
  struct Directory {
    Mutex mu;
    std::vector<std::weak_ptr<Shared>> all GUARDED_BY(mu);
  };
  static Directory& directory() {
    static auto* const directory = new Directory;
    return *directory;
  }
  static std::vector<std::weak_ptr<Shared>> All() {
    MutexLock lock(directory().mu);
    return directory().all;
  }
  static void Enter(const std::shared_ptr<Shared>& shared) {
    MutexLock lock(directory().mu);
    std::erase_if(directory().all, [](const std::weak_ptr<Shared>& other) { return other.expired(); });
    directory().all.push_back(shared);
  }
  // A node's op is registered in the registry of its graph. Reads only registries, which do not change.
  static std::shared_ptr<Shared> Of(const Node& node) {
    if (node.registration() == nullptr) return nullptr;  // calls a function
    for (const std::weak_ptr<Shared>& weak : All()) {
      std::shared_ptr<Shared> shared = weak.lock();
      if (shared != nullptr && shared->ops.Find(node.op()) == node.registration()) return shared;
    }
    return nullptr;
  }
};

namespace {

// Whether a file is one of Weir's sources, in the folders of the library. The build may name them by relative paths.
bool IsOwnSource(absl::string_view file) {
  static const absl::string_view root = [] {
    absl::string_view here = SourceLine::Here().file;
    return absl::ConsumeSuffix(&here, "client/scope.cc") ? here : absl::string_view();
  }();
  bool is_in_tree = !root.empty() && absl::ConsumePrefix(&file, root);
  while (absl::ConsumePrefix(&file, "../")) is_in_tree = true;
  return is_in_tree && !absl::EndsWith(file, "_test.cc") &&
         (absl::StartsWith(file, "client/") || absl::StartsWith(file, "graph/"));
}

}  // namespace

std::string SourceLine::ToString() const { return absl::StrCat(file, ":", line); }

Scope Scope::NewRoot() {
  auto shared = std::make_shared<Shared>();
  shared->status = RegisterAllOps(shared->ops);
  shared->graph = std::make_unique<Graph>(&shared->ops);
  Shared::Enter(shared);
  return Scope(std::move(shared));
}

const absl::Status& Scope::status() const { return shared_->status; }

void Scope::UpdateStatus(absl::Status status) const {
  if (shared_->status.ok()) shared_->status = std::move(status);
}

Graph* Scope::graph() const { return shared_->graph.get(); }
tensorflow::GraphDef Scope::ToGraphDef() const { return shared_->graph->ToGraphDef(); }

std::string Scope::UniqueName(absl::string_view suggestion) const {
  const std::string base = absl::StrCat(prefix_, suggestion);
  int& count = shared_->name_counts[base];
  std::string name = count == 0 ? base : absl::StrCat(base, "_", count);
  while (shared_->graph->FindNode(name) != nullptr || (count > 0 && shared_->name_counts.contains(name))) {
    name = absl::StrCat(base, "_", ++shared_->name_counts[base]);
  }
  ++shared_->name_counts[base];
  return name;
}

Scope Scope::SubScope(absl::string_view name) const {
  Scope scope = *this;
  scope.prefix_ = absl::StrCat(UniqueName(name), "/");
  scope.op_name_.clear();
  return scope;
}

Scope Scope::WithName(absl::string_view name) const {
  Scope scope = *this;
  scope.op_name_ = std::string(name);
  return scope;
}

Scope Scope::WithDevice(absl::string_view device) const {
  Scope scope = *this;
  auto outer = DeviceName::Parse(device_);
  auto inner = DeviceName::Parse(device);
  if (!inner.ok()) {
    UpdateStatus(inner.status());
    return scope;
  }
  scope.device_ = outer->OverriddenBy(*inner).ToString();
  return scope;
}

Scope Scope::WithControlDependencies(const std::vector<Operation>& operations) const {
  Scope scope = *this;
  for (const Operation& operation : operations) {
    if (operation.valid()) scope.control_dependencies_.push_back(operation.node());
  }
  return scope;
}

Scope Scope::WithControlDependencies(const std::vector<Output>& outputs) const {
  std::vector<Operation> operations;
  for (const Output& output : outputs) operations.push_back(output.op());
  return WithControlDependencies(operations);
}

Scope Scope::WithNoControlDependencies() const {
  Scope scope = *this;
  scope.control_dependencies_.clear();
  return scope;
}

Scope Scope::ColocateWith(const Operation& op) const {
  Scope scope = *this;
  if (!op.valid()) return scope;
  scope.device_.clear();
  scope.colocate_with_.push_back(absl::StrCat("loc:@", op.name()));
  return scope;
}

Scope Scope::WithLine(const SourceLine& line) const {
  Scope scope = *this;
  if (!line_.known() && line.known() && !IsOwnSource(line.file)) scope.line_ = line;
  return scope;
}

Scope Scope::WithVariablePolicy(std::shared_ptr<VariablePolicy> policy) const {
  Scope scope = *this;
  scope.variable_policy_ = std::move(policy);
  return scope;
}

// Infers the nodes added since the last call. Inputs precede their users, except for the back edges of loops.
PartialTensorShape Scope::ShapeOf(const Output& output) const {
  if (!output.valid()) return PartialTensorShape();
  for (int& id = shared_->nodes_with_shapes; id < shared_->graph->num_node_ids(); ++id) {
    const Node* const node = shared_->graph->node(id);
    if (node != nullptr) shared_->shapes.Update(*node).IgnoreError();
  }
  return shared_->shapes.shape(*output.node(), output.index());
}

SourceLine Scope::LineOf(absl::string_view node) const {
  MutexLock lock(shared_->lines_mu);
  const auto found = shared_->lines.find(node);
  return found == shared_->lines.end() ? SourceLine() : found->second;
}

std::optional<Scope> Scope::Of(const Output& operand) {
  std::shared_ptr<Shared> shared = operand.valid() ? Shared::Of(*operand.node()) : nullptr;
  if (shared == nullptr) return std::nullopt;
  Scope scope(std::move(shared));
  const Node& node = *operand.node();
  if (FindAttr(node.def(), "_class") == nullptr) scope.device_ = node.requested_device();
  const std::string& name = node.name();
  if (const size_t end = name.rfind('/'); end != std::string::npos) scope.prefix_ = name.substr(0, end + 1);
  return scope;
}

std::string Scope::NextName(absl::string_view op) const { return UniqueName(op_name_.empty() ? op : op_name_); }

const std::vector<ResourceVariable>& Scope::variables() const { return shared_->variables; }
void Scope::AddVariable(const ResourceVariable& variable) const { shared_->variables.push_back(variable); }

Output Scope::Constant(const Input& value, DataType dtype, const SourceLine& at) const {
  if (!value.is_constant()) return value.output();
  absl::StatusOr<Tensor> tensor = value.tensor();
  if (value.is_literal() && dtype != DT_INVALID) tensor = ConvertLiteral(value.tensor(), dtype);
  if (!tensor.ok()) {
    UpdateStatus(AtLine(tensor.status(), at));
    return Output();
  }
  tensorflow::NodeDef def;
  def.set_op("Const");
  SetNodeAttr("dtype", tensor->dtype(), &def);
  SetNodeAttr("value", *tensor, &def);
  return Output(AddOp(std::move(def), {}, at), 0);
}

absl::Status Scope::AtLine(const absl::Status& status, const SourceLine& at) const {
  const SourceLine line = WithLine(at).line_;
  return line.known() ? Annotate(status, line.ToString()) : status;
}

Operation Scope::AddOp(tensorflow::NodeDef def, const std::vector<InputList>& inputs, const SourceLine& at) const {
  if (!ok()) return Operation();
  def.set_name(NextName(def.op()));
  if (def.device().empty()) def.set_device(device_);
  if (!colocate_with_.empty()) SetNodeAttr("_class", colocate_with_, &def);
  auto operation = AddOperation(shared_->graph.get(), std::move(def), inputs, control_dependencies_);
  if (!operation.ok()) {
    UpdateStatus(AtLine(operation.status(), at));
    return Operation();
  }
  if (line_.known() || (at.known() && !IsOwnSource(at.file))) {
    MutexLock lock(shared_->lines_mu);
    shared_->lines.insert_or_assign(operation->name(), line_.known() ? line_ : at);
  }
  return *operation;
}

}  // namespace weir
