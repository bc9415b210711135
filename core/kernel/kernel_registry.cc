#include "core/kernel/kernel_registry.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernel/host_kernel.h"
#include "core/kernel/memory_types.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::NodeDef;

bool Intersect(const DataTypeVector& a, const DataTypeVector& b) {
  return std::any_of(a.begin(), a.end(), [&](DataType t) { return std::find(b.begin(), b.end(), t) != b.end(); });
}

// Whether some node would match both. They are distinct only if both constrain the same attr differently.
bool Overlap(const Kernel& a, const Kernel& b) {
  if (a.device_type() != b.device_type() || a.label() != b.label()) return false;
  for (const Kernel::TypeConstraint& x : a.constraints()) {
    for (const Kernel::TypeConstraint& y : b.constraints()) {
      if (x.attr == y.attr && !Intersect(x.allowed, y.allowed)) return false;
    }
  }
  return true;
}

absl::StatusOr<bool> Satisfies(const NodeDef& node, const Kernel::TypeConstraint& constraint) {
  const AttrValue* attr = FindAttr(node, constraint.attr);
  auto allowed = [&](int type) {
    return std::find(constraint.allowed.begin(), constraint.allowed.end(), type) != constraint.allowed.end();
  };
  if (attr != nullptr && attr->value_case() == AttrValue::kType) return allowed(attr->type());
  if (attr != nullptr && attr->value_case() == AttrValue::kList) {
    return std::all_of(attr->list().type().begin(), attr->list().type().end(), allowed);
  }
  return errors::InvalidArgument("OpKernel for '", node.op(), "' has a constraint on attr '", constraint.attr,
                                 "' which is not a type in NodeDef: ", SummarizeNodeDef(node));
}

absl::StatusOr<bool> Matches(const NodeDef& node, const Kernel& kernel, absl::string_view device_type) {
  const AttrValue* label = FindAttr(node, "_kernel");
  if (kernel.device_type() != device_type || kernel.label() != (label ? label->s() : "")) return false;
  for (const Kernel::TypeConstraint& constraint : kernel.constraints()) {
    ASSIGN_OR_RETURN(bool satisfied, Satisfies(node, constraint));
    if (!satisfied) return false;
  }
  return true;
}

std::string Describe(const Kernel& kernel) {
  std::string out = absl::StrCat("device='", kernel.device_type(), "'");
  if (!kernel.label().empty()) absl::StrAppend(&out, "; label='", kernel.label(), "'");
  for (const Kernel::TypeConstraint& constraint : kernel.constraints()) {
    absl::StrAppend(&out, "; ", constraint.attr, " in [", DataTypeListName(constraint.allowed), "]");
  }
  return out;
}

std::string NodeAttrs(const NodeDef& node) {
  std::vector<std::string> attrs;
  for (const auto& [name, value] : node.attr()) attrs.push_back(absl::StrCat(name, "=", AttrValueToString(value)));
  std::sort(attrs.begin(), attrs.end());
  return absl::StrJoin(attrs, ", ");
}

}  // namespace

absl::Status KernelRegistry::Register(const Kernel& kernel, KernelFactory factory) {
  if (kernel.device_type().empty()) {
    return errors::InvalidArgument("A kernel for op '", kernel.op(), "' is registered without a device type");
  }
  std::vector<std::unique_ptr<Registration>>& registered = kernels_[kernel.op()];
  for (const auto& other : registered) {
    if (!Overlap(kernel, other->kernel)) continue;
    return errors::AlreadyExists("Kernels for op '", kernel.op(), "' overlap: ", Describe(kernel), " and ",
                                 Describe(other->kernel));
  }
  registered.push_back(std::make_unique<Registration>(Registration{kernel, factory}));
  return absl::OkStatus();
}

absl::StatusOr<const KernelRegistry::Registration*> KernelRegistry::Find(const NodeDef& node,
                                                                         absl::string_view device_type) const {
  for (const Registration* registration : ForOp(node.op())) {
    ASSIGN_OR_RETURN(bool matches, Matches(node, registration->kernel, device_type));
    if (matches) return registration;
  }
  std::string known;
  for (const Registration* r : ForOp(node.op())) absl::StrAppend(&known, "\n  ", Describe(r->kernel));
  return errors::Unimplemented("No OpKernel was registered to support Op '", node.op(), "' used by {{node ",
                               node.name(), "}} with these attrs: [", NodeAttrs(node), "] on device type ", device_type,
                               "\nRegistered kernels:", known.empty() ? "\n  <no registered kernels>" : known);
}

bool KernelRegistry::HasKernel(absl::string_view op, absl::string_view device_type) const {
  const std::vector<const Registration*> registered = ForOp(op);
  return std::any_of(registered.begin(), registered.end(),
                     [&](const Registration* r) { return r->kernel.device_type() == device_type; });
}

std::vector<const KernelRegistry::Registration*> KernelRegistry::ForOp(absl::string_view op) const {
  std::vector<const Registration*> found;
  auto it = kernels_.find(op);
  if (it == kernels_.end()) return found;
  for (const auto& registration : it->second) found.push_back(registration.get());
  return found;
}

absl::StatusOr<std::unique_ptr<OpKernel>> CreateKernel(const KernelRegistry& registry, const NodeDef& node,
                                                       const tensorflow::OpDef& op_def, Device* device,
                                                       FunctionRuntime* functions) {
  auto create = [&]() -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    ASSIGN_OR_RETURN(const KernelRegistry::Registration* registration, registry.Find(node, device->type()));
    DataTypeVector input_types, output_types;
    RETURN_IF_ERROR(InOutTypesForNode(node, op_def, &input_types, &output_types));
    OpKernelConstruction construction(node, op_def, device, std::move(input_types), std::move(output_types), functions);
    std::unique_ptr<OpKernel> kernel = registration->factory();
    if (ComputesOnHost(registration->kernel)) kernel = NewHostKernel(std::move(kernel));
    RETURN_IF_ERROR(kernel->Init(construction));
    return kernel;
  };
  absl::StatusOr<std::unique_ptr<OpKernel>> kernel = create();
  if (kernel.ok()) return kernel;
  absl::Status status = kernel.status();
  if (!absl::StrContains(status.message(), "{{node ")) {
    status = absl::Status(status.code(), absl::StrCat(status.message(), "\n\t [[{{node ", node.name(), "}}]]"));
  }
  return WithOrigin(std::move(status), ErrorOrigin{.device = device->name(), .node = node.name(), .op = node.op()});
}

}  // namespace weir
