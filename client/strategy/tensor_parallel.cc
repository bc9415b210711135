#include "client/strategy/tensor_parallel.h"

#include <fnmatch.h>

namespace weir {

absl::Status SplitColumns(const Mesh& mesh, const std::string& axis, const layers::Dense& layer) {
  RETURN_IF_ERROR(SetLayout(layer.weights().handle(), mesh, {Mesh::kUnsharded, axis}));
  return layer.bias().valid() ? SetLayout(layer.bias().handle(), mesh, {axis}) : absl::OkStatus();
}

absl::Status SplitRows(const Mesh& mesh, const std::string& axis, const layers::Dense& layer) {
  return SetLayout(layer.weights().handle(), mesh, {axis, Mesh::kUnsharded});
}

absl::Status SplitVocabulary(const Mesh& mesh, const std::string& axis, const layers::Embedding& layer) {
  return SetLayout(layer.table().handle(), mesh, {axis, Mesh::kUnsharded});
}

absl::Status SetLayouts(const Scope& scope, const Mesh& mesh, const std::vector<LayoutRule>& rules) {
  std::vector<bool> is_used(rules.size());
  for (const ResourceVariable& variable : scope.variables()) {
    for (size_t i = 0; i < rules.size(); ++i) {
      if (fnmatch(rules[i].variables.c_str(), variable.name().c_str(), 0) != 0) continue;
      is_used[i] = true;
      ASSIGN_OR_RETURN(const Mesh own, MeshOfStage(variable.handle(), mesh));
      RETURN_IF_ERROR(SetLayout(variable.handle(), own, rules[i].specs));
      break;
    }
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!is_used[i]) return errors::NotFound("No variable has a name like '", rules[i].variables, "'");
  }
  return absl::OkStatus();
}

}  // namespace weir
