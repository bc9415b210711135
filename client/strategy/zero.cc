#include "client/strategy/zero.h"

#include "client/variables.h"

namespace weir {

absl::StatusOr<std::vector<std::string>> SplitOptimizerState(const Scope& scope, const Mesh& mesh,
                                                             const std::string& axis) {
  const int index = mesh.FindAxis(axis);
  if (index < 0) return errors::InvalidArgument("The mesh ", mesh.AxesText(), " has no axis '", axis, "'");
  const int parts = mesh.axes()[index].size;
  std::vector<std::string> whole;
  for (const ResourceVariable& variable : scope.variables()) {
    if (!variable.trainable()) continue;
    std::vector<std::string> specs(variable.shape().dims(), Mesh::kUnsharded);
    ASSIGN_OR_RETURN(const std::optional<Layout> set, GetLayout(variable.handle()));
    if (set && set->specs.size() == specs.size()) specs = set->specs;
    // Consumers read it in the other layouts.
    ASSIGN_OR_RETURN(const Mesh own, MeshOfStage(variable.handle(), mesh));
    RETURN_IF_ERROR(SetLayout(variable.value(), own, specs));
    bool is_split = false;
    for (int d = 0; d < variable.shape().dims() && !is_split; ++d) {
      if (specs[d] != Mesh::kUnsharded || variable.shape().dim_size(d) % parts != 0) continue;
      specs[d] = axis;
      is_split = true;
    }
    RETURN_IF_ERROR(SetLayout(variable.handle(), own, specs));
    if (!is_split) whole.push_back(variable.name());
  }
  return whole;
}

}  // namespace weir
