// Copies attributes from ops to their gradient ops.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "graph/gradients/gradient_context.h"

namespace weir {

// Those of the named attributes that the op has.
std::vector<GradientContext::AttrSetter> CopiedAttrs(const GradientContext& g,
                                                     std::initializer_list<const char*> names);

}  // namespace weir
