#include "graph/function_library.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::FunctionDefLibrary;
using tensorflow::NodeDef;

// Maps are serialised in key order, so that equal messages have equal bytes.
std::string DeterministicBytes(const FunctionDef& def) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    def.SerializeToCodedStream(&coded);
  }
  return bytes;
}

void CollectFunctionNames(const tensorflow::NameAttrList& function, std::vector<std::string>* names);

void CollectFunctionNames(const AttrValue& value, std::vector<std::string>* names) {
  if (value.value_case() == AttrValue::kFunc) CollectFunctionNames(value.func(), names);
  for (const auto& function : value.list().func()) CollectFunctionNames(function, names);
}

void CollectFunctionNames(const tensorflow::NameAttrList& function, std::vector<std::string>* names) {
  names->push_back(function.name());
  for (const auto& [name, value] : function.attr()) CollectFunctionNames(value, names);
}

}  // namespace

absl::Status FunctionLibrary::Add(FunctionDef def) {
  const std::string name = def.signature().name();
  if (name.empty()) return errors::InvalidArgument("Cannot add a function without a name.");
  if (auto it = functions_.find(name); it != functions_.end()) {
    if (DeterministicBytes(*it->second) == DeterministicBytes(def)) return absl::OkStatus();
    return errors::InvalidArgument("Cannot add function '", name,
                                   "' because a different function with the same name already exists.");
  }
  functions_.emplace(name, std::make_shared<const FunctionDef>(std::move(def)));
  return absl::OkStatus();
}

absl::Status FunctionLibrary::AddGradient(absl::string_view function, absl::string_view gradient) {
  auto [it, added] = gradients_.emplace(function, gradient);
  if (added || it->second == gradient) return absl::OkStatus();
  return errors::InvalidArgument("Cannot assign gradient function '", gradient, "' to '", function,
                                 "' because it already has gradient function '", it->second, "'.");
}

absl::Status FunctionLibrary::AddLibrary(const FunctionDefLibrary& library) {
  FunctionLibrary merged = *this;
  for (const FunctionDef& def : library.function()) RETURN_IF_ERROR(merged.Add(def));
  for (const auto& gradient : library.gradient()) {
    RETURN_IF_ERROR(merged.AddGradient(gradient.function_name(), gradient.gradient_func()));
  }
  *this = std::move(merged);
  return absl::OkStatus();
}

absl::Status FunctionLibrary::Merge(const FunctionLibrary& other) {
  FunctionLibrary merged = *this;
  for (const auto& [name, def] : other.functions_) {
    auto [it, added] = merged.functions_.emplace(name, def);
    if (!added && it->second != def) RETURN_IF_ERROR(merged.Add(*def));
  }
  for (const auto& [function, gradient] : other.gradients_) RETURN_IF_ERROR(merged.AddGradient(function, gradient));
  *this = std::move(merged);
  return absl::OkStatus();
}

const FunctionDef* FunctionLibrary::Find(absl::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : it->second.get();
}

const tensorflow::OpDef* FunctionLibrary::FindSignature(absl::string_view name) const {
  const FunctionDef* def = Find(name);
  return def == nullptr ? nullptr : &def->signature();
}

std::string FunctionLibrary::FindGradient(absl::string_view name) const {
  auto it = gradients_.find(name);
  return it == gradients_.end() ? "" : it->second;
}

std::vector<std::string> FunctionLibrary::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, def] : functions_) names.push_back(name);
  return names;
}

FunctionLibrary FunctionLibrary::ReachableFrom(const std::vector<std::string>& roots) const {
  FunctionLibrary reachable;
  std::vector<std::string> open = roots;
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    auto it = functions_.find(name);
    if (it == functions_.end() || !reachable.functions_.emplace(*it).second) continue;
    if (auto gradient = gradients_.find(name); gradient != gradients_.end()) {
      reachable.gradients_.insert(*gradient);
      open.push_back(gradient->second);
    }
    for (const NodeDef& node : it->second->node_def()) {
      open.push_back(node.op());
      for (const auto& [attr, value] : node.attr()) CollectFunctionNames(value, &open);
    }
  }
  return reachable;
}

FunctionDefLibrary FunctionLibrary::ToProto() const {
  FunctionDefLibrary library;
  for (const auto& [name, def] : functions_) *library.add_function() = *def;
  for (const auto& [function, gradient] : gradients_) {
    auto* entry = library.add_gradient();
    entry->set_function_name(function);
    entry->set_gradient_func(gradient);
  }
  return library;
}

}  // namespace weir
