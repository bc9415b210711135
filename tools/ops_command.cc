#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/str_join.h"
#include "core/device/device.h"
#include "core/kernel/kernel_registry.h"
#include "core/op/attr_value.h"
#include "core/op/op_registry.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tools/commands.h"
#include "tools/proto_file.h"

namespace weir {
namespace {

using tensorflow::OpDef;

std::string TypeOf(const OpDef::ArgDef& arg) {
  std::string type = !arg.type_list_attr().empty() ? arg.type_list_attr()
                     : !arg.type_attr().empty()    ? arg.type_attr()
                                                   : DataTypeName(static_cast<DataType>(arg.type()));
  if (!arg.number_attr().empty()) type = absl::StrCat(arg.number_attr(), " * ", type);
  return arg.is_ref() ? absl::StrCat("Ref(", type, ")") : type;
}

template <typename Args>
std::string ArgList(const Args& args) {
  return absl::StrJoin(args, ", ", [](std::string* out, const OpDef::ArgDef& arg) {
    absl::StrAppend(out, arg.name(), ": ", TypeOf(arg));
  });
}

std::string AttrText(const OpDef::AttrDef& attr) {
  std::string text = absl::StrCat(attr.name(), ": ", attr.type());
  if (attr.has_allowed_values()) absl::StrAppend(&text, " in ", AttrValueToString(attr.allowed_values()));
  if (attr.has_minimum()) absl::StrAppend(&text, " >= ", attr.minimum());
  if (attr.has_default_value()) absl::StrAppend(&text, " = ", AttrValueToString(attr.default_value()));
  return text;
}

// Removes what does not affect the op's behaviour: documentation, and the order of attributes and allowed values.
OpDef Normalized(OpDef op) {
  op.clear_summary();
  op.clear_description();
  const auto clear = [](OpDef::ArgDef& arg) {
    arg.clear_description();
    arg.clear_experimental_full_type();
    arg.clear_handle_data();
  };
  for (OpDef::ArgDef& arg : *op.mutable_input_arg()) clear(arg);
  for (OpDef::ArgDef& arg : *op.mutable_output_arg()) clear(arg);
  std::map<std::string, OpDef::AttrDef> attrs;
  for (OpDef::AttrDef& attr : *op.mutable_attr()) {
    attr.clear_description();
    auto* types = attr.mutable_allowed_values()->mutable_list()->mutable_type();
    std::sort(types->begin(), types->end());
    auto* strings = attr.mutable_allowed_values()->mutable_list()->mutable_s();
    std::sort(strings->begin(), strings->end());
    if (types->empty() && strings->empty()) attr.clear_allowed_values();
    attrs[attr.name()] = attr;
  }
  op.clear_attr();
  for (auto& [name, attr] : attrs) *op.add_attr() = std::move(attr);
  return op;
}

std::string Differences(const OpDef& ours, const OpDef& theirs) {
  std::string report;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(Normalized(theirs), Normalized(ours));
  return report;
}

constexpr char kHasGradient[] = "yes";
// Differentiated as part of a loop or conditional, not individually.
const std::set<std::string>& ControlFlowOps() {
  static const auto* ops = new std::set<std::string>{"Enter",    "Exit",     "LoopCond", "Merge",    "NextIteration",
                                                     "Switch",   "RefEnter", "RefExit",  "RefMerge", "RefNextIteration",
                                                     "RefSwitch"};
  return *ops;
}

struct Support {
  std::set<std::string> devices;
  using Types = std::map<std::string, std::set<std::string>>;  // by attribute
  Types types, gpu_types;
  std::string gradient;

  // "T: float, half"
  static std::string TextOf(const Types& types) {
    return absl::StrJoin(types, "; ", [](std::string* text, const auto& attr) {
      absl::StrAppend(text, attr.first, ": ", absl::StrJoin(attr.second, ", "));
    });
  }
};

// Whether the attribute `attr` of `op` may have the value `type`.
bool Allows(const OpDef& op, absl::string_view attr, DataType type) {
  for (const OpDef::AttrDef& def : op.attr()) {
    if (def.name() != attr || !def.has_allowed_values()) continue;
    const auto& allowed = def.allowed_values().list().type();
    return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
  }
  return true;
}

// The types of `kernel` that nodes of `op` can have; nullopt if there are none, so that no node runs it.
std::optional<Support::Types> TypesOf(const Kernel& kernel, const OpDef& op) {
  Support::Types types;
  for (const Kernel::TypeConstraint& constraint : kernel.constraints()) {
    std::set<std::string>& names = types[constraint.attr];
    for (DataType type : constraint.allowed) {
      if (Allows(op, constraint.attr, type)) names.insert(DataTypeName(type));
    }
    if (names.empty()) return std::nullopt;
  }
  return types;
}

Support SupportOf(const OpRegistries& registries, const std::string& op) {
  Support support;
  const OpRegistration* registration = registries.ops.Find(op);
  for (const KernelRegistry::Registration* kernel : registries.kernels.ForOp(op)) {
    const auto usable = TypesOf(kernel->kernel, *registration->op_def);
    if (!usable.has_value()) continue;
    support.devices.insert(kernel->kernel.device_type());
    Support::Types& types = kernel->kernel.device_type() == kDeviceGpu ? support.gpu_types : support.types;
    for (const auto& [attr, names] : *usable) types[attr].insert(names.begin(), names.end());
  }
  if (registration->gradient != nullptr || ControlFlowOps().contains(op)) {
    support.gradient = kHasGradient;
  } else {
    support.gradient = registration->differentiable ? "no" : "nothing flows";
  }
  return support;
}

// The family of each op, by the folder of kernels/ that defines it.
absl::StatusOr<std::map<std::string, std::string>> FamilyOfEachOp() {
  std::map<std::string, std::string> family_of;
  OpRegistry ops;
  for (const OpFamily& family : AllFamilies()) {
    for (const auto& part : family.ops) RETURN_IF_ERROR(part(ops));
    for (const OpRegistration* registration : ops.All()) family_of.emplace(registration->op_def->name(), family.name);
  }
  return family_of;
}

}  // namespace

absl::Status PrintOps(const OpRegistries& registries, std::ostream& out) {
  for (const OpRegistration* registration : registries.ops.All()) {
    const OpDef& op = *registration->op_def;
    out << op.name() << "(" << ArgList(op.input_arg()) << ") -> (" << ArgList(op.output_arg()) << ")\n";
    for (const OpDef::AttrDef& attr : op.attr()) out << "    " << AttrText(attr) << "\n";
    const Support support = SupportOf(registries, op.name());
    out << "    kernels: " << (support.devices.empty() ? "none" : absl::StrJoin(support.devices, ", "));
    for (const auto& [attr, names] : support.types) {
      out << "; " << attr << " in {" << absl::StrJoin(names, ", ") << "}";
    }
    for (const auto& [attr, names] : support.gpu_types) {
      out << "; on GPU " << attr << " in {" << absl::StrJoin(names, ", ") << "}";
    }
    out << "\n    gradient: " << support.gradient << "\n";
  }
  return absl::OkStatus();
}

absl::Status PrintOpsPage(const OpRegistries& registries, std::ostream& out) {
  ASSIGN_OR_RETURN(const auto family_of, FamilyOfEachOp());
  int count = 0, differentiable = 0, on_gpus = 0;
  std::ostringstream rows;
  for (const OpRegistration* registration : registries.ops.All()) {
    const OpDef& op = *registration->op_def;
    const Support support = SupportOf(registries, op.name());
    ++count;
    differentiable += support.gradient == kHasGradient ? 1 : 0;
    const bool on_gpu = support.devices.contains(kDeviceGpu);
    on_gpus += on_gpu ? 1 : 0;
    const std::string gpu_types = Support::TextOf(support.gpu_types);
    const std::string& family = family_of.at(op.name());
    rows << "| `" << op.name() << "` | [" << family << "](../kernels/" << family << ") | "
         << absl::StrJoin(support.devices, ", ") << " | " << Support::TextOf(support.types) << " | "
         << (on_gpu && gpu_types.empty() ? "all" : gpu_types) << " | " << support.gradient << " |\n";
  }
  out << "# Ops\n\n"
      << count << " ops, " << differentiable << " with a gradient in C++ and " << on_gpus
      << " with a GPU kernel. `scripts/ops_pages` writes this page and the tables\n"
         "in kernels/*/README.md, which also say what each op does; a test compares them with the program.\n\n"
         "Names, attributes, defaults and types are TensorFlow's; `weir ops --against FILE` compares them with the\n"
         "`OpList` in FILE. An op that is missing here, or a type that its attributes allow but its row does not\n"
         "list, fails with `UNIMPLEMENTED`, naming op, type, device and node, before a step starts. A row without\n"
         "types takes any type that the op's attributes allow.\n\n"
         "The gradient column says `yes`; `nothing flows` where the gradient is zero or undefined by nature\n"
         "(comparisons, shapes, integers); or `no`, where a C++ client gets an error, as with TensorFlow. Programs\n"
         "whose graphs already hold their gradients, such as those of TensorFlow's clients, are not affected.\n\n"
         "GPU devices compute int32 on the host, as TensorFlow does. `all` GPU types means that the op passes tensors\n"
         "on or reads only their shapes.\n\n"
         "| op | family | devices | CPU types | GPU types | gradient |\n| --- | --- | --- | --- | --- | --- |\n"
      << rows.str();
  return absl::OkStatus();
}

absl::StatusOr<int> CompareOps(const OpRegistry& ops, const std::string& file, std::ostream& out) {
  tensorflow::OpList list;
  RETURN_IF_ERROR(ReadProtoFile(file, &list));
  std::map<std::string, const OpDef*> theirs;
  for (const OpDef& op : list.op()) theirs[op.name()] = &op;
  int equal = 0, different = 0;
  std::vector<std::string> only_ours;
  for (const OpRegistration* registration : ops.All()) {
    const OpDef& op = *registration->op_def;
    auto found = theirs.find(op.name());
    if (found == theirs.end()) {
      only_ours.push_back(op.name());
      continue;
    }
    const std::string report = Differences(op, *found->second);
    theirs.erase(found);
    if (report.empty()) {
      ++equal;
      continue;
    }
    ++different;
    out << op.name() << ":\n" << report;
  }
  out << equal << " ops agree, " << different << " differ, " << only_ours.size() << " are only here";
  if (!only_ours.empty()) out << " (" << absl::StrJoin(only_ours, ", ") << ")";
  out << ", " << theirs.size() << " are only there\n";
  return different;
}

}  // namespace weir
