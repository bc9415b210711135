#include "graph/passes/layout_rules.h"

#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

const std::vector<OpLayoutRule>& Rules() {
  static const auto* const rules = new std::vector<OpLayoutRule>{
      {"Conv2D", {0}, {0}, {}},
      {"Conv2DBackpropInput", {2}, {0}, {0}},
      {"Conv2DBackpropFilter", {0, 2}, {}, {}},
      {"DepthwiseConv2dNative", {0}, {0}, {}},
      {"DepthwiseConv2dNativeBackpropInput", {2}, {0}, {0}},
      {"DepthwiseConv2dNativeBackpropFilter", {0, 2}, {}, {}},
      {"MaxPool", {0}, {0}, {}},
      {"MaxPoolGrad", {0, 1, 2}, {0}, {}},
      {"AvgPool", {0}, {0}, {}},
      {"AvgPoolGrad", {1}, {0}, {0}},
      {"FusedBatchNorm", {0}, {0}, {}},
      {"FusedBatchNormV2", {0}, {0}, {}},
      {"FusedBatchNormV3", {0}, {0}, {}},
      {"FusedBatchNormGrad", {0, 1}, {0}, {}},
      {"FusedBatchNormGradV2", {0, 1}, {0}, {}},
      {"FusedBatchNormGradV3", {0, 1}, {0}, {}},
      {"BiasAdd", {0}, {0}, {}},
      {"BiasAddGrad", {0}, {}, {}},
  };
  return *rules;
}

// Each dimension has `width` consecutive values.
void Permute(const std::vector<int>& permutation, absl::string_view attr, int width, tensorflow::NodeDef* def) {
  const auto found = def->mutable_attr()->find(std::string(attr));
  if (found == def->mutable_attr()->end()) return;
  auto* const values = found->second.mutable_list()->mutable_i();
  if (values->size() != static_cast<int>(permutation.size()) * width) return;  // empty: unset
  const std::vector<int64_t> old(values->begin(), values->end());
  for (size_t i = 0; i < permutation.size(); ++i) {
    for (int k = 0; k < width; ++k) {
      values->Set(static_cast<int>(i) * width + k, old[permutation[i] * width + k]);
    }
  }
}

}  // namespace

const OpLayoutRule* FindLayoutRule(absl::string_view op) {
  for (const OpLayoutRule& rule : Rules()) {
    if (rule.op == op) return &rule;
  }
  return nullptr;
}

std::vector<int> LayoutPermutation(absl::string_view from, absl::string_view to) {
  std::vector<int> permutation;
  for (char dimension : to) permutation.push_back(static_cast<int>(from.find(dimension)));
  return permutation;
}

void SetLayout(absl::string_view from, absl::string_view to, tensorflow::NodeDef* def) {
  const std::vector<int> permutation = LayoutPermutation(from, to);
  for (absl::string_view attr : {"strides", "dilations", "ksize"}) Permute(permutation, attr, 1, def);
  Permute(permutation, "explicit_paddings", 2, def);
  SetNodeAttr("data_format", std::string(to), def);
}

}  // namespace weir
