#include "graph/functions/function_recursion.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;

// Function attributes are scanned to this depth; deeper ones cannot be called.
constexpr int kMaxScannedDepth = 32;

void CollectNames(const AttrValue& value, int depth, std::vector<std::string>* names) {
  if (depth > kMaxScannedDepth) return;
  auto collect = [&](const tensorflow::NameAttrList& function) {
    names->push_back(function.name());
    for (const auto& [name, attr] : function.attr()) CollectNames(attr, depth + 1, names);
  };
  if (value.value_case() == AttrValue::kFunc) collect(value.func());
  for (const auto& function : value.list().func()) collect(function);
}

using Calls = absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>>;

// Repeatedly removes functions that call no remaining function.
void RemoveLeaves(Calls* calls) {
  Calls callers;
  std::vector<std::string> leaves;
  for (const auto& [name, callees] : *calls) {
    for (const std::string& callee : callees) callers[callee].insert(name);
    if (callees.empty()) leaves.push_back(name);
  }
  while (!leaves.empty()) {
    const std::string leaf = std::move(leaves.back());
    leaves.pop_back();
    calls->erase(leaf);
    for (const std::string& caller : callers[leaf]) {
      auto it = calls->find(caller);
      if (it == calls->end()) continue;
      it->second.erase(leaf);
      if (it->second.empty()) leaves.push_back(caller);
    }
  }
}

Calls Reversed(const Calls& calls) {
  Calls reversed;
  for (const auto& [name, callees] : calls) {
    reversed.try_emplace(name);
    for (const std::string& callee : callees) reversed[callee].insert(name);
  }
  return reversed;
}

}  // namespace

absl::flat_hash_set<std::string> RecursiveFunctions(const FunctionLibrary& library) {
  Calls calls;
  for (const std::string& name : library.Names()) {
    std::vector<std::string> callees;
    for (const auto& node : library.Find(name)->node_def()) {
      callees.push_back(node.op());
      for (const auto& [attr, value] : node.attr()) CollectNames(value, 0, &callees);
    }
    if (const std::string gradient = library.FindGradient(name); !gradient.empty()) callees.push_back(gradient);
    absl::flat_hash_set<std::string>& known = calls[name];
    for (std::string& callee : callees) {
      if (library.Find(callee) != nullptr) known.insert(std::move(callee));
    }
  }
  RemoveLeaves(&calls);
  calls = Reversed(calls);
  RemoveLeaves(&calls);
  absl::flat_hash_set<std::string> recursive;
  for (const auto& [name, callers] : calls) recursive.insert(name);
  return recursive;
}

}  // namespace weir
