#include "client/scope.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "client/variables.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "core/op/op_registry.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/op_builder.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

struct Scope::Shared {
  OpRegistry ops;
  std::unique_ptr<Graph> graph;
  absl::Status status;
  absl::flat_hash_map<std::string, int> name_counts;
  std::vector<ResourceVariable> variables;
};

Scope Scope::NewRoot() {
  auto shared = std::make_shared<Shared>();
  shared->status = RegisterAllOps(shared->ops);
  shared->graph = std::make_unique<Graph>(&shared->ops);
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

Scope Scope::WithVariablePolicy(std::shared_ptr<VariablePolicy> policy) const {
  Scope scope = *this;
  scope.variable_policy_ = std::move(policy);
  return scope;
}

std::string Scope::NextName(absl::string_view op) const { return UniqueName(op_name_.empty() ? op : op_name_); }

const std::vector<ResourceVariable>& Scope::variables() const { return shared_->variables; }
void Scope::AddVariable(const ResourceVariable& variable) const { shared_->variables.push_back(variable); }

Output Scope::Constant(const Input& value, DataType dtype) const {
  if (!value.is_constant()) return value.output();
  absl::StatusOr<Tensor> tensor = value.tensor();
  if (value.is_literal() && dtype != DT_INVALID) tensor = ConvertLiteral(value.tensor(), dtype);
  if (!tensor.ok()) {
    UpdateStatus(tensor.status());
    return Output();
  }
  tensorflow::NodeDef def;
  def.set_op("Const");
  SetNodeAttr("dtype", tensor->dtype(), &def);
  SetNodeAttr("value", *tensor, &def);
  return Output(AddOp(std::move(def), {}), 0);
}

Operation Scope::AddOp(tensorflow::NodeDef def, const std::vector<InputList>& inputs) const {
  if (!ok()) return Operation();
  def.set_name(NextName(def.op()));
  if (def.device().empty()) def.set_device(device_);
  if (!colocate_with_.empty()) SetNodeAttr("_class", colocate_with_, &def);
  auto operation = AddOperation(shared_->graph.get(), std::move(def), inputs, control_dependencies_);
  if (!operation.ok()) {
    UpdateStatus(operation.status());
    return Operation();
  }
  return *operation;
}

}  // namespace weir
