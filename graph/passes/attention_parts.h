// What finding attention and finding its gradient share.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace weir {

bool IsSet(const Node& node, absl::string_view attr);
// A constant scalar's value, if it is finite.
std::optional<float> ScalarOf(const Node& node);
// On one device, with outputs of the same types.
bool AreAlike(const Node& a, const Node& b);

}  // namespace weir
