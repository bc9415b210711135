// Shared by the matchers of attention and its gradient.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace weir {

bool IsSet(const Node& node, absl::string_view attr);
// The value of a constant scalar, if it is finite.
std::optional<float> ScalarOf(const Node& node);
// Whether they are on one device and have the same output types.
bool AreAlike(const Node& a, const Node& b);

}  // namespace weir
