// Which nodes may become part of a fused expression.
#pragma once

#include <optional>
#include <vector>

#include "core/fusion/fused_expression.h"
#include "graph/graph.h"

namespace weir {

// The step that `node` would be, without its operands, which are its data inputs in order; nullopt for one whose op,
// types or attributes fused expressions do not have, for references, and for one whose inputs are not all connected.
std::optional<FusedStep> StepOf(const Node& node);

struct FusedFold {
  std::string op;
  std::vector<int64_t> axes;
  bool keep_dims = false;
};
// The reduction that `node` is, of its first input; nullopt where it is none that an expression can end with, or where
// its axes are no constant.
std::optional<FusedFold> FoldOf(const Node& node);

}  // namespace weir
