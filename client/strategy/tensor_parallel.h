// Layers split over an axis of a mesh, as in Shoeybi et al. 2019 (Megatron-LM). Activations between layers stay whole;
// a pair of a column split and a row split needs one all-reduce forward and one backward.
#pragma once

#include <string>
#include <vector>

#include "client/layers.h"
#include "client/strategy/mesh_program.h"
#include "core/api.h"

namespace WEIR_API weir {

// Each device has some of the outputs: hidden units, or attention heads.
absl::Status SplitColumns(const Mesh& mesh, const std::string& axis, const layers::Dense& layer);
// Each device has some of the inputs; the products are summed.
absl::Status SplitRows(const Mesh& mesh, const std::string& axis, const layers::Dense& layer);
// Each device has some of the rows; look-ups return zeros for others, and are summed.
absl::Status SplitVocabulary(const Mesh& mesh, const std::string& axis, const layers::Embedding& layer);

// Layouts by variable names: the first rule whose pattern ("block_*/up/kernel", as in fnmatch) matches applies.
struct LayoutRule {
  std::string variables;
  std::vector<std::string> specs;
};
// Variables of a pipeline are on their stages' meshes. NOT_FOUND for a rule that matches no variable of the scope.
absl::Status SetLayouts(const Scope& scope, const Mesh& mesh, const std::vector<LayoutRule>& rules);

}  // namespace weir
