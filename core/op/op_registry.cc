#include "core/op/op_registry.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/op/op_spec.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {

OpRegistration::OpRegistration() = default;
OpRegistration::~OpRegistration() = default;
OpRegistration::OpRegistration(OpRegistration&&) noexcept = default;
OpRegistration& OpRegistration::operator=(OpRegistration&&) noexcept = default;

absl::Status OpRegistry::Register(const Op& op) {
  tensorflow::OpDef def;
  def.set_name(op.name_);
  def.set_is_stateful(op.stateful_);
  def.set_is_commutative(op.commutative_);
  def.set_is_aggregate(op.aggregate_);
  def.set_allows_uninitialized_input(op.allows_uninitialized_input_);
  def.set_is_distributed_communication(op.distributed_communication_);
  if (op.deprecated_version_ > 0) {
    def.mutable_deprecation()->set_version(op.deprecated_version_);
    def.mutable_deprecation()->set_explanation(op.deprecation_);
  }
  const std::string context = absl::StrCat("Op '", op.name_, "'");
  for (const std::string& spec : op.attrs_) RETURN_IF_ERROR(Annotate(AddAttrFromSpec(spec, &def), context));
  for (const std::string& spec : op.inputs_) {
    RETURN_IF_ERROR(Annotate(AddArgFromSpec(spec, /*is_output=*/false, &def), context));
  }
  for (const std::string& spec : op.outputs_) {
    RETURN_IF_ERROR(Annotate(AddArgFromSpec(spec, /*is_output=*/true, &def), context));
  }
  ASSIGN_OR_RETURN(OpRegistration * added, Add(def, op.shape_fn_));
  added->may_block = op.may_block_;
  added->elementwise = op.elementwise_;
  added->writes_state = op.writes_state_;
  return absl::OkStatus();
}

absl::StatusOr<OpRegistration*> OpRegistry::Add(const tensorflow::OpDef& op_def, ShapeFn shape_fn) {
  RETURN_IF_ERROR(ValidateOpDef(op_def));
  OpRegistration registration;
  registration.op_def = std::make_unique<tensorflow::OpDef>(op_def);
  registration.shape_fn = std::move(shape_fn);
  registration.has_functions = std::any_of(op_def.attr().begin(), op_def.attr().end(), [](const auto& attr) {
    return attr.type() == "func" || attr.type() == "list(func)";
  });
  const auto [added, is_new] = ops_.try_emplace(op_def.name(), std::move(registration));
  if (!is_new) return errors::AlreadyExists("Op with name ", op_def.name(), " is already registered");
  return &added->second;
}

absl::StatusOr<OpRegistration*> OpRegistry::WithoutGradient(absl::string_view op) {
  auto it = ops_.find(op);
  if (it == ops_.end()) return errors::NotFound("A gradient is registered for op ", op, ", which is not defined");
  OpRegistration& found = it->second;
  if (found.gradient != nullptr || !found.differentiable) {
    return errors::AlreadyExists("The gradient of op ", op, " is registered twice");
  }
  return &found;
}

absl::Status OpRegistry::RegisterGradient(absl::string_view op, GradientFn fn) {
  ASSIGN_OR_RETURN(OpRegistration * found, WithoutGradient(op));
  found->gradient = fn;
  return absl::OkStatus();
}

absl::Status OpRegistry::RegisterNotDifferentiable(absl::string_view op) {
  ASSIGN_OR_RETURN(OpRegistration * found, WithoutGradient(op));
  found->differentiable = false;
  return absl::OkStatus();
}

const OpRegistration* OpRegistry::Find(absl::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}

absl::StatusOr<const tensorflow::OpDef*> OpRegistry::LookUp(absl::string_view name) const {
  const OpRegistration* registration = Find(name);
  if (registration == nullptr) {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    return errors::NotFound("Op type not registered '", name, "' in binary running on ", host,
                            ". Make sure the Op and Kernel are registered in the binary running in this process");
  }
  return registration->op_def.get();
}

std::vector<const OpRegistration*> OpRegistry::All() const {
  std::vector<const OpRegistration*> all;
  for (const auto& [name, registration] : ops_) all.push_back(&registration);
  return all;
}

}  // namespace weir
