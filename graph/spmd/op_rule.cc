#include "graph/spmd/op_rule.h"

#include "absl/strings/str_split.h"

namespace weir::spmd {

std::optional<std::vector<int64_t>> RuleContext::Integers(int input) const {
  const Tensor* tensor = constants[input];
  if (tensor == nullptr) return std::nullopt;
  std::vector<int64_t> values(tensor->NumElements());
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor->dtype() == DT_INT32) {
      values[i] = tensor->data<int32_t>()[i];
    } else if (tensor->dtype() == DT_INT64) {
      values[i] = tensor->data<int64_t>()[i];
    } else {
      return std::nullopt;
    }
  }
  return values;
}

int OpRule::AddFactor(int64_t size, bool is_reduced, bool is_whole) {
  factors.push_back({size, is_reduced, is_whole});
  return static_cast<int>(factors.size()) - 1;
}

void OpRules::Add(std::initializer_list<const char*> ops, RuleFn rule) {
  for (const char* op : ops) rules_[op] = rule;
}

RuleFn OpRules::Find(const Node& node) const {
  const auto found = rules_.find(node.op());
  if (found != rules_.end()) return found->second;
  return node.registration() != nullptr && node.registration()->elementwise ? elementwise_ : nullptr;
}

const OpRules& OpRules::All() {
  static const OpRules* const all = [] {
    auto* rules = new OpRules;
    AddElementwiseRules(*rules);
    AddMatrixRules(*rules);
    AddShapeRules(*rules);
    AddVariableRules(*rules);
    AddImageRules(*rules);
    return rules;
  }();
  return *all;
}

std::optional<OpRule> RuleFromLabels(const RuleContext& c, const std::string& labels, const std::string& whole) {
  const std::vector<std::string> sides = absl::StrSplit(labels, "->");
  const std::vector<std::string> inputs = absl::StrSplit(sides[0], ','), outputs = absl::StrSplit(sides[1], ',');
  if (inputs.size() > c.inputs.size() || outputs.size() > c.outputs.size()) return std::nullopt;
  OpRule rule;
  absl::flat_hash_map<char, int> factor_of;
  const auto add = [&](const std::vector<std::string>& terms, const std::vector<TensorShape>& shapes,
                       std::vector<OpRule::Dims>* result) {
    result->resize(shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      OpRule::Dims& dims = (*result)[i];
      dims.resize(shapes[i].dims());
      if (i >= terms.size()) continue;
      if (static_cast<int>(terms[i].size()) != shapes[i].dims()) return false;
      for (int d = 0; d < shapes[i].dims(); ++d) {
        const char label = terms[i][d];
        if (label == '.') continue;
        const auto [at, is_new] = factor_of.emplace(label, 0);
        if (is_new) {
          const bool is_whole = whole.find(label) != std::string::npos;
          const bool is_reduced = !is_whole && sides[1].find(label) == std::string::npos;
          at->second = rule.AddFactor(shapes[i].dim_size(d), is_reduced, is_whole);
        }
        dims[d] = {at->second};
      }
    }
    return true;
  };
  if (!add(inputs, c.inputs, &rule.inputs) || !add(outputs, c.outputs, &rule.outputs)) return std::nullopt;
  return rule;
}

}  // namespace weir::spmd
