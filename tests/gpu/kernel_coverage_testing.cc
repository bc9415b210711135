#include "tests/gpu/kernel_coverage_testing.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// `types[i]` are those of constraint i. Their combinations, in turn, behind `name`.
void AddCombinations(const std::string& name, const std::vector<Kernel::TypeConstraint>& types, size_t i,
                     std::set<KernelTypes>* all) {
  if (i == types.size()) {
    all->insert(name);
    return;
  }
  for (const DataType type : types[i].allowed) {
    AddCombinations(absl::StrCat(name, i == 0 ? " of " : ", ", types[i].attr, "=", DataTypeName(type)), types, i + 1,
                    all);
  }
}

DataTypeVector TypesOf(const Node& node, const std::string& name) {
  const tensorflow::AttrValue* attr = FindAttr(node.def(), name);
  if (attr->value_case() == tensorflow::AttrValue::kType) {
    return {static_cast<DataType>(attr->type())};
  }
  DataTypeVector types;
  for (const int type : attr->list().type()) types.push_back(static_cast<DataType>(type));
  return types;
}

}  // namespace

std::set<KernelTypes> KernelsForGpus(const KernelRegistry& kernels, const OpRegistry& ops) {
  std::set<KernelTypes> all;
  for (const OpRegistration* op : ops.All()) {
    for (const KernelRegistry::Registration* registration : kernels.ForOp(op->op_def->name())) {
      const Kernel& kernel = registration->kernel;
      if (kernel.device_type() == kDeviceGpu) AddCombinations(kernel.op(), kernel.constraints(), 0, &all);
    }
  }
  return all;
}

std::set<KernelTypes> KernelsThatRun(const KernelRegistry& kernels, const std::vector<const Node*>& fetched) {
  std::set<KernelTypes> all;
  std::set<const Node*> seen(fetched.begin(), fetched.end());
  std::vector<const Node*> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    for (const Edge* edge : node.in_edges()) {
      if (seen.insert(edge->src).second) open.push_back(edge->src);
    }
    if (!absl::StrContains(node.requested_device(), kDeviceGpu)) continue;
    const auto registration = kernels.Find(node.def(), kDeviceGpu);
    if (!registration.ok()) continue;  // the session says so
    std::vector<Kernel::TypeConstraint> types = (*registration)->kernel.constraints();
    for (Kernel::TypeConstraint& constraint : types) constraint.allowed = TypesOf(node, constraint.attr);
    AddCombinations(node.op(), types, 0, &all);
  }
  return all;
}

}  // namespace weir
